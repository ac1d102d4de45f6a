// Matrix units: mma.sync, ldmatrix, stmatrix. Fragments follow the PTX manual's layouts: with g = lane / 4 and t = lane % 4, a lane holds
// rows g and g + 8, and columns around t. Sums are taken in double and rounded once, which is nearer to the exact value than any unit.
#include "device/emulated/runtime/numbers.h"
#include "device/emulated/runtime/worker.h"
#include <array>

namespace klineage::emulated {
namespace {

struct Place {
  unsigned row, column;
};

unsigned bitsOfElement(uint32_t type) {
  switch (type) {
  case KL_E_F16:
  case KL_E_BF16: return 16;
  case KL_E_S8:
  case KL_E_U8: return 8;
  case KL_E_F64: return 64;
  default: return 32;
  }
}

/// Element e of a lane's A fragment: where it lies in the m × k matrix. B is the same with the row bit gone, transposed.
Place placeInA(uint32_t type, unsigned lane, unsigned e, unsigned m) {
  unsigned g = lane / 4, t = lane % 4;
  switch (bitsOfElement(type)) {
  case 8: return {g + 8 * (e >> 2 & 1), 4 * t + (e & 3) + 16 * (e >> 3)};
  case 16: return {g + 8 * (e >> 1 & 1), 2 * t + (e & 1) + 8 * (e >> 2)};
  default: return m == 8 ? Place{g, t + 4 * e} : Place{g + 8 * (e & 1), t + 4 * (e >> 1)};
  }
}

Place placeInB(uint32_t type, unsigned lane, unsigned e) {
  unsigned g = lane / 4, t = lane % 4;
  switch (bitsOfElement(type)) {
  case 8: return {4 * t + (e & 3) + 16 * (e >> 2), g};
  case 16: return {2 * t + (e & 1) + 8 * (e >> 1), g};
  default: return {t + 4 * e, g};
  }
}

Place placeInC(unsigned lane, unsigned e) { return {lane / 4 + 8 * (e >> 1), 2 * (lane % 4) + (e & 1)}; }

double element(uint32_t type, const uint32_t *registers, unsigned e) {
  switch (type) {
  case KL_E_F16: return halfToFloat(registers[e / 2] >> 16 * (e & 1));
  case KL_E_BF16: return bfloatToFloat(registers[e / 2] >> 16 * (e & 1));
  case KL_E_TF32: return tf32(registers[e]);
  case KL_E_F32: return floatOf(registers[e]);
  case KL_E_F64: return doubleOf(uint64_t(registers[2 * e + 1]) << 32 | registers[2 * e]);
  case KL_E_S8: return int8_t(registers[e / 4] >> 8 * (e & 3));
  case KL_E_U8: return uint8_t(registers[e / 4] >> 8 * (e & 3));
  default: return int32_t(registers[e]);
  }
}

void setElement(uint32_t type, uint32_t *registers, unsigned e, double value) {
  auto half = [&](uint16_t bits) {
    uint32_t &word = registers[e / 2];
    word = e & 1 ? (word & 0xFFFF) | uint32_t(bits) << 16 : (word & 0xFFFF0000) | bits;
  };
  switch (type) {
  case KL_E_F16: half(floatToHalf(float(value))); break;
  case KL_E_BF16: half(floatToBfloat(float(value))); break;
  case KL_E_F64: {
    uint64_t bits = bitsOf(value);
    registers[2 * e] = uint32_t(bits), registers[2 * e + 1] = uint32_t(bits >> 32);
    break;
  }
  case KL_E_S32: registers[e] = uint32_t(int64_t(value)); break;
  default: registers[e] = bitsOf(float(value)); break;
  }
}

struct Mma {
  uint32_t shape, types;
  uint32_t *d;
  const uint32_t *a, *b, *c;
};

void doMma(Warp &warp, uint32_t lanes) {
  auto &first = *static_cast<Mma *>(warp.lane(__builtin_ctz(lanes)).payload);
  unsigned m = first.shape >> 16 & 0xFF, n = first.shape >> 8 & 0xFF, k = first.shape & 0xFF;
  uint32_t typeA = first.types & 0xFF, typeB = first.types >> 8 & 0xFF, typeC = first.types >> 16 & 0xFF, typeD = first.types >> 24;
  static thread_local std::array<double, 16 * 64> a, b;
  static thread_local std::array<double, 16 * 8> c;
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto &mine = *static_cast<Mma *>(warp.lane(lane).payload);
    for (unsigned e = 0; e < m * k / 32; ++e) {
      Place place = placeInA(typeA, lane, e, m);
      a[place.row * k + place.column] = element(typeA, mine.a, e);
    }
    for (unsigned e = 0; e < k * n / 32; ++e) {
      Place place = placeInB(typeB, lane, e);
      b[place.row * n + place.column] = element(typeB, mine.b, e);
    }
    for (unsigned e = 0; e < m * n / 32; ++e) {
      Place place = placeInC(lane, e);
      c[place.row * n + place.column] = element(typeC, mine.c, e);
    }
  }
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      double sum = c[i * n + j];
      for (unsigned x = 0; x < k; ++x) sum += a[i * k + x] * b[x * n + j];
      c[i * n + j] = sum;
    }
  for (unsigned lane = 0; lane < 32; ++lane) {
    auto &mine = *static_cast<Mma *>(warp.lane(lane).payload);
    for (unsigned e = 0; e < m * n / 32; ++e) {
      Place place = placeInC(lane, e);
      setElement(typeD, mine.d, e, c[place.row * n + place.column]);
    }
  }
}

