#include <cstddef>

extern "C" void reference(const double *input, double *output, int rows, int columns) {
  for (int column = 0; column < columns; ++column) {
    double sum = 0.0;
    for (int row = 0; row < rows; ++row) sum += input[std::size_t(row) * columns + column];
    output[column] = sum;
  }
}
