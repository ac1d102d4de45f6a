// fps_kernel<float> as its own launcher starts it: clouds of equally many points, the same number chosen from each, beginning with the second.
#include <torch/torch.h>
#include "fps_cuda.cu"

// Does what the package's launcher does with torch's operations: where each cloud begins, and distances larger than any.
__global__ void lay_out(int64_t *first, int64_t *chosen_first, int64_t *start, float *distance, int clouds, int points, int chosen) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= clouds) {
    first[i] = int64_t(i) * points;
    chosen_first[i] = int64_t(i) * chosen;
  }
  if (i < clouds) start[i] = 1;
  if (i < clouds * points) distance[i] = 5e4f;
}

extern "C" void torch_cluster_farthest_points(const float *source, int64_t *first, int64_t *chosen_first, int64_t *start, float *distance, int64_t *output, int clouds, int points, int chosen,
                                              int size, cudaStream_t stream) {
  lay_out<<<(clouds * points + 256) / 256, 256, 0, stream>>>(first, chosen_first, start, distance, clouds, points, chosen);
  fps_kernel<float><<<clouds, 256, 0, stream>>>(source, first, chosen_first, start, distance, output, size);
}
