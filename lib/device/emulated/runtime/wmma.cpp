// wmma: load, multiply, store of fragments whose layout is the emulator's own. A fragment of a or b follows memory order, so that each
// lane loads neighbours; c and d are kept by rows. Lane l holds elements l·n to l·n + n − 1, with n the elements of the matrix over 32.
#include "device/emulated/runtime/numbers.h"
#include "device/emulated/runtime/worker.h"
#include <array>

namespace klineage::emulated {
namespace {

struct Shape {
  unsigned m, n, k;
  explicit Shape(uint32_t packed) : m(packed >> 16 & 0xFF), n(packed >> 8 & 0xFF), k(packed & 0xFF) {}
  unsigned rows(uint32_t which) const { return which == 1 ? k : m; }
  unsigned columns(uint32_t which) const { return which == 0 ? k : n; }
};

unsigned bytesOf(uint32_t element) {
  switch (element) {
  case KL_E_F16:
  case KL_E_BF16: return 2;
  case KL_E_S8:
  case KL_E_U8: return 1;
  case KL_E_F64: return 8;
  default: return 4;
  }
}

double get(const void *registers, uint32_t element, unsigned e) {
  switch (element) {
  case KL_E_F16: return halfToFloat(static_cast<const uint16_t *>(registers)[e]);
  case KL_E_BF16: return bfloatToFloat(static_cast<const uint16_t *>(registers)[e]);
  case KL_E_TF32: return tf32(static_cast<const uint32_t *>(registers)[e]);
  case KL_E_F32: return static_cast<const float *>(registers)[e];
  case KL_E_F64: return static_cast<const double *>(registers)[e];
  case KL_E_S8: return static_cast<const int8_t *>(registers)[e];
  case KL_E_U8: return static_cast<const uint8_t *>(registers)[e];
  default: return static_cast<const int32_t *>(registers)[e];
  }
}

void set(void *registers, uint32_t element, unsigned e, double value) {
  switch (element) {
  case KL_E_F16: static_cast<uint16_t *>(registers)[e] = floatToHalf(float(value)); break;
  case KL_E_F64: static_cast<double *>(registers)[e] = value; break;
  case KL_E_S32: static_cast<int32_t *>(registers)[e] = int32_t(int64_t(value)); break;
  default: static_cast<float *>(registers)[e] = float(value); break;
  }
}

struct Product {
  uint32_t shape, types, layouts;
  uint32_t *d;
  const uint32_t *a, *b, *c;
};

void multiply(Warp &warp, uint32_t) {
  auto &first = *static_cast<Product *>(warp.lane(0).payload);
  Shape shape(first.shape);
  uint32_t typeA = first.types & 0xFF, typeB = first.types >> 8 & 0xFF, typeC = first.types >> 16 & 0xFF, typeD = first.types >> 24;
  static thread_local std::array<double, 32 * 32> a, b, c;
  auto gather = [&](unsigned rows, unsigned columns, bool columnMajor, auto &&into, auto &&from) {
    unsigned each = rows * columns / 32;
    for (unsigned lane = 0; lane < 32; ++lane)
      for (unsigned e = 0; e < each; ++e) {
        unsigned i = lane * each + e;
        unsigned row = columnMajor ? i % rows : i / columns, column = columnMajor ? i / rows : i % columns;
        into[row * columns + column] = from(*static_cast<Product *>(warp.lane(lane).payload), e);
      }
  };
  gather(shape.m, shape.k, first.layouts & 1, a, [&](Product &p, unsigned e) { return get(p.a, typeA, e); });
  gather(shape.k, shape.n, first.layouts & 2, b, [&](Product &p, unsigned e) { return get(p.b, typeB, e); });
  gather(shape.m, shape.n, false, c, [&](Product &p, unsigned e) { return get(p.c, typeC, e); });
  for (unsigned i = 0; i < shape.m; ++i)
    for (unsigned j = 0; j < shape.n; ++j)
      for (unsigned x = 0; x < shape.k; ++x) c[i * shape.n + j] += a[i * shape.k + x] * b[x * shape.n + j];
  unsigned each = shape.m * shape.n / 32;
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned e = 0; e < each; ++e) set(static_cast<Product *>(warp.lane(lane).payload)->d, typeD, e, c[lane * each + e]);
}

/// Calls fn(address, offset in the fragment, bytes) for each run of a lane's elements that lie together in memory, at most 16 bytes long.
template <typename Fn>
void eachRun(unsigned lane, unsigned rows, unsigned columns, bool fragmentByColumns, bool memoryByColumns, unsigned bytes, uintptr_t base,
             unsigned stride, Fn &&fn) {
  unsigned each = rows * columns / 32;
  auto addressOf = [&](unsigned e) {
    unsigned i = lane * each + e;
    unsigned row = fragmentByColumns ? i % rows : i / columns, column = fragmentByColumns ? i / rows : i % columns;
    return base + size_t(memoryByColumns ? column * stride + row : row * stride + column) * bytes;
  };
  for (unsigned e = 0; e < each;) {
    uintptr_t from = addressOf(e);
    unsigned run = 1;
    while (e + run < each && (run + 1) * bytes <= 16 && addressOf(e + run) == from + run * bytes) ++run;
    while ((run & (run - 1)) || from % (run * bytes)) run = (run & (run - 1)) ? run & (run - 1) : run / 2;
    fn(from, e * bytes, run * bytes);
    e += run;
  }
}

void wholeWarpOnly(Thread &thread, uint32_t site) {
  if (thread.myWarp->live == ~0u) return;
  raise(thread, Reason::BarrierDivergence,
        at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) +
            " executes a wmma operation in a warp of which only " + lanesName(thread.myWarp->live) + " take part");
}

