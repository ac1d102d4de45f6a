#include "device/emulated/code_hash.h"
#include "device/emulated/lowering.h"
#include "source/unit.h"
#include "support/hash.h"
#include "llvm/IR/DebugInfo.h"

namespace klineage {
namespace {

std::string textOf(llvm::Module &module) {
  llvm::StripDebugInfo(module);
  module.setSourceFileName("");
  module.setModuleIdentifier("");
  std::string text;
  llvm::raw_string_ostream out(text);
  module.print(out, nullptr);
  return text;
}

} // namespace

Result<std::string> codeHash(const SourceSet &sources, unsigned sm) {
  FrontEndOptions options;
  options.sm = sm;
  Hasher hasher;
  llvm::LLVMContext context;
  auto device = emitIR(sources, Side::Device, context, options);
  if (!device) return device.error();
  if (Status status = emulated::optimizedDevice(**device, sm); !status) return status.error();
  auto host = emitIR(sources, Side::Host, context, options);
  if (!host) return host.error();
  hasher.add("device", textOf(**device)).add("host", textOf(**host));
  return hasher.hex();
}

} // namespace klineage
