// The running maximum and rescaled sum of an online softmax: one pass, and the two passes that it stands for.
#pragma once
#include "step/reduction.h"

namespace klineage {

/// Neighbouring statements of one list that together carry (maximum, sum) through a row in one pass.
struct OnlinePass {
  const clang::VarDecl *maximum = nullptr, *sum = nullptr;
  std::vector<const clang::Stmt *> statements; ///< Loops, or an if whose branches hold such loops.
};
/// All of a kernel; `declines` says why a loop that rescales a sum is none.
std::vector<OnlinePass> findOnline(const Version &version, const KernelModel &kernel, std::vector<Decline> &declines);
Result<Edits> toTwoPasses(const Version &version, const KernelModel &kernel, const OnlinePass &pass);

/// A loop that finds a maximum and a loop that sums exponentials relative to it, over the same elements.
struct TwoPasses {
  const clang::VarDecl *maximum = nullptr, *sum = nullptr;
  const clang::Stmt *first = nullptr, *second = nullptr; ///< The loops.
  std::vector<const clang::Stmt *> between;              ///< Declarations, and the sum's start.
  const clang::Stmt *update = nullptr;                   ///< The statement of the first loop that takes the maximum.
  const clang::Expr *element = nullptr;                  ///< What it is taken of.
  std::string exponential;                               ///< The function that the second loop calls.
};
std::vector<TwoPasses> findTwoPasses(const Version &version, const KernelModel &kernel);
Result<Edits> toOnline(const Version &version, const KernelModel &kernel, const TwoPasses &passes);

} // namespace klineage
