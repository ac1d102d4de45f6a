// gate: accepted
//
// One block a row: the variance in a second sweep about the mean, or by Welford's update, whose partial results are merged.
#include <cuda_runtime.h>
// vary: THREADS=32,64,256 WELFORD=0,1 INVERSE_ROOT=0,1

struct Moments {
  float count, mean, square;
};

__device__ Moments merged(Moments a, Moments b) {
  if (b.count == 0.0f) return a;
  if (a.count == 0.0f) return b;
  const float count = a.count + b.count, apart = b.mean - a.mean;
  return {count, a.mean + apart * (b.count / count), a.square + b.square + apart * apart * (a.count * b.count / count)};
}

__device__ Moments overBlock(Moments own, Moments *part) {
  part[threadIdx.x] = own;
  __syncthreads();
  for (int step = THREADS / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] = merged(part[threadIdx.x], part[threadIdx.x + step]);
    __syncthreads();
  }
  return part[0];
}

__device__ float sumOver(float own, float *part) {
  part[threadIdx.x] = own;
  __syncthreads();
  for (int step = THREADS / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  return part[0];
}

__global__ void normalize(const float *x, const float *gamma, const float *beta, float *y, int columns, float eps) {
  const float *row = x + static_cast<size_t>(blockIdx.x) * columns;
  float *out = y + static_cast<size_t>(blockIdx.x) * columns;
#if WELFORD
  __shared__ Moments part[THREADS];
  Moments own = {0.0f, 0.0f, 0.0f};
  for (int c = threadIdx.x; c < columns; c += THREADS) own = merged(own, {1.0f, row[c], 0.0f});
  const Moments all = overBlock(own, part);
  const float mean = all.mean, variance = all.square / columns;
#else
  __shared__ float sums[THREADS], squares[THREADS];
  float sum = 0.0f, square = 0.0f;
  for (int c = threadIdx.x; c < columns; c += THREADS) sum += row[c];
  const float mean = sumOver(sum, sums) / columns;
  for (int c = threadIdx.x; c < columns; c += THREADS) square += (row[c] - mean) * (row[c] - mean);
  const float variance = sumOver(square, squares) / columns;
#endif
#if INVERSE_ROOT
  const float scale = rsqrtf(variance + eps);
#else
  const float scale = 1.0f / sqrtf(variance + eps);
#endif
  for (int c = threadIdx.x; c < columns; c += THREADS) out[c] = fmaf((row[c] - mean) * scale, gamma[c], beta[c]);
}

extern "C" void layer_norm(const float *x, const float *gamma, const float *beta, float *y, int rows, int columns, float eps, cudaStream_t stream) {
  if (rows == 0 || columns == 0) return;
  normalize<<<rows, THREADS, 0, stream>>>(x, gamma, beta, y, columns, eps);
}
