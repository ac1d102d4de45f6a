// gate: accepted
//
// One block a row, three sweeps: the maximum, the sum, the quotients. Folds in shared memory, by halves or by neighbours first.
#include <cuda_runtime.h>
// vary: THREADS=32,64,128,512 EXP=expf,__expf NEIGHBOURS_FIRST=0,1

__device__ float fold(float value, float *part, bool isMaximum) {
  part[threadIdx.x] = value;
  __syncthreads();
#if NEIGHBOURS_FIRST
  for (int step = 1; step < THREADS; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) {
#else
  for (int step = THREADS / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) {
#endif
      const float other = part[threadIdx.x + step];
      part[threadIdx.x] = isMaximum ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
    }
    __syncthreads();
  }
  const float whole = part[0];
  __syncthreads();
  return whole;
}

__global__ void softmax(const float *x, float *y, int columns) {
  __shared__ float part[THREADS];
  const float *in = x + static_cast<size_t>(blockIdx.x) * columns;
  float *out = y + static_cast<size_t>(blockIdx.x) * columns;
  float most = -3.402823466e38f, sum = 0.0f;
  for (int c = threadIdx.x; c < columns; c += THREADS) most = fmaxf(most, in[c]);
  most = fold(most, part, true);
  for (int c = threadIdx.x; c < columns; c += THREADS) sum += EXP(in[c] - most);
  sum = fold(sum, part, false);
  for (int c = threadIdx.x; c < columns; c += THREADS) out[c] = EXP(in[c] - most) / sum;
}

extern "C" void row_softmax(const float *x, float *y, int rows, int columns, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  softmax<<<rows, THREADS, 0, stream>>>(x, y, columns);
}
