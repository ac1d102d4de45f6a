// Atomic operations, done for real on the host's memory, also against other blocks.
#include "device/emulated/runtime/numbers.h"
#include "device/emulated/runtime/worker.h"
#include <algorithm>
#include <cmath>
#include <type_traits>

namespace klineage::emulated {
namespace {

template <typename Int> Int integerOp(uint32_t op, Int old, Int value) {
  using Signed = std::make_signed_t<Int>;
  switch (op) {
  case KL_ADD: return old + value;
  case KL_SUB: return old - value;
  case KL_AND: return old & value;
  case KL_OR: return old | value;
  case KL_XOR: return old ^ value;
  case KL_NAND: return ~(old & value);
  case KL_EXCHANGE: return value;
  case KL_MIN_S: return Int(std::min(Signed(old), Signed(value)));
  case KL_MAX_S: return Int(std::max(Signed(old), Signed(value)));
  case KL_MIN_U: return std::min(old, value);
  case KL_MAX_U: return std::max(old, value);
  case KL_INC_WRAP: return old >= value ? 0 : old + 1;
  case KL_DEC_WRAP: return old == 0 || old > value ? value : old - 1;
  default: return value;
  }
}

template <typename Real> Real realOp(uint32_t op, Real old, Real value) {
  switch (op) {
  case KL_FADD: return old + value;
  case KL_FSUB: return old - value;
  case KL_FMIN: return std::fmin(old, value);
  case KL_FMAX: return std::fmax(old, value);
  default: return value;
  }
}

bool isReal(uint32_t op) { return op >= KL_FADD; }

uint16_t halfOp(uint32_t op, uint32_t type, uint16_t old, uint16_t value) {
  bool brain = type == KL_BF16 || type == KL_BF16X2;
  auto wide = [&](uint16_t bits) { return brain ? bfloatToFloat(bits) : halfToFloat(bits); };
  float sum = realOp(op, wide(old), wide(value));
  return brain ? floatToBfloat(sum) : floatToHalf(sum);
}

uint64_t apply(uint32_t op, uint32_t type, uint64_t old, uint64_t value) {
  switch (type) {
  case KL_I16: return integerOp<uint16_t>(op, old, value);
  case KL_I64: return integerOp<uint64_t>(op, old, value);
  case KL_F16:
  case KL_BF16: return isReal(op) ? halfOp(op, type, old, value) : integerOp<uint16_t>(op, old, value);
  case KL_F16X2:
  case KL_BF16X2:
    if (!isReal(op)) return integerOp<uint32_t>(op, old, value);
    return halfOp(op, type, old, value) | uint32_t(halfOp(op, type, old >> 16, value >> 16)) << 16;
  case KL_F32:
    return isReal(op) ? bitsOf(realOp(op, floatOf(old), floatOf(value))) : integerOp<uint32_t>(op, old, value);
  case KL_F64:
    return isReal(op) ? bitsOf(realOp(op, doubleOf(old), doubleOf(value))) : integerOp<uint64_t>(op, old, value);
  default: return integerOp<uint32_t>(op, old, value);
  }
}

uint32_t bytesOf(uint32_t type) {
  switch (type) {
  case KL_I16:
  case KL_F16:
  case KL_BF16: return 2;
  case KL_I64:
  case KL_F64: return 8;
  case KL_I128: return 16;
  default: return 4;
  }
}

template <typename Int> uint64_t change(void *address, uint32_t op, uint32_t type, uint64_t value) {
  auto *where = static_cast<Int *>(address);
  Int old = __atomic_load_n(where, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(where, &old, Int(apply(op, type, old, value)), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <typename Int> uint64_t swap(void *address, uint64_t compare, uint64_t value) {
  Int expected = Int(compare);
  __atomic_compare_exchange_n(static_cast<Int *>(address), &expected, Int(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}

/// Before a write: what this or an earlier fence covers is handed out at the address.
void release(Thread &thread, uintptr_t address, uint32_t orderScope) {
  if (!thread.block->launch->options.check) return;
  uint32_t order = orderScope & 0xFF;
  if (order >= KL_RELEASE) {
    Release now = snapshot(thread);
    now.blockScope = orderScope >> 8 == KL_SCOPE_BLOCK;
    syncFor(thread, address).release(address, now);
    return;
  }
  handOut(thread, address);
}

} // namespace
} // namespace klineage::emulated

using namespace klineage::emulated;
using klineage::Reason;

extern "C" {

uint64_t kl_atomic_rmw(kl_thread *self, void *address, uint32_t op, uint32_t type, uint64_t value, uint32_t orderScope, uint32_t site,
                       uint64_t key) {
  Thread &thread = threadOf(self);
  spendQuantum(thread);
  uint32_t bytes = bytesOf(type);
  auto where = reinterpret_cast<uintptr_t>(address);
  if (bytes == 16) raise(thread, Reason::Unsupported, at(*thread.block->launch, site) + ": 128-bit atomics are not emulated");
  access(thread, where, bytes, site, key, Act::AtomicChange, RequestKind::GlobalAtomic, RequestKind::SharedAtomic);
  takeIn(thread, where);
  release(thread, where, orderScope);
  uint64_t old = bytes == 2 ? change<uint16_t>(address, op, type, value)
                 : bytes == 4 ? change<uint32_t>(address, op, type, value)
                              : change<uint64_t>(address, op, type, value);
  if (apply(op, type, old, value) != old) noteChange(thread);
  return old;
}

uint64_t kl_atomic_cas(kl_thread *self, void *address, uint32_t bytes, uint64_t compare, uint64_t value, uint32_t orderScope,
                       uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  spendQuantum(thread);
  auto where = reinterpret_cast<uintptr_t>(address);
  if (bytes > 8) raise(thread, Reason::Unsupported, at(*thread.block->launch, site) + ": 128-bit atomics are not emulated");
  access(thread, where, bytes, site, key, Act::AtomicChange, RequestKind::GlobalAtomic, RequestKind::SharedAtomic);
  takeIn(thread, where);
  release(thread, where, orderScope);
  uint64_t old = bytes == 2 ? swap<uint16_t>(address, compare, value)
                 : bytes == 4 ? swap<uint32_t>(address, compare, value)
                              : swap<uint64_t>(address, compare, value);
  uint64_t mask = bytes == 8 ? ~uint64_t(0) : (uint64_t(1) << bytes * 8) - 1;
  if (old == (compare & mask) && old != (value & mask)) noteChange(thread);
  return old;
}

uint64_t kl_atomic_load(kl_thread *self, const void *address, uint32_t bytes, uint32_t, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  spendQuantum(thread);
  auto where = reinterpret_cast<uintptr_t>(address);
  access(thread, where, bytes, site, key, Act::AtomicRead, RequestKind::GlobalLoad, RequestKind::SharedLoad);
  takeIn(thread, where);
  switch (bytes) {
  case 1: return __atomic_load_n(static_cast<const uint8_t *>(address), __ATOMIC_SEQ_CST);
  case 2: return __atomic_load_n(static_cast<const uint16_t *>(address), __ATOMIC_SEQ_CST);
  case 4: return __atomic_load_n(static_cast<const uint32_t *>(address), __ATOMIC_SEQ_CST);
  default: return __atomic_load_n(static_cast<const uint64_t *>(address), __ATOMIC_SEQ_CST);
  }
}

void kl_atomic_store(kl_thread *self, void *address, uint32_t bytes, uint64_t value, uint32_t orderScope, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  spendQuantum(thread);
  auto where = reinterpret_cast<uintptr_t>(address);
  access(thread, where, bytes, site, key, Act::AtomicStore, RequestKind::GlobalStore, RequestKind::SharedStore);
  release(thread, where, orderScope);
  switch (bytes) {
  case 1: __atomic_store_n(static_cast<uint8_t *>(address), uint8_t(value), __ATOMIC_SEQ_CST); break;
  case 2: __atomic_store_n(static_cast<uint16_t *>(address), uint16_t(value), __ATOMIC_SEQ_CST); break;
  case 4: __atomic_store_n(static_cast<uint32_t *>(address), uint32_t(value), __ATOMIC_SEQ_CST); break;
  default: __atomic_store_n(static_cast<uint64_t *>(address), value, __ATOMIC_SEQ_CST); break;
  }
  noteChange(thread);
}

} // extern "C"
