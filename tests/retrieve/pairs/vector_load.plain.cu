__global__ void scale(const float *x, float *y, int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) return;
  float v[4];
  for (int k = 0; k < 4; ++k) v[k] = x[4 * i + k];
  float total = v[0] + v[1] + v[2] + v[3];
  y[i] = total * f;
}
