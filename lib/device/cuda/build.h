// Build: nvcc makes a version into a shared library, launcher and device code whole, for the device's own architecture.
#pragma once
#include "device/device.h"

namespace klineage::cuda {

/// A version as it was built. The library is kept in cacheFolder()/cuda/<key>/ with build.json, by a hash of sources, options and compiler.
struct Built {
  Build build;                    ///< With ptxas's report among its resources.
  std::filesystem::path library;  ///< version.so, when build.reason is None.
};

/// Thread-safe: equal versions asked for at once are built once (each process by itself; the folder is renamed into place whole).
/// `architecture` is what -gencode names, "90a".
Built buildVersion(const SourceSet &sources, const std::string &entry, const std::string &architecture);

/// The file that nvcc compiles: the version's main file, included, and behind it one function the worker can call without knowing the
/// launcher's parameters. Parameters are read at the types that the launcher declares.
std::string thunkText(const std::string &mainFile, const std::string &entry);

/// Mnemonics of the machine code, counted with their suffixes ("LDG.E.128": 4), from the text of cuobjdump --dump-sass. Predicates and operands
/// are left out, and so is the padding of NOPs behind the last instruction.
std::map<std::string, double> countSass(const std::string &text);

/// The reason for what nvcc says on standard error when it fails: resources_exceeded where ptxas found too much of something.
Reason reasonOfFailure(const std::string &said);

} // namespace klineage::cuda
