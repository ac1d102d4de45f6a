// gate: accepted
//
// One element a thread, read or written along rows.
#include <cuda_runtime.h>
// vary: THREADS=32,160,1024 READS_ALONG=0,1

__global__ void turn(const float *in, float *out, int rows, int columns) {
  const int i = blockIdx.x * THREADS + threadIdx.x;
  if (i >= rows * columns) return;
#if READS_ALONG
  out[i % columns * rows + i / columns] = in[i];
#else
  out[i] = in[i % rows * columns + i / rows];
#endif
}

extern "C" void transpose(const float *in, float *out, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  turn<<<(rows * columns + THREADS - 1) / THREADS, THREADS, 0, stream>>>(in, out, rows, columns);
}
