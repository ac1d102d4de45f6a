#include "device/emulated/lowering.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include <mutex>

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
}

namespace klineage::emulated {
namespace {

/// The GPU's target machine tells the optimizer what diverges and what address spaces mean; it never generates code.
std::unique_ptr<llvm::TargetMachine> gpuMachine(const llvm::Triple &triple, unsigned sm) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
  });
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "sm_" + std::to_string(sm), "", llvm::TargetOptions(), llvm::Reloc::PIC_));
}

constexpr const char *hostLayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128";

} // namespace

namespace {

Status optimizedFor(llvm::Module &device, llvm::TargetMachine *machine, unsigned sm) {
  if (!machine) return ourFault("LLVM was built without the NVPTX target", "", "install the distribution's llvm-22 packages");
  if (Status status = prepareDevice(device, sm); !status) return status;
  optimizeDevice(device, *machine);
  return Done{};
}

} // namespace

Status optimizedDevice(llvm::Module &device, unsigned sm) { return optimizedFor(device, gpuMachine(device.getTargetTriple(), sm).get(), sm); }

Status lowerDevice(llvm::Module &device, unsigned sm) {
  auto machine = gpuMachine(device.getTargetTriple(), sm);
  if (Status status = optimizedFor(device, machine.get(), sm); !status) return status;
  if (Status status = instrumentDevice(device, *machine); !status) return status;
  device.setTargetTriple(llvm::Triple(llvm::sys::getDefaultTargetTriple()));
  device.setDataLayout(hostLayout);
  std::string text;
  llvm::raw_string_ostream out(text);
  if (llvm::verifyModule(device, &out)) return ourFault("the lowered module is not well-formed: " + text.substr(0, 400));
  return Done{};
}

} // namespace klineage::emulated
