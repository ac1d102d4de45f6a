// The catalogue's own examples: the kernels of tests/steps/<id>, so that a query answers without a mined corpus.
#pragma once
#include <span>
#include <string_view>

namespace klineage {

struct StepExample {
  const char *step;
  const char *name;   ///< "pair", or "transfer_<what>".
  const char *plain, *expert; ///< Text; either may be empty.
};

/// Written by CMake: expert.cu and plain.cu as "pair", transfer_<what>.cu with its .expect.cu.
std::span<const StepExample> stepExamples();

} // namespace klineage
