#include "support/tool.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace klineage {

int fail(const char *tool, const Error &error) {
  std::fprintf(stderr, "klineage-%s: %s%s\n", tool, error.fault == Fault::Ours ? "our own fault: " : "", error.message().c_str());
  switch (error.fault) {
  case Fault::User: return ExitUsage;
  case Fault::Refusal: return ExitRefused;
  case Fault::Ours: return ExitOurFault;
  }
  return ExitOurFault;
}

namespace {
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
} // namespace

ProgressLines::ProgressLines(bool quiet) : began(now()) {
  const char *asked = std::getenv("KLINEAGE_PROGRESS");
  visible = !quiet && (::isatty(2) || (asked && *asked == '1'));
}

void ProgressLines::operator()(const std::string &line) const {
  if (visible) std::fprintf(stderr, "%7.1f s  %s\n", now() - began, line.c_str());
}

} // namespace klineage
