__global__ void softmax(const float *x, float *y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float m = -INFINITY, s = 0.0f;
  for (int j = 0; j < cols; ++j) {
    float v = x[row * cols + j];
    float next = fmaxf(m, v);
    s = s * expf(m - next) + expf(v - next);
    m = next;
  }
  for (int j = 0; j < cols; ++j) y[row * cols + j] = expf(x[row * cols + j] - m) / s;
}
