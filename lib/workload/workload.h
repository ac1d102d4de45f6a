// Workload: workload.json (schema klineage.workload/1) read, checked and expanded into concrete instances.
#pragma once
#include "support/result.h"
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace klineage {

enum class ElementType { F32, F64, F16, BF16, I8, U8, I32, U32, I64, U64 };
size_t sizeOf(ElementType type);
const char *name(ElementType type);                  ///< "f32", "bf16", ... as workload.json spells it.
bool isFloating(ElementType type);
std::optional<ElementType> elementTypeNamed(std::string_view name);

/// 16-bit floats by their bits; to nearest even, past the largest value to infinity.
uint16_t toHalf(double value);
uint16_t toBFloat16(double value);
double fromHalf(uint16_t bits);
double fromBFloat16(uint16_t bits);
/// One stored element. 64-bit integers beyond 2^53 lose their low bits in a double.
double loadElement(ElementType type, const char *at);
void storeElement(ElementType type, char *at, double value);
std::vector<double> toDoubles(ElementType type, std::string_view bytes);

/// Scratch is memory that the launcher may use as it likes: undefined before the call, compared with nothing after it.
enum class ArgumentKind { Input, Output, InOut, Scalar, Scratch };

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

struct Tolerance {
  double relative = 1e-5; ///< Per element, of the larger of |reference| and the reference's root mean square.
  double norm = 1e-6;     ///< ‖error‖₂ / ‖reference‖₂.
  bool exact = false;     ///< Bitwise, for integers and indices.
};

struct Instance {
  std::string name;
  std::map<std::string, int64_t> axes;
  uint64_t seed = 1;
  bool check = true, profile = false;
  std::vector<std::string> devices;     ///< Empty: all.
  std::map<std::string, Fill> fills;    ///< By argument name: another data set than the argument's own.
  unsigned sampleBlocks = 0;            ///< Profile on the emulated device: a spread sample of this many blocks a launch; 0 is all.
  std::optional<Tolerance> tolerance;   ///< In place of the workload's, for data that no form computes as exactly.
};

struct Workload {
  std::string name, entry, family;  ///< `entry` is the extern "C" launcher; `family` one of the closed list (docs/families.md).
  std::filesystem::path folder;     ///< The kernel folder.
  std::vector<std::string> sources; ///< Relative to the folder; the first is the main file.
  std::vector<std::string> includeFolders, rewriteRoots, defines;
  std::vector<Argument> arguments;
  std::vector<std::string> axes;
  std::map<std::string, int64_t> multiples; ///< The contract: an axis named here is a multiple of this in every call.
  std::vector<Instance> instances;
  std::string reference;            ///< File with the reference, or empty: the kernel's own expert version is the oracle ("self").
  Tolerance tolerance;
  std::vector<std::string> probes;
  std::vector<std::string> guessed; ///< JSON pointers of what `klineage init` guessed and nobody has confirmed.
  std::string hash;                 ///< Of workload.json and the reference's text.

  const Tolerance &toleranceOf(const Instance &instance) const { return instance.tolerance ? *instance.tolerance : tolerance; }
  const Fill &fillOf(const Argument &argument, const Instance &instance) const {
    auto other = instance.fills.find(argument.name);
    return other == instance.fills.end() ? argument.fill : other->second;
  }
};

/// The closed lists, as docs/families.md and docs/workload.md explain them.
const std::vector<std::string> &families();
const std::vector<std::string> &fillKinds();
const std::vector<std::string> &probeNames();

/// Reads <folder>/workload.json. Errors name the file, the line, what is wrong and how to mend it; unknown keys are errors.
Result<Workload> loadWorkload(const std::filesystem::path &folder);
/// The same for a file of another name; its folder is the kernel folder.
Result<Workload> loadWorkloadFile(const std::filesystem::path &file);

/// Value of an expression over axes: integers, names, + - * / % ( ), ceil_div(a, b), min, max.
Result<int64_t> evaluate(const std::string &expression, const std::map<std::string, int64_t> &axes);

/// The same over doubles, for floating scalars; numbers may have a fraction and an exponent, and sqrt exists.
Result<double> evaluateReal(const std::string &expression, const std::map<std::string, int64_t> &axes);

/// Elements of a buffer argument in an instance, and its last extent (the length of a row; the count itself for a vector).
struct Extent {
  size_t count = 0, row = 0;
};
Result<Extent> extentOf(const Argument &argument, const Instance &instance);

/// One argument of one instance with its bytes.
struct ArgumentBytes {
  std::string bytes;   ///< Scalars: the value in its own type. Buffers: the contents before the call (outputs and scratch: empty).
  size_t count = 0;    ///< Elements.
};
struct Inputs {
  std::vector<ArgumentBytes> arguments;
};
/// Deterministic in (workload, instance, seed).
Result<Inputs> makeInputs(const Workload &workload, const Instance &instance, uint64_t seed);

/// The reference (docs/workload.md): `extern "C" void reference(...)` with one parameter a launcher argument (none for scratch), in the same order:
///   input   const double *   output   double *   inout   double * (holds the values before the call)
///   scalar  double when its type is floating, long long when not
/// This is C++ text that includes the reference's file and adds one function the gate can call without knowing its parameters:
///   extern "C" void klineage_reference(void *const *arguments);
/// where arguments[i] points at the doubles of a buffer, or at the double or long long of a scalar. A reference whose
/// parameters do not fit the workload fails to compile there, with a line in the reference.
std::string referenceCaller(const Workload &workload);

} // namespace klineage
