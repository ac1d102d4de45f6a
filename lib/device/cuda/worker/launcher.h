// Launcher: a built version as a shared library, and one call of it with everything that can go wrong told apart.
#pragma once
#include "device/cuda/worker/driver.h"
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>

namespace klineage::cuda {

/// Why a call or a task did not succeed.
struct Failure {
  std::string reason = "none", detail;
  bool contextLost = false;
  explicit operator bool() const { return reason != "none"; }
};

/// What klineage_call of a built version fills (thunk.cpp writes the other side).
struct CallStatus {
  int returned = 0, last = 0;
  char name[96] = {};
};

class Launcher {
public:
  /// Empty, or why the library cannot be used.
  std::string open(const std::string &path);
  int parameters = 0;
  void (*call)(void *const *arguments, CallStatus *status) = nullptr;
};

/// Ends the process when something does not come back: a kernel that hangs cannot be stopped from within.
class Watchdog {
public:
  explicit Watchdog(std::function<void()> onExpiry);
  void arm(double seconds);
  void disarm() { deadline = 0; }

private:
  std::atomic<int64_t> deadline{0}; ///< Of the steady clock, in nanoseconds; 0: none.
  std::thread thread;
};

/// One call and the wait for all of the device's work.
Failure callOnce(const Driver &driver, const Launcher &launcher, void *const *arguments, Watchdog &watchdog, double seconds);

} // namespace klineage::cuda
