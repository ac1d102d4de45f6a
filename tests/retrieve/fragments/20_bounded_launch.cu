// step: launch_bounds
template <typename ET, int Threads>
__launch_bounds__(Threads, 2) __global__ void dequant_rows(const uint8_t *__restrict__ codes, const float *__restrict__ lut, ET *outp, const int total) {
  const int id = blockIdx.x * Threads + threadIdx.x;
  if (id < total) outp[id] = lut[codes[id]];