bool known(uint32_t shape, uint32_t type) {
  unsigned m = shape >> 16 & 0xFF, n = shape >> 8 & 0xFF, k = shape & 0xFF;
  if (n != 8) return false;
  switch (type) {
  case KL_E_F16:
  case KL_E_BF16: return m == 16 && (k == 8 || k == 16);
  case KL_E_TF32: return m == 16 && (k == 4 || k == 8);
  case KL_E_S8:
  case KL_E_U8: return m == 16 && (k == 16 || k == 32);
  case KL_E_F64: return m == 8 && k == 4;
  default: return false;
  }
}

struct MatrixMove {
  uintptr_t row;
  uint32_t *registers;
  const uint32_t *source;
  uint32_t count, transposed;
};

/// Register r of a lane holds two neighbours of a row of matrix r, or of a column when transposed.
template <typename Fn> void eachHalf(Warp &warp, const MatrixMove &shape, Fn &&fn) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < shape.count; ++r)
      for (unsigned half = 0; half < 2; ++half) {
        unsigned row = lane / 4, column = 2 * (lane % 4) + half;
        if (shape.transposed) std::swap(row, column);
        auto &owner = *static_cast<MatrixMove *>(warp.lane(8 * r + row).payload);
        fn(*static_cast<MatrixMove *>(warp.lane(lane).payload), r, half, reinterpret_cast<uint16_t *>(owner.row) + column);
      }
}

void doLoad(Warp &warp, uint32_t) {
  eachHalf(warp, *static_cast<MatrixMove *>(warp.lane(0).payload), [](MatrixMove &mine, unsigned r, unsigned half, const uint16_t *from) {
    uint32_t &word = mine.registers[r];
    word = half ? (word & 0xFFFF) | uint32_t(*from) << 16 : *from;
  });
}

void doStore(Warp &warp, uint32_t) {
  eachHalf(warp, *static_cast<MatrixMove *>(warp.lane(0).payload),
           [](MatrixMove &mine, unsigned r, unsigned half, uint16_t *to) { *to = uint16_t(mine.source[r] >> 16 * half); });
}

void wholeWarpOnly(Thread &thread, uint32_t site) {
  if (thread.myWarp->live == ~0u) return;
  raise(thread, Reason::BarrierDivergence,
        at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) +
            " executes a matrix operation in a warp of which only " + lanesName(thread.myWarp->live) + " take part");
}

void moveMatrices(kl_thread *self, uintptr_t row, MatrixMove &mine, bool write, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  wholeWarpOnly(thread, site);
  spendQuantum(thread);
  if (thread.lane < 8 * mine.count)
    access(thread, row, 16, site, key, write ? Act::Write : Act::Read, write ? RequestKind::GlobalStore : RequestKind::GlobalLoad,
           write ? RequestKind::SharedStore : RequestKind::MatrixLoad);
  meet(thread, Wait::Exchange, ~0u, site, key, &mine, write ? doStore : doLoad);
  if (write) noteChange(thread);
}

} // namespace
} // namespace klineage::emulated

using namespace klineage::emulated;
using klineage::Reason;

extern "C" {

void kl_mma(kl_thread *self, uint32_t shape, uint32_t types, uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
            uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  LaunchState &launch = *thread.block->launch;
  if (!known(shape, types & 0xFF))
    raise(thread, Reason::Unsupported, at(launch, site) + ": unsupported_ptx: mma.sync of a shape or type that is not emulated");
  wholeWarpOnly(thread, site);
  if (launch.options.count && thread.lane == 0) {
    Counts &counts = thread.block->worker->tally.counts;
    ++counts[Count::tensor_operations];
    counts[Count::tensor_flops] += 2 * (shape >> 16 & 0xFF) * (shape >> 8 & 0xFF) * (shape & 0xFF);
  }
  Mma mine{shape, types, d, a, b, c};
  meet(thread, Wait::Exchange, ~0u, site, key, &mine, doMma);
}

void kl_ldmatrix(kl_thread *self, uint32_t *out, const void *row, uint32_t count, uint32_t transposed, uint32_t site, uint64_t key) {
  MatrixMove mine{reinterpret_cast<uintptr_t>(row), out, nullptr, count, transposed};
  moveMatrices(self, mine.row, mine, false, site, key);
}

void kl_stmatrix(kl_thread *self, void *row, const uint32_t *in, uint32_t count, uint32_t transposed, uint32_t site, uint64_t key) {
  MatrixMove mine{reinterpret_cast<uintptr_t>(row), nullptr, in, count, transposed};
  moveMatrices(self, mine.row, mine, true, site, key);
}

} // extern "C"
