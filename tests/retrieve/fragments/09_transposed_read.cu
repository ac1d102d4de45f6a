// step: shared_pad
__shared__ T scratch[DIM][DIM];
for (int j = 0; j < DIM; j += ROWS)
   scratch[threadIdx.y + j][threadIdx.x] = src[(yBase + j) * width + xBase];
__syncthreads();
for (int j = 0; j < DIM; j += ROWS)
   dst[(yOut + j) * height + xOut] = scratch[threadIdx.x][threadIdx.y + j];
