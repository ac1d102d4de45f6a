__global__ void rowsum(const float *x, float *y, int rows, int cols) {
  __shared__ float part[256];
  int row = blockIdx.x;
  float s = 0.0f;
  for (int j = threadIdx.x; j < cols; j += blockDim.x) s += x[row * cols + j];
  part[threadIdx.x] = s;
  __syncthreads();
  for (int o = 128; o > 0; o >>= 1) {
    if (threadIdx.x < o) part[threadIdx.x] += part[threadIdx.x + o];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[row] = part[0];
}
