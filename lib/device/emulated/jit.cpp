#include "device/emulated/jit.h"
#include "device/emulated/host_calls.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

namespace klineage::emulated {
namespace {

std::string textOf(llvm::Error error) { return llvm::toString(std::move(error)); }

Result<llvm::orc::ThreadSafeModule> readModule(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return ourFault("cannot read " + path);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = llvm::parseBitcodeFile(**buffer, *context);
  if (!module) return ourFault("not LLVM bitcode: " + path + ": " + textOf(module.takeError()));
  return llvm::orc::ThreadSafeModule(std::move(*module), std::move(context));
}

llvm::Error define(llvm::orc::LLJIT &jit, llvm::orc::JITDylib &library, const std::vector<NativeSymbol> &symbols) {
  llvm::orc::SymbolMap map;
  for (const NativeSymbol &symbol : symbols)
    map[jit.mangleAndIntern(symbol.name)] = {llvm::orc::ExecutorAddr::fromPtr(symbol.address), llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  return library.define(llvm::orc::absoluteSymbols(std::move(map)));
}

} // namespace

Jit::Jit() = default;
Jit::~Jit() = default;

Result<std::unique_ptr<Jit>> Jit::load(const std::string &deviceBitcode, const std::string &hostBitcode) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto target = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!target) return ourFault("no host target: " + textOf(target.takeError()));
  target->setCodeGenOptLevel(llvm::CodeGenOptLevel::Less);
  auto made = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(*target).setLinkProcessSymbolsByDefault(false).setPlatformSetUp(llvm::orc::setUpInactivePlatform).create();
  if (!made) return ourFault("no JIT: " + textOf(made.takeError()));
  std::unique_ptr<Jit> result(new Jit);
  result->jit = std::move(*made);
  llvm::orc::LLJIT &jit = *result->jit;

  // Two libraries: device code sees the hooks alone, the launcher the host functions alone.
  auto deviceLibrary = jit.createJITDylib("device"), hostLibrary = jit.createJITDylib("host");
  if (!deviceLibrary) return ourFault(textOf(deviceLibrary.takeError()));
  if (!hostLibrary) return ourFault(textOf(hostLibrary.takeError()));
  if (llvm::Error error = define(jit, *deviceLibrary, deviceSymbols())) return ourFault(textOf(std::move(error)));
  if (llvm::Error error = define(jit, *hostLibrary, emulated::hostSymbols())) return ourFault(textOf(std::move(error)));
  for (auto &[path, library] : {std::pair(deviceBitcode, &*deviceLibrary), std::pair(hostBitcode, &*hostLibrary)}) {
    auto module = readModule(path);
    if (!module) return module.error();
    if (llvm::Error error = jit.addIRModule(*library, std::move(*module))) return ourFault(textOf(std::move(error)));
  }
  auto find = [&](llvm::orc::JITDylib &library, const char *name) -> Result<void *> {
    auto address = jit.lookup(library, name);
    if (!address) return refusal("unsupported_symbol: " + textOf(address.takeError()));
    return address->toPtr<void *>();
  };
  auto table = find(*deviceLibrary, "kl_module_table");
  if (!table) return table.error();
  auto call = find(*hostLibrary, "kl_host_call");
  if (!call) return call.error();
  auto symbols = find(*hostLibrary, "kl_host_symbols"), parameters = find(*hostLibrary, "kl_host_parameters");
  if (!symbols) return symbols.error();
  if (!parameters) return parameters.error();
  result->module = static_cast<const kl_module *>(*table);
  result->hostCall = reinterpret_cast<int (*)(void **)>(*call);
  result->hostSymbols = static_cast<const HostSymbol *>(*symbols);
  result->hostParameters = *static_cast<const unsigned *>(*parameters);
  if (result->module->version != KL_ABI_VERSION) return ourFault("the lowered module is of another version of the runtime's interface");
  return result;
}

} // namespace klineage::emulated
