// step: register_block
  __shared__ scalar_t wbuf[KB][OUTB], xbuf[KB][INB];
  scalar_t out = 0;
  for (int k0 = 0; k0 < K; k0 += KB) {
    wbuf[threadIdx.y][threadIdx.x] = W[(k0 + threadIdx.y) * O + blockIdx.x * OUTB + threadIdx.x];
    xbuf[threadIdx.y][threadIdx.x] = X[(k0 + threadIdx.y) * I + blockIdx.y * INB + threadIdx.x];
    __syncthreads();
    for (int kk = 0; kk < KB; ++kk) out += xbuf[kk][threadIdx.y] * wbuf[kk][threadIdx.x];
    __syncthreads();
  }
  Y[(blockIdx.y * INB + threadIdx.y) * O + blockIdx.x * OUTB + threadIdx.x] = out
