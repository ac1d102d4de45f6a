#include "device/emulated/runtime/counts.h"

namespace klineage::emulated {

const char *name(Count count) {
  static const char *const names[] = {
#define X(name) #name,
      KLINEAGE_COUNTERS(X)
#undef X
  };
  return count < Count::Size ? names[size_t(count)] : "unknown_counter";
}

void BlockTotals::add(const BlockTotals &other) {
  if (byWarp.size() < other.byWarp.size()) byWarp.resize(other.byWarp.size()), byThread.resize(other.byWarp.size());
  for (size_t i = 0; i < other.byWarp.size(); ++i) byWarp[i] += other.byWarp[i], byThread[i] += other.byThread[i];
}

} // namespace klineage::emulated
