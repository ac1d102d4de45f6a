// Jit: compiles the two lowered modules for the host and finds what the worker needs in them. Only ever used in the worker process,
// because the code generator ends the process on what it cannot do.
#pragma once
#include "device/emulated/lowering.h"
#include "device/emulated/runtime_abi.h"

namespace llvm::orc {
class LLJIT;
}

namespace klineage::emulated {

class Jit {
public:
  ~Jit();
  /// Both files hold LLVM bitcode as lowerDevice and lowerHost leave it.
  static Result<std::unique_ptr<Jit>> load(const std::string &deviceBitcode, const std::string &hostBitcode);

  const kl_module *module = nullptr;
  int (*hostCall)(void **arguments) = nullptr;
  unsigned hostParameters = 0;
  const HostSymbol *hostSymbols = nullptr; ///< Ends with a row of nulls.

private:
  Jit();
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

} // namespace klineage::emulated
