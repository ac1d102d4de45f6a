// Hooks: the calls by which lowered code reaches the runtime, in their two forms.
//
// While the optimizer runs, an operation that only the runtime can do is a call of a pseudo function `klp.<name>`, with exactly
// the middle arguments of the C function `kl_<name>` in runtime_abi.h: no thread, no site, no key. Its attributes tell the optimizer
// what it may do with it. After the optimizer, instrument.cpp puts the thread before the arguments, and the site and key after them.
//
// Operations with register arrays are pseudo functions over vectors: klp.mma returns a vector, which becomes an output array.
#pragma once
#include "device/emulated/runtime_abi.h"
#include "source/clang_headers.h"
#include <string_view>

namespace klineage::emulated {

/// How the C function differs from the pseudo one.
enum class HookShape {
  Plain,        ///< kl_x(self, arguments..., site, key)
  NoKey,        ///< kl_x(self, arguments..., site)
  NoSite,       ///< kl_x(self, arguments...)
  WideLoad,     ///< klp.load.N(pointer) -> vector: kl_load and a real load
  WideStore,    ///< klp.store.N(pointer, vector)
  OutFirst,     ///< kl_x(self, out*, arguments with vectors by pointer..., site, key)
  OutAfter2,    ///< the same with two plain arguments before the out pointer
  OutAfter3,
  OutAfter4
};

struct HookInfo {
  std::string_view name;       ///< Without prefix: "shuffle".
  HookShape shape;
  kl_site_kind site;
  kl_instruction instruction;
  enum Effect { ReadsArgument, WritesArgument, Memory, Convergent } effect;
};

/// The hook that a pseudo function stands for, or null. Suffixes after the name ("klp.mma.4.4.2.4") tell overloads apart.
const HookInfo *hookOf(const llvm::Function &pseudo);
const HookInfo *hookNamed(std::string_view name);

/// Builds a call of the pseudo function `name` with the types of the arguments.
llvm::CallInst *callHook(llvm::IRBuilderBase &builder, std::string_view name, llvm::Type *result, llvm::ArrayRef<llvm::Value *> arguments);

/// Flags of kl_site_flags that ride on a call as metadata "kl.flags" until its site is made.
void setFlags(llvm::Instruction &instruction, unsigned flags);
unsigned flagsOf(const llvm::Instruction &instruction);

} // namespace klineage::emulated
