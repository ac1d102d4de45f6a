__global__ void mv(const float *a, const float *x, float *y, int k) {
  __shared__ float xs[2][256];
  float sum = 0.0f;
  int stage = 0;
  xs[0][threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int t = 0; t < k; t += 256) {
    if (t + 256 < k) xs[stage ^ 1][threadIdx.x] = x[t + 256 + threadIdx.x];
    for (int p = 0; p < 256; ++p) sum += a[(blockIdx.x * 256 + threadIdx.x) * k + t + p] * xs[stage][p];
    __syncthreads();
    stage ^= 1;
  }
  y[blockIdx.x * 256 + threadIdx.x] = sum;
}
