// Fuzzing: each file targets/<name>.cpp defines one function over bytes. The preset `fuzz` makes a libFuzzer program of each; in every build test_fuzz
// runs them over <name>/seeds and <name>/findings, and over some hundred bent copies of these. See CONTRIBUTING.md, "Fuzzing".
#pragma once
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace klineage::fuzz {

/// A promise of klineage's that an input broke. Wrong input is answered, never promised anything, so this is always a fault of ours.
struct BrokenPromise : std::logic_error {
  using std::logic_error::logic_error;
};
inline void promise(bool kept, const std::string &what) {
  if (!kept) throw BrokenPromise(what);
}

using Target = void (*)(std::string_view bytes);
struct NamedTarget {
  const char *name;
  Target run;
};
/// Sorted by name; written by CMake from the files of targets/.
std::span<const NamedTarget> targets();

/// Another CUDA source made of this one: a statement taken out, doubled, exchanged, wrapped or brought from `donor`, or a number or an operator changed.
/// Most results parse, which changed bytes would not.
std::string spliced(const std::string &source, const std::string &donor, std::mt19937 &random);

} // namespace klineage::fuzz
