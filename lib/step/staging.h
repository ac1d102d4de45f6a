// Staging buffers: arrays that hold copies of what lies elsewhere, and what a read of one had to do without it.
#pragma once
#include "step/known.h"
#include "step/remap.h"
#include "step/step.h"
#include <variant>

namespace klineage {

/// One statement that fills a staging buffer.
struct StagedCopy {
  const Access *write = nullptr;
  const clang::Expr *value = nullptr;      ///< What it stores.
  const clang::Stmt *statement = nullptr;  ///< The whole assignment.
  std::vector<const Loop *> ownLoops;      ///< Loops around the write that are not around the reads.
  std::vector<Guard> guards;               ///< Guards of the write that are not guards of the reads.
  const clang::Expr *otherwise = nullptr;  ///< What the else branch stores instead (a zero fill), or null.
  ResolvedValue resolved;                  ///< The value, followed into the helper that returned it; empty: `value` says it all.
  clang::SourceLocation since;             ///< Where the value was made: what it names must not change from there to the read.
};

/// A buffer of which every read sees one of the copies, made in the same iteration of the loops around both.
struct Staging {
  const KernelModel *kernel = nullptr;
  const Buffer *buffer = nullptr;
  std::vector<StagedCopy> copies;
  std::vector<const Access *> reads;
  std::vector<const Loop *> common;        ///< Loops around every copy and every read.
  std::vector<const clang::ValueDecl *> sources; ///< Global buffers that the copies read.
  std::vector<const clang::Stmt *> fillStatements; ///< Everything that writes the buffer.
};

/// A decline at a place of the kernel.
Decline declineAt(const KernelModel &kernel, std::string reason, const clang::Stmt *at, std::string text);
Decline declineAt(const KernelModel &kernel, std::string reason, const clang::Decl *at, std::string text);

/// Why a buffer is not a staging buffer. `quiet` when it does not even look like one (a reduction's scratch).
struct NotStaged {
  Decline decline;
  bool quiet = false;
};
std::variant<Staging, NotStaged> stagingOf(const KernelModel &kernel, const Buffer &buffer);

/// The elements that a copy brings, also through the locals that its value names or the helper that returned it.
std::vector<const Access *> sourcesOf(const KernelModel &kernel, const StagedCopy &copy);
/// A number, also converted.
bool isConstant(const clang::Expr *expr);

/// What stands instead of a read: the value that its copy stored, said at the read's place.
Result<Piece> withoutStaging(const Staging &staging, const Access &read);

} // namespace klineage
