// Control: branches, giving way, endless loops, traps, and what device code can print.
#include "device/emulated/runtime/worker.h"
#include <cstdio>
#include <cstring>

using namespace klineage::emulated;
using klineage::Reason;

extern "C" {

void kl_branch(kl_thread *self, uint32_t way, uint32_t site, uint64_t key) {
  Thread &thread = threadOf(self);
  if (!thread.block->launch->options.count) return;
  spendQuantum(thread);
  record(thread, RequestKind::Branch, site, key, way, 0, nullptr);
}

void kl_yield(kl_thread *self, uint32_t site, uint64_t) {
  Thread &thread = threadOf(self);
  thread.waitSite = site;
  ++thread.yields;
  suspend(thread);
}

void kl_out_of_fuel(kl_thread *self, uint32_t site, uint64_t) {
  constexpr int64_t refill = 1 << 20;
  Thread &thread = threadOf(self);
  Worker &worker = *thread.block->worker;
  thread.fuel = refill;
  thread.waitSite = site;
  if (worker.changes != worker.seenChanges) worker.idleRefills = 0, worker.seenChanges = worker.changes;
  else ++worker.idleRefills;
  int64_t bound = thread.block->launch->options.hangBound;
  // hangBound counts fuel in thousands; without any write by anybody an eighth of that is enough.
  if (int64_t(++thread.refills) * refill > bound * 1000 || int64_t(worker.idleRefills) * refill > bound * 1000 / 8)
    raise(thread, Reason::Hang,
          at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) + " does not leave this loop (" +
              std::to_string(thread.refills) + " million iterations)");
  ++worker.activity;
  suspend(thread);
}

uint64_t kl_clock(kl_thread *self, uint32_t globalNanoseconds) {
  Thread &thread = threadOf(self);
  thread.ticks += globalNanoseconds ? 32 : 64; // only promises to rise: emulated code has no cycles of its own
  return thread.ticks;
}

void kl_trap(kl_thread *self, uint32_t site) {
  Thread &thread = threadOf(self);
  raise(thread, Reason::Crash, at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) + " executes a trap");
}

void kl_leaves_local(kl_thread *self, uint32_t site) {
  Thread &thread = threadOf(self);
  raise(thread, Reason::OutOfBounds, at(*thread.block->launch, site) + ": " + threadName(*thread.block, thread.linear) + " leaves a local array");
}

void kl_assert_failed(kl_thread *self, const char *message, const char *file, uint32_t line, const char *function, uint32_t) {
  Thread &thread = threadOf(self);
  raise(thread, Reason::Crash,
        std::string(file) + ":" + std::to_string(line) + ": " + threadName(*thread.block, thread.linear) + " fails the assertion '" +
            message + "' in " + function);
}

int32_t kl_vprintf(kl_thread *self, const char *format, const void *arguments) {
  // What is printed goes to standard error: standard output belongs to the worker's protocol.
  auto *at = static_cast<const unsigned char *>(arguments);
  auto take = [&](void *into, size_t bytes) {
    auto address = reinterpret_cast<uintptr_t>(at);
    at += (bytes - address % bytes) % bytes;
    std::memcpy(into, at, bytes);
    at += bytes;
  };
  std::string text;
  int32_t printed = 0;
  for (const char *p = format; *p; ++p) {
    if (*p != '%') {
      text += *p;
      continue;
    }
    if (p[1] == '%') {
      text += *p++;
      continue;
    }
    std::string one = "%";
    bool wide = false;
    for (++p; *p && !std::strchr("diouxXcsfeEgGaAp", *p); ++p) {
      wide |= *p == 'l' || *p == 'z' || *p == 'j' || *p == 't';
      if (!std::strchr("lhzjt*", *p)) one += *p;
    }
    if (!*p) break;
    char buffer[512];
    if (std::strchr("feEgGaA", *p)) {
      double value;
      take(&value, 8);
      std::snprintf(buffer, sizeof buffer, (one + *p).c_str(), value);
    } else if (*p == 's') {
      const char *value;
      take(&value, 8);
      std::snprintf(buffer, sizeof buffer, (one + *p).c_str(), value ? value : "(null)");
    } else if (wide || *p == 'p') {
      long long value;
      take(&value, 8);
      std::snprintf(buffer, sizeof buffer, *p == 'p' ? "0x%llx" : (one + "ll" + *p).c_str(), value);
    } else {
      int value;
      take(&value, 4);
      std::snprintf(buffer, sizeof buffer, (one + *p).c_str(), value);
    }
    text += buffer;
    ++printed;
  }
  std::fputs(text.c_str(), stderr);
  return printed;
}

void *kl_malloc(kl_thread *self, uint64_t, uint32_t site) {
  Thread &thread = threadOf(self);
  raise(thread, Reason::Unsupported, at(*thread.block->launch, site) + ": unsupported_device_heap: malloc in device code is not emulated");
}

void kl_free(kl_thread *self, void *address, uint32_t site) {
  if (!address) return;
  Thread &thread = threadOf(self);
  raise(thread, Reason::Unsupported, at(*thread.block->launch, site) + ": unsupported_device_heap: free in device code is not emulated");
}

} // extern "C"
