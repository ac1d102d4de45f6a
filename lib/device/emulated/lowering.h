// Lowering: NVPTX IR as Clang emits it becomes host IR that calls the runtime (runtime_abi.h).
//
// Four passes over the device module, in this order:
//   prepare     every device function inlined into its kernels; inline PTX and NVVM intrinsics become plain IR or hooks; each aligned
//               4-, 8- or 16-byte copy or vector access becomes one opaque access
//   optimize    like -O2, but nothing that changes the number or width of memory accesses, and no unrolling that no pragma asked for
//   instrument  sites, keys and hooks before each access that is not provably private; block counters
//   retarget    the host's triple and data layout, shared variables as offsets, the tables of runtime_abi.h
// Each answers with a named refusal (unsupported_ptx, unsupported_intrinsic, unsupported_recursion, ...) with file and line.
#pragma once
#include "support/result.h"
#include "source/clang_headers.h"

namespace llvm {
class TargetMachine;
}

namespace klineage::emulated {

/// Lowers in place. On success the module defines `kl_module_table` (a kl_module) and is ready for host code generation.
Status lowerDevice(llvm::Module &device, unsigned sm);

/// The first two passes alone.
Status optimizedDevice(llvm::Module &module, unsigned sm);

/// Prepares the launcher's module: keeps what `entry` reaches, adds `kl_host_call(void **arguments, int *status)` and the table
/// `kl_host_symbols` (kernels by stub, variables by shadow). Refuses calls of functions outside the allowed list by name.
Status lowerHost(llvm::Module &host, const std::string &entry);

/// What lowerHost tells the runtime about host symbols.
struct HostSymbol {
  const char *deviceName;
  void *hostAddress;
  uint32_t isKernel;
};

// The passes, for tests.
Status prepareDevice(llvm::Module &device, unsigned sm);
void optimizeDevice(llvm::Module &device, llvm::TargetMachine &target);
Status instrumentDevice(llvm::Module &device, llvm::TargetMachine &target);

/// "file:line" of an instruction's debug location, or the function's, or "".
std::string whereIs(const llvm::Instruction &instruction);

/// Where a reader looks for an operation: the innermost inlined place that is not in a header of Clang or CUDA.
llvm::DebugLoc readersPlace(const llvm::DebugLoc &location);

/// Wide accesses: makes memcpy and vector accesses opaque; `revealPrivate` turns those on allocas back into ordinary ones.
void makeWideAccesses(llvm::Function &function);
bool revealPrivate(llvm::Function &function);

/// Puts a hook before each access at a known place outside its local variable. Later passes would take such an access out, as it is undefined.
bool reportLeavingLocals(llvm::Function &function);

/// Inline PTX and NVVM intrinsics to IR and hooks; both return what they could not do.
Status translateInlinePtx(llvm::Function &function);
Status translateIntrinsics(llvm::Function &function);

/// Whether every object that the pointer may stand for is an alloca of this function.
bool isPrivate(const llvm::Value *pointer);

} // namespace klineage::emulated
