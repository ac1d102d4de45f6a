#include "device/bottleneck.h"
#include <cstdio>

namespace klineage {
namespace {

/// Below this share nothing is called busy (the profilers' own rule of thumb).
constexpr double busyPercent = 60;

} // namespace

Bottleneck bottleneckOf(const Counters &counters) {
  Bottleneck found;
  auto value = [&](const char *name) {
    auto at = counters.find(name);
    return at == counters.end() ? -1 : at->second;
  };
  bool any = false;
  for (auto [kind, name] : {std::pair{"dram", "percent_dram"}, {"l2", "percent_l2"}, {"l1", "percent_l1"}, {"tensor", "percent_tensor"}, {"fma", "percent_fma"},
                            {"issue", "percent_issue"}}) {
    double percent = value(name);
    any |= percent >= 0;
    if (percent <= found.percent) continue;
    found.percent = percent;
    found.kind = kind;
  }
  if (!any) return {};
  if (found.percent < busyPercent) found.kind = "latency";
  double all = 0, most = 0;
  for (const auto &[name, stalled] : counters) {
    if (name.rfind("stall_", 0) != 0) continue;
    all += stalled;
    if (stalled <= most || name == "stall_not_selected") continue; // a warp that could have gone is not waiting
    most = stalled;
    found.stall = name;
  }
  found.stallShare = all > 0 ? most / all : 0;
  return found;
}

std::string Bottleneck::text() const {
  if (kind == "unknown") return kind;
  char text[160];
  std::snprintf(text, sizeof text, "%s%s%.0f %% of peak", kind.c_str(), kind == "latency" ? ", nothing above " : " at ", percent);
  std::string whole = text;
  if (!stall.empty()) {
    std::snprintf(text, sizeof text, "; %.0f %% of waiting warps: %s", 100 * stallShare, stall.c_str());
    whole += text;
  }
  return whole;
}

} // namespace klineage
