// For the bundle alone: Debian builds LLVM with Polly inside, and its static archives ask for Polly's registration without bringing it. Nothing here uses Polly.
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo();
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  llvm::PassPluginLibraryInfo info{};
  info.APIVersion = LLVM_PLUGIN_API_VERSION;
  info.PluginName = "none";
  info.PluginVersion = "";
  info.RegisterPassBuilderCallbacks = [](llvm::PassBuilder &) {};
  return info;
}
