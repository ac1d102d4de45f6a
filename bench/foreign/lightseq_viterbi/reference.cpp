#include <cstddef>
#include <vector>

extern "C" void reference(const double *start, const double *end, const double *transition, const double *emission, const double *mask, const double *bias, double *score, double *best,
                          int batch, int length, int tags) {
  for (int b = 0; b < batch; ++b) {
    const double *emitted = emission + std::size_t(b) * length * tags;
    std::vector<double> now(tags), next(tags);
    std::vector<std::vector<int>> from;
    for (int t = 0; t < tags; ++t) now[t] = emitted[t] + bias[t] + start[t];
    int steps = 1;
    for (; steps < length && mask[b * length + steps] != 1; ++steps) {
      from.emplace_back(tags);
      for (int t = 0; t < tags; ++t) {
        int source = 0;
        for (int p = 1; p < tags; ++p)
          if (now[p] + transition[t * tags + p] > now[source] + transition[t * tags + source]) source = p;
        from.back()[t] = source;
        next[t] = now[source] + transition[t * tags + source] + emitted[steps * tags + t] + bias[t];
      }
      now.swap(next);
    }
    int last = 0;
    for (int t = 1; t < tags; ++t)
      if (now[t] + end[t] > now[last] + end[last]) last = t;
    score[b] = now[last] + end[last];
    for (int i = 0; i < length; ++i) best[b * length + i] = -1;
    best[b * length + steps - 1] = last;
    for (int i = steps - 2; i >= 0; --i) best[b * length + i] = last = from[i][last];
  }
}
