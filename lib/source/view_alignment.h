// Views of shared and global arrays: `*reinterpret_cast<float4 *>(&tile[i])` is an access with the alignment of float4.
#pragma once
#include "source/clang_headers.h"

namespace klineage {

/// Names what this project makes of Clang's device code before any device sees it. Kept runs age with it: change it with emit_ir.cpp.
inline constexpr const char *emissionRevision = "views-by-type";

/// Clang gives such an access the alignment that the array's declaration has (four bytes for float), and then four narrow accesses are what it
/// emits. nvcc takes the type's word for it and emits one wide access, which traps when the address is not aligned (CUDA C++ Programming Guide,
/// "Device Memory Accesses"). This puts a cast to void * between the two types, after which Clang does the same. Arrays of one thread keep what
/// their declaration says. To be called before code is emitted for the declaration.
void alignViewsByTheirType(clang::Decl *declaration, clang::ASTContext &context);

} // namespace klineage
