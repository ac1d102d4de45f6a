#include "device/emulated/runtime/fibers.h"
#include <new>
#include <sys/mman.h>

namespace klineage::emulated {
namespace {
constexpr size_t page = 4096;
constexpr size_t stride = StackPool::stackBytes + page;
} // namespace

StackPool::~StackPool() {
  for (void *chunk : chunks) munmap(chunk, stride * chunkStacks);
}

void StackPool::grow() {
  void *chunk = mmap(nullptr, stride * chunkStacks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (chunk == MAP_FAILED) throw std::bad_alloc();
  chunks.push_back(chunk);
  for (size_t i = chunkStacks; i-- > 0;) {
    char *guard = static_cast<char *>(chunk) + i * stride;
    mprotect(guard, page, PROT_NONE);
    Stack stack;
    stack.low = guard + page;
    stack.top = guard + stride - ((made + i) * 320) % page / 64 * 64;
    idle.push_back(stack);
  }
  made += chunkStacks;
}

Stack StackPool::take() {
  if (idle.empty()) grow();
  Stack stack = idle.back();
  idle.pop_back();
  return stack;
}

} // namespace klineage::emulated
