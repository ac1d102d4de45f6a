// Facts: the functions that conditions call, and the values they pass about. Inside the facts room only.
#pragma once
#include "facts/condition.h"

namespace klineage {

/// A value inside a condition.
struct Operand {
  enum Kind { Missing, Number, Real, Declaration, Expression, Statement, LoopRef, Text, Verdict } kind = Missing;
  IndexExpr number;
  double real = 0;
  const clang::ValueDecl *decl = nullptr;
  const clang::Expr *expr = nullptr;
  const clang::Stmt *stmt = nullptr;
  const Loop *loop = nullptr;
  Answer verdict;
  std::string label; ///< The condition's own words for it.
  std::string why;   ///< Missing: what is not known. Number: where it comes from, or empty.

  static Operand of(IndexExpr value, std::string why = {}) { Operand o; o.kind = Number; o.number = std::move(value); o.why = std::move(why); return o; }
  static Operand of(Answer answer) { Operand o; o.kind = Verdict; o.verdict = std::move(answer); return o; }
  static Operand missing(std::string why) { Operand o; o.why = std::move(why); return o; }
};

struct Fact {
  const char *name, *signature, *meaning;
  unsigned minimum, maximum; ///< Arguments.
  Operand (*evaluate)(const FactScope &scope, const std::vector<Operand> &arguments);
};

/// The tables of the three files of facts, joined and sorted by name.
const std::vector<Fact> &allFacts();
void addIndexFacts(std::vector<Fact> &table);
void addMemoryFacts(std::vector<Fact> &table);
void addLaunchFacts(std::vector<Fact> &table);

inline Answer holds(std::string why) { return {Truth::Holds, std::move(why)}; }
inline Answer violated(std::string why) { return {Truth::Violated, std::move(why)}; }
inline Answer unknown(std::string why) { return {Truth::Unknown, std::move(why)}; }

/// The operand as an integer over the kernel's quantities; empty when it is none.
std::optional<IndexExpr> numberOf(const FactScope &scope, const Operand &operand);

/// One launch with one instance of the workload: the expression with all that is known put in.
struct Case {
  IndexExpr value;
};
/// All cases; `symbolic` when no workload or no launch is known, and then there is one case, the expression itself.
struct Cases {
  std::vector<Case> cases;
  bool symbolic = true;
  std::string why; ///< Why symbolic.
};
Cases casesOf(const FactScope &scope, const IndexExpr &expr);

/// Asks a question of every case: all hold, one is violated, or it is unknown. `say` tells a case's value in words.
Answer overCases(const FactScope &scope, const Operand &operand, const IndexExpr &expr, const std::function<Truth(const IndexExpr &)> &ask,
                 const std::string &property, const std::string &negation);

/// The number of elements of a launcher's buffer, as a quantity that cases resolve.
IndexExpr elementsOf(const clang::ValueDecl *buffer);

/// "n", "the 3rd argument of launch": the launcher's parameter that a kernel's pointer comes from, in every launch that is known.
struct Origin {
  const Launch *launch;
  std::string argument;             ///< Empty: not known.
  IndexExpr bytes;                  ///< Offset from it.
};
std::vector<Origin> originsOf(const FactScope &scope, const clang::ValueDecl *buffer);

std::string spelledOr(const FactScope &scope, const IndexExpr &expr);

} // namespace klineage
