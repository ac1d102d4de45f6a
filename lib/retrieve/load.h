// From what a user names on the command line to sources and what is known of them.
#pragma once
#include "facts/environment.h"
#include "source/source_set.h"

namespace klineage {

struct NamedCode {
  SourceSet sources;
  Environment environment;   ///< From the workload.json beside the file, else empty.
  bool hasWorkload = false;
};

/// One CUDA file, or "-" for standard input. A file listed by a workload.json in its folder brings the folder's
/// sources; one that is not, but holds the same launcher, is judged alone with that workload's shapes and alignments.
Result<NamedCode> loadCode(const std::string &name, unsigned sm);

} // namespace klineage
