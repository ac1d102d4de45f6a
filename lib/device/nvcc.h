// The vendor's compiler: where it is, and what every call tells it, so that it reads the language that Clang reads.
#pragma once
#include <string>
#include <vector>

namespace klineage {

std::string nvccProgram(); ///< CUDA_PATH's bin/nvcc; need not exist.

/// The text of `nvcc --version`; empty when it does not run.
const std::string &nvccVersion();

/// A command: nvcc, the language, -O3, CCCL's headers, and `more`. Clang takes every constexpr function to be for both sides; nvcc does so with
/// --expt-relaxed-constexpr only (CUDA C++ Programming Guide, "Constexpr functions and function templates").
std::vector<std::string> nvccCommand(const std::vector<std::string> &more);

/// From the first line that tells of an error, at most `length` characters: warnings may stand before it. The beginning where no line does.
std::string firstErrorOf(const std::string &said, size_t length);

} // namespace klineage
