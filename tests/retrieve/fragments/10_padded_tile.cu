// step: shared_pad
   constexpr int W = 64;
   __shared__ half staging[W][W + 2];
   staging[threadIdx.y][threadIdx.x] = from[(size_t)(base + threadIdx.y) * pitch + threadIdx.x];
   cta.sync();
   to[(size_t)(other + threadIdx.y) * pitch2 + threadIdx.x] = staging[threadIdx.x][threadIdx.y];
