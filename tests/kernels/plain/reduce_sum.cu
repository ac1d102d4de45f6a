// reduce_sum as the walk is expected to leave it: the one output has one thread.
__global__ void sum_kernel(const float *x, float *total, long long n) {
  float sum = 0.0f;
  for (long long i = 0; i < n; ++i) sum += x[i];
  total[0] = sum;
}

extern "C" void reduce_sum(const float *x, float *partials, float *total, long long n, cudaStream_t stream) {
  sum_kernel<<<1, 1, 0, stream>>>(x, total, n);
}
