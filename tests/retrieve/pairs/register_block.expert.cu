__global__ void matmul(const float *a, const float *b, float *c, int n, int k) {
  __shared__ float as[16][64];
  __shared__ float bs[16][64];
  int tx = threadIdx.x, ty = threadIdx.y;
  float sum[4][4] = {};
  for (int t = 0; t < k; t += 16) {
    as[ty][tx] = a[(t + ty) * n + blockIdx.y * 64 + tx];
    bs[ty][tx] = b[(t + ty) * n + blockIdx.x * 64 + tx];
    __syncthreads();
    for (int p = 0; p < 16; ++p)
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sum[i][j] += as[p][ty * 4 + i] * bs[p][tx * 4 + j];
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) c[(blockIdx.y * 64 + ty * 4 + i) * n + blockIdx.x * 64 + tx * 4 + j] = sum[i][j];
}
