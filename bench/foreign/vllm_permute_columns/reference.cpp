#include <cstddef>

extern "C" void reference(const double *input, const double *order, double *output, int rows, int columns) {
  for (std::size_t row = 0; row < std::size_t(rows); ++row)
    for (int i = 0; i < columns; ++i) output[row * columns + i] = input[row * columns + std::size_t(order[i])];
}
