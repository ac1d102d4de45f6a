// layer_norm as the walk is expected to leave it: a thread a row, three plain loops.
__global__ void layer_norm_kernel(const float *x, const float *gamma, const float *beta, float *y, int rows, int columns, float eps) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  size_t base = static_cast<size_t>(row) * columns;
  float sum = 0.0f;
  for (int i = 0; i < columns; ++i) sum += x[base + i];
  float mean = sum / columns;
  float square = 0.0f;
  for (int i = 0; i < columns; ++i) {
    float d = x[base + i] - mean;
    square += d * d;
  }
  float rstd = 1.0f / sqrtf(square / columns + eps);
  for (int i = 0; i < columns; ++i) y[base + i] = (x[base + i] - mean) * rstd * gamma[i] + beta[i];
}

extern "C" void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int columns, float eps,
                           cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  layer_norm_kernel<<<(rows + 31) / 32, 32, 0, stream>>>(x, gamma, beta, y, rows, columns, eps);
}
