// Pieces that the translators of intrinsics, library calls and inline PTX share.
#pragma once
#include "source/clang_headers.h"

namespace klineage::emulated {

/// Any scalar of at most 64 bits as an i64, and back.
llvm::Value *toBits(llvm::IRBuilderBase &builder, llvm::Value *value);
llvm::Value *fromBits(llvm::IRBuilderBase &builder, llvm::Value *bits, llvm::Type *type);

/// prmt.b32 in its default mode.
llvm::Value *permuteBytes(llvm::IRBuilderBase &builder, llvm::Value *a, llvm::Value *b, llvm::Value *selector);

/// ldmatrix, stmatrix, mma and wmma intrinsics; `name` is what follows "llvm.nvvm.". Null when it is none of them.
llvm::Value *translateMatrixIntrinsic(llvm::IRBuilder<> &builder, llvm::CallInst &call, llvm::StringRef name);

/// printf, assert, malloc, and those functions of libdevice that are one instruction. Null leaves the call as it is.
llvm::Value *translateLibraryCall(llvm::CallInst &call);

/// Vector of words from registers of 32 bits, and a word of it as another type.
llvm::Value *packWords(llvm::IRBuilderBase &builder, llvm::ArrayRef<llvm::Value *> values);

} // namespace klineage::emulated
