// Signature: what a launcher takes, read from the host side of a unit.
#pragma once
#include "source/unit.h"
#include "workload/workload.h"

namespace klineage {

/// One parameter of a launcher.
struct SignatureParameter {
  std::string name;
  ElementType type = ElementType::F32;
  bool pointer = false;
  bool constant = false;      ///< Pointer to const.
  unsigned vectorWidth = 1;   ///< float4 * is a buffer of f32 in groups of four.
  std::string spelling;       ///< Its type as written, for a launcher of our own.
  const clang::ParmVarDecl *decl = nullptr;
};

/// The launcher that is called, and the kernel behind it. Both declarations belong to the host AST.
struct Signature {
  const clang::FunctionDecl *launcher = nullptr; ///< Null when the file has none.
  const clang::FunctionDecl *kernel = nullptr;   ///< The first that the launcher launches; null when it launches none that is seen.
  std::string entry;
  std::vector<SignatureParameter> parameters;    ///< Without the stream.
};

/// `name` is an extern "C" host function, or a __global__ function with or without one that launches it; empty: the file's only launcher, else its only kernel.
Result<Signature> readSignature(const Unit &unit, const std::string &name);

} // namespace klineage
