__global__ void scale(const float *x, float *y, int n, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4) return;
  float4 v = reinterpret_cast<const float4 *>(x)[i];
  float total = v.x + v.y + v.z + v.w;
  y[i] = total * f;
}
