
  #pragma unroll
  for (int mask = WARP / 2; mask >= 1; mask /= 2) {
    qk_max = fmaxf(qk_max, __shfl_xor_sync(uint32_t(-1), qk_max, mask));
  }
  if (laneId == 0) red_smem[warpId] = qk_max;
  __syncthreads();
