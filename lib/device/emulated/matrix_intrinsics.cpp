#include "device/emulated/translate.h"
namespace klineage::emulated {
llvm::Value *translateMatrixIntrinsic(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef) { return nullptr; }
} // namespace klineage::emulated
