// What a test of the thread's index becomes when one thread does the work of its whole group.
#pragma once
#include "step/one_thread_a_row.h"

namespace klineage {

/// A test, or a value, that one thread cannot stand in for; the stretches of the reductions are left out.
struct ThreadTest {
  const clang::Stmt *at = nullptr;
  std::string why;
};
std::optional<ThreadTest> unsureThreadTest(const RowBlock &rows, int64_t group, const std::set<const clang::Stmt *> &reductions);

} // namespace klineage
