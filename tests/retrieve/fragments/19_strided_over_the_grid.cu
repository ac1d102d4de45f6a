// step: grid_stride
  size_t pos = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t hop = size_t(gridDim.x) * blockDim.x;
  while (pos < numel) {
    momentum[pos] = beta * momentum[pos] + grad[pos];
    param[pos] -= lr * momentum[pos];
    pos += hop;
  }
