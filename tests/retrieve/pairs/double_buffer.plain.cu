__global__ void mv(const float *a, const float *x, float *y, int k) {
  __shared__ float xs[256];
  float sum = 0.0f;
  for (int t = 0; t < k; t += 256) {
    xs[threadIdx.x] = x[t + threadIdx.x];
    __syncthreads();
    for (int p = 0; p < 256; ++p) sum += a[(blockIdx.x * 256 + threadIdx.x) * k + t + p] * xs[p];
    __syncthreads();
  }
  y[blockIdx.x * 256 + threadIdx.x] = sum;
}
