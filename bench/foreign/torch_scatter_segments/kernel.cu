// segment_coo_broadcast_kernel<float, SUM, 16> as its own launcher starts it for segments of seventeen to thirty-two entries on average; it is right for any length.
#include <torch/torch.h>
#include "segment_coo_cuda.cu"

// Does what the package's caller does with torch's operations: a sorted index, with segments of uneven length and one without entries, and sums that begin with zero.
__global__ void lay_out(int64_t *index, float *sums, int batch, int entries, int columns, int segments) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < batch * entries) {
    int64_t segment = int64_t(i % entries) * (i % entries) * segments / (int64_t(entries) * entries);
    index[i] = segment == 1 ? 0 : segment;
  }
  if (i < batch * segments * columns) sums[i] = 0.0f;
}

extern "C" void torch_scatter_segments(const float *source, int64_t *index, float *sums, int batch, int entries, int columns, int segments, cudaStream_t stream) {
  at::cuda::detail::TensorInfo<int64_t, int> info;
  info.data = index;
  info.dims = 2;
  info.sizes[0] = batch;
  info.sizes[1] = entries;
  info.strides[0] = entries;
  info.strides[1] = 1;
  const int most = (entries > segments * columns ? entries : segments * columns) * batch;
  lay_out<<<(most + 255) / 256, 256, 0, stream>>>(index, sums, batch, entries, columns, segments);
  segment_coo_broadcast_kernel<float, SUM, 16><<<dim3((batch * ((entries + 15) / 16) + 7) / 8, (columns + 31) / 32), dim3(32, 8), 0, stream>>>(source, info, sums, size_t(batch) * entries,
                                                                                                                                       columns, segments);
}
