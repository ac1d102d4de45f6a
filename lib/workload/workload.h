// Workload: workload.json (schema klineage.workload/1) read, checked and expanded into concrete instances.
#pragma once
#include "support/result.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace klineage {

enum class ElementType { F32, F64, F16, BF16, I8, U8, I32, U32, I64, U64 };
size_t sizeOf(ElementType type);
const char *name(ElementType type);

enum class ArgumentKind { Input, Output, InOut, Scalar };

/// What an input buffer is filled with. The names are the data sets of docs/workload.md.
struct Fill {
  std::string kind = "uniform"; ///< uniform, normal, integers, large_mean, minus_infinity_first, masked_row, with_nan, zeros, ones, permutation
  double low = -1, high = 1;
};

struct Argument {
  std::string name;
  ArgumentKind kind = ArgumentKind::Input;
  ElementType type = ElementType::F32;
  std::vector<std::string> shape;   ///< Expressions over the axes; empty for scalars.
  std::string value;                ///< Scalars: an expression over the axes, or a number.
  Fill fill;
  unsigned alignment = 256;         ///< Bytes.
  unsigned offset = 0;              ///< Elements past an aligned address.
  bool mayPad = false, mayAlias = false;
};

struct Instance {
  std::string name;
  std::map<std::string, int64_t> axes;
  uint64_t seed = 1;
  bool check = true, profile = false;
  std::vector<std::string> devices; ///< Empty: all.
};

struct Tolerance {
  double relative = 1e-5; ///< Per element, of the larger of |reference| and the reference's root mean square.
  double norm = 1e-6;     ///< ‖error‖₂ / ‖reference‖₂.
  bool exact = false;     ///< Bitwise, for integers and indices.
};

struct Workload {
  std::string name, entry, family;  ///< `entry` is the extern "C" launcher; `family` one of the closed list (docs/families.md).
  std::filesystem::path folder;     ///< The kernel folder.
  std::vector<std::string> sources; ///< Relative to the folder; the first is the main file.
  std::vector<std::string> includeFolders, rewriteRoots, defines;
  std::vector<Argument> arguments;
  std::vector<std::string> axes;
  std::vector<Instance> instances;
  std::string reference;            ///< File with the reference, or empty: the kernel's own expert version is the oracle ("self").
  Tolerance tolerance;
  std::vector<std::string> probes;
  std::string hash;                 ///< Of workload.json and the reference's text.
};

/// Reads <folder>/workload.json. Errors name the file, the line, what is wrong and how to mend it; unknown keys are errors.
Result<Workload> loadWorkload(const std::filesystem::path &folder);

/// Value of an expression over axes: integers, names, + - * / % ( ), ceil_div(a, b), min, max.
Result<int64_t> evaluate(const std::string &expression, const std::map<std::string, int64_t> &axes);

/// One argument of one instance with its bytes.
struct ArgumentBytes {
  std::string bytes;   ///< Scalars: the value in its own type. Buffers: the contents before the call (outputs: empty).
  size_t count = 0;    ///< Elements.
};
struct Inputs {
  std::vector<ArgumentBytes> arguments;
};
/// Deterministic in (workload, instance, seed).
Result<Inputs> makeInputs(const Workload &workload, const Instance &instance, uint64_t seed);

} // namespace klineage
