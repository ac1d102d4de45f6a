#include "device/device.h"
#include <iterator>

namespace klineage {
namespace {

/// In the order of the enumeration.
constexpr const char *reasonNames[] = {
    "none",
    "compile_error", "resources_exceeded", "timeout",
    "wrong_value", "out_of_bounds", "race", "uninitialized_read", "misaligned", "barrier_divergence", "input_modified",
    "unwritten_output", "launch_error", "hang", "crash", "nondeterministic", "no_device_kernel", "delegated", "tampered",
    "forbidden_side_effect",
    "slower", "within_noise", "no_samples", "throttled", "counters_unavailable",
    "unsupported",
    "unfit_case", "no_reference", "internal",
};
static_assert(std::size(reasonNames) == static_cast<size_t>(Reason::Internal) + 1, "a reason without a name");

} // namespace

const char *name(Reason reason) {
  auto index = static_cast<size_t>(reason);
  return index < std::size(reasonNames) ? reasonNames[index] : "none";
}

std::optional<Reason> reasonNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(reasonNames); ++i)
    if (name == reasonNames[i]) return static_cast<Reason>(i);
  return std::nullopt;
}

PairOutcome Device::timePair(const SourceSet &, const SourceSet &, const PairRequest &) {
  PairOutcome outcome;
  outcome.reason = Reason::NoSamples;
  outcome.detail = "the device " + id() + " takes no measured times";
  return outcome;
}

Result<std::unique_ptr<Device>> deviceNamed(const std::string &name, unsigned sm) {
  if (name == "emulated") return makeEmulatedDevice(sm);
  if (name == "cuda") return makeCudaDevice(0);
  if (name.rfind("cuda:", 0) == 0 && name.size() > 5 && name.find_first_not_of("0123456789", 5) == std::string::npos && name.size() < 9)
    return makeCudaDevice(unsigned(std::stoul(name.substr(5))));
  return userError("there is no device '" + name + "'", {}, "the devices are emulated, cuda and cuda:N");
}

} // namespace klineage
