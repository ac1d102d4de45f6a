// step: warp_shuffle_reduce
    scratch[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned int half_ = blockDim.x >> 1; half_ != 0; half_ = half_ >> 1) {
        if (threadIdx.x < half_)
            scratch[threadIdx.x] = scratch[threadIdx.x] + scratch[threadIdx.x + half_];
        __syncthreads();
    }
    if (threadIdx.x == 0) atomicAdd(result, scratch[0]);
}
