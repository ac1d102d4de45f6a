// Module tables: collects sites, blocks, kernels and globals while a module is instrumented, and writes them into it as constants
// of the types in runtime_abi.h.
#pragma once
#include "device/emulated/runtime_abi.h"
#include "source/clang_headers.h"

namespace klineage::emulated {

class ModuleTables {
public:
  explicit ModuleTables(llvm::Module &module) : module(module) {}

  unsigned addSite(kl_site_kind kind, unsigned bytes, unsigned space, unsigned flags, const llvm::DebugLoc &location);
  /// The accesses of a site stay inside one shared variable.
  void keepInside(unsigned site, unsigned begin, unsigned end) { sites[site].info.sharedBegin = begin, sites[site].info.sharedEnd = end; }

  struct Kernel {
    std::string name;
    llvm::Function *entry = nullptr;
    std::vector<kl_block> blocks;
    unsigned staticShared = 0, maxThreads = 0, parameterBytes = 0;
    unsigned cluster[3] = {0, 0, 0};
  };
  void addKernel(Kernel kernel) { kernels.push_back(std::move(kernel)); }

  /// Defines `kl_module_table`. Call it when the module's data layout is the host's.
  void write();

private:
  llvm::Constant *text(const std::string &string);
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> rows, llvm::StructType *type, const char *name);

  struct Site {
    kl_site info;
    std::string file;
  };
  llvm::Module &module;
  std::vector<Site> sites;
  std::vector<Kernel> kernels;
  std::map<std::string, llvm::Constant *> texts;
};

} // namespace klineage::emulated
