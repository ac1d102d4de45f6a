#include <algorithm>
#include <cstddef>
#include <vector>

extern "C" void reference(const double *source, double *output, int clouds, int points, int chosen, int size) {
  for (int cloud = 0; cloud < clouds; ++cloud) {
    const std::size_t first = std::size_t(cloud) * points;
    std::vector<double> distance(points, 5e4);
    std::size_t last = 1;
    output[cloud * chosen] = double(first + last);
    for (int m = 1; m < chosen; ++m) {
      std::size_t best = 0;
      for (int n = 0; n < points; ++n) {
        double sum = 0.0;
        for (int d = 0; d < size; ++d) {
          const double difference = source[(first + last) * size + d] - source[(first + n) * size + d];
          sum += difference * difference;
        }
        distance[n] = std::min(distance[n], sum);
        if (distance[n] > distance[best]) best = n;
      }
      last = best;
      output[cloud * chosen + m] = double(first + last);
    }
  }
}
