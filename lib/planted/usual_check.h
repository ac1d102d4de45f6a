// UsualCheck: a check as most tools that judge kernels make it, for comparison. One shape (the workload's first check instance), one seed, outputs compared with
// an absolute and a relative tolerance of 1e-2, NaN like NaN. It sees no races, no reads of what nobody wrote, no changed inputs and no launcher.
//
// It runs on the emulated device with its checks off. There a wild access still ends the run, where a GPU often goes on; so what it accepts here is less than what
// it would accept on a card.
#pragma once
#include "gate/oracle.h"

namespace klineage {

class UsualCheck {
public:
  UsualCheck(Device &device, const Workload &workload) : device(device), workload(workload) {}

  /// "accepted", "refused: ..." or "not run: ...".
  std::string ask(const SourceSet &sources);

  static constexpr const char *form = "1"; ///< Raised when an answer could change.
  static constexpr double tolerance = 1e-2;

private:
  Device &device;
  Workload workload;
  std::shared_ptr<Oracle> oracle;
};

} // namespace klineage
