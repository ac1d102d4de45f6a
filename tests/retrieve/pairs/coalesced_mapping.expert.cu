__global__ void addbias(const float *x, const float *b, float *y, int rows, int cols) {
  int col = blockIdx.x * blockDim.x + threadIdx.x;
  int row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row < rows && col < cols) y[row * cols + col] = x[row * cols + col] + b[col];
}
