// The words of faults: places, threads, lanes.
#include "device/emulated/runtime/execution.h"
#include <cstring>

namespace klineage::emulated {

std::string at(const LaunchState &launch, uint32_t id) {
  const kl_site *site = launch.site(id);
  if (!site || !site->file || !*site->file) return std::string("an unknown place in ") + launch.kernel.name;
  return std::string(site->file) + ":" + std::to_string(site->line) + ":" + std::to_string(site->column);
}

static std::string triple(uint32_t x, uint32_t y, uint32_t z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}

std::string blockName(const LaunchState &launch, uint32_t order) {
  if (order == ~0u) return "another block";
  auto index = launch.blockIndex(order);
  return "block " + triple(index[0], index[1], index[2]);
}

std::string threadName(const Block &block, uint32_t linear) {
  auto &size = block.launch->launch.block;
  return "thread " + triple(linear % size[0], linear / size[0] % size[1], linear / size[0] / size[1]) + " of block " +
         triple(block.index[0], block.index[1], block.index[2]);
}

std::string lanesName(uint32_t mask) {
  std::string text;
  for (unsigned i = 0; i < 32; ++i) {
    if (!(mask >> i & 1)) continue;
    unsigned last = i;
    while (last < 31 && (mask >> (last + 1) & 1)) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(i);
    if (last > i) text += "-" + std::to_string(last);
    i = last;
  }
  return (mask & (mask - 1) ? "lanes " : "lane ") + (text.empty() ? "none" : text);
}

} // namespace klineage::emulated
