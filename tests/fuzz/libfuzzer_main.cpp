// One target as a libFuzzer program; KLINEAGE_FUZZ_TARGET is its name. CUDA sources are changed by statements, everything else by libFuzzer's own means.
#include "tests/fuzz/fuzz.h"
#include <algorithm>
#include <cstring>

namespace klineage::fuzz {
void KLINEAGE_FUZZ_TARGET(std::string_view bytes);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  klineage::fuzz::KLINEAGE_FUZZ_TARGET({reinterpret_cast<const char *>(data), size});
  return 0;
}

#ifdef KLINEAGE_FUZZ_SPLICES
namespace {
size_t give(const std::string &made, uint8_t *out, size_t most) {
  size_t size = std::min(made.size(), most);
  std::memcpy(out, made.data(), size);
  return size;
}
} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  std::string source(reinterpret_cast<char *>(data), size);
  return give(klineage::fuzz::spliced(source, source, random), data, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t oneSize, const uint8_t *other, size_t otherSize, uint8_t *out, size_t most, unsigned seed) {
  std::mt19937 random(seed);
  return give(klineage::fuzz::spliced({reinterpret_cast<const char *>(one), oneSize}, {reinterpret_cast<const char *>(other), otherSize}, random), out, most);
}
#endif