uint64_t partOf(uint64_t key, unsigned part) { return (key ^ part) * 0x9E3779B97F4A7C15u + part; }

void nothing(Warp &, uint32_t) {}

} // namespace
} // namespace klineage::emulated

using namespace klineage::emulated;
using klineage::Reason;

extern "C" {

void kl_wmma_load(kl_thread *self, uint32_t which, uint32_t packed, uint32_t element, uint32_t columnMajor, uint32_t *out, const void *from,
                  uint32_t stride, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  wholeWarpOnly(thread, site);
  meet(thread, Wait::Exchange, ~0u, site, key, nullptr, nothing);
  Shape shape(packed);
  unsigned bytes = bytesOf(element), part = 0, used = 0;
  bool fragmentByColumns = which < 2 && columnMajor;
  eachRun(thread.lane, shape.rows(which), shape.columns(which), fragmentByColumns, columnMajor, bytes, reinterpret_cast<uintptr_t>(from),
          stride, [&](uintptr_t address, unsigned offset, unsigned width) {
            spendQuantum(thread);
            access(thread, address, width, site, partOf(key, part++), Act::Read, RequestKind::GlobalLoad, RequestKind::SharedLoad);
            std::memcpy(reinterpret_cast<char *>(out) + offset, reinterpret_cast<const void *>(address), width);
            used = offset + width;
          });
  // Half fragments of a and b have twice the registers that the elements need, as CUDA's own fragments do; fill them alike.
  if (which < 2 && element == KL_E_F16 && used < 32)
    for (unsigned i = used; i < 32; ++i) reinterpret_cast<char *>(out)[i] = reinterpret_cast<char *>(out)[i - used];
}

void kl_wmma_store(kl_thread *self, uint32_t packed, uint32_t element, uint32_t columnMajor, void *to, const uint32_t *in, uint32_t stride,
                   uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  wholeWarpOnly(thread, site);
  meet(thread, Wait::Exchange, ~0u, site, key, nullptr, nothing);
  Shape shape(packed);
  unsigned part = 0;
  eachRun(thread.lane, shape.m, shape.n, false, columnMajor, bytesOf(element), reinterpret_cast<uintptr_t>(to), stride,
          [&](uintptr_t address, unsigned offset, unsigned width) {
            spendQuantum(thread);
            access(thread, address, width, site, partOf(key, part++), Act::Write, RequestKind::GlobalStore, RequestKind::SharedStore);
            std::memcpy(reinterpret_cast<void *>(address), reinterpret_cast<const char *>(in) + offset, width);
          });
  noteChange(thread);
}

void kl_wmma_mma(kl_thread *self, uint32_t packed, uint32_t types, uint32_t layouts, uint32_t *d, const uint32_t *a, const uint32_t *b,
                 const uint32_t *c, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  wholeWarpOnly(thread, site);
  Shape shape(packed);
  if (thread.block->launch->options.count && thread.lane == 0) {
    Counts &counts = thread.block->worker->tally.counts;
    ++counts[Count::tensor_operations];
    counts[Count::tensor_flops] += 2 * shape.m * shape.n * shape.k;
  }
  Product mine{packed, types, layouts, d, a, b, c};
  meet(thread, Wait::Exchange, ~0u, site, key, &mine, multiply);
}

} // extern "C"
