__global__ void matmul(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float as[16][64];
  __shared__ float bs[16][64];
  int tx = threadIdx.x, ty = threadIdx.y;
  float sum = 0.0f;
  for (int t = 0; t < k; t += 16) {
    as[ty][tx] = a[(t + ty) * n + blockIdx.y * 64 + tx];
    bs[ty][tx] = b[(t + ty) * n + blockIdx.x * 64 + tx];
    __syncthreads();
    for (int p = 0; p < 16; ++p) sum += as[p][ty] * bs[p][tx];
    __syncthreads();
  }
  c[(blockIdx.y * 64 + ty) * n + blockIdx.x * 64 + tx] = sum;
}
