// What every command-line tool shares: exit codes, error lines, progress lines.
#pragma once
#include "support/result.h"
#include <string>

namespace klineage {

/// docs/cli/README.md explains them.
enum ExitCode { ExitDone = 0, ExitRefused = 1, ExitUndecided = 2, ExitUsage = 3, ExitOurFault = 4 };

/// Prints "klineage-<tool>: <message>" to standard error and gives the exit code of the error's kind.
int fail(const char *tool, const Error &error);

/// Progress goes to standard error, and only to a terminal, or anywhere when KLINEAGE_PROGRESS=1.
class ProgressLines {
public:
  explicit ProgressLines(bool quiet = false);
  void operator()(const std::string &line) const; ///< Prefixed with the seconds since the tool began.
  bool shown() const { return visible; }

private:
  bool visible;
  double began;
};

} // namespace klineage
