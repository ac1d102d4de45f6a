// direction: simplify
// A template with a specialization of its own, strides over vectors of four and a rest, two totals that share a tree: the number of rows is no parameter,
// and the specialization would have to take it too, so each row keeps its block.
#include <cuda_runtime.h>

template <typename T>
__global__ void unitSum(T *y, const T *x, int length) {
  const T *row = x + (size_t)blockIdx.x * length;
  T *out = y + (size_t)blockIdx.x * length;
  const bool even = length % 4 == 0;
  const int quads = even ? length / 4 : 0;
  const float4 *wide = reinterpret_cast<const float4 *>(row);
  float parts[2] = {0.f, 0.f};
  float a = 0.f, b = 0.f;
  for (unsigned q = 0; q < quads; ++q) {
    const float4 v = wide[q];
    a += fabsf(v.x) + fabsf(v.y) + fabsf(v.z) + fabsf(v.w);
  }
  for (int i = 4 * quads; i < length; ++i) b += fabsf(row[i]);
  parts[0] = a;
  parts[1] = b;
  for (int i = 0; i < length; ++i) out[i] = row[i] / (parts[0] + parts[1]);
}

template <>
__global__ void unitSum<double>(double *y, const double *x, int length) {
  double sum = 0.0;
  for (int i = 0; i < length; ++i) sum += fabs(x[(size_t)blockIdx.x * length + i]);
  for (int i = threadIdx.x; i < length; i += blockDim.x)
    y[(size_t)blockIdx.x * length + i] = x[(size_t)blockIdx.x * length + i] / sum;
}

extern "C" void normalize_rows(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  unitSum<float><<<rows, 1, 0, stream>>>(y, x, columns);
}
