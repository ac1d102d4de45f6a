// Loops: which `for` statements are canonical, and their begin, end and step.
#include "model/values.h"

namespace klineage {

using namespace clang;

namespace {

/// What leaves or shortens an iteration, not counting inner loops' own.
struct ExitFinder : RecursiveASTVisitor<ExitFinder> {
  unsigned nesting = 0;
  bool leaves = false, continues = false;
  bool TraverseForStmt(ForStmt *s) { return nested([&] { return RecursiveASTVisitor::TraverseForStmt(s); }); }
  bool TraverseWhileStmt(WhileStmt *s) { return nested([&] { return RecursiveASTVisitor::TraverseWhileStmt(s); }); }
  bool TraverseDoStmt(DoStmt *s) { return nested([&] { return RecursiveASTVisitor::TraverseDoStmt(s); }); }
  bool TraverseSwitchStmt(SwitchStmt *s) { return nested([&] { return RecursiveASTVisitor::TraverseSwitchStmt(s); }); }
  bool TraverseLambdaExpr(LambdaExpr *) { return true; }
  bool VisitBreakStmt(BreakStmt *) { leaves |= nesting == 0; return true; }
  bool VisitContinueStmt(ContinueStmt *) { continues |= nesting == 0; return true; }
  bool VisitReturnStmt(ReturnStmt *) { leaves = true; return true; }
  bool VisitGotoStmt(GotoStmt *) { leaves = true; return true; }
  template <typename Body> bool nested(Body body) {
    ++nesting;
    bool on = body();
    --nesting;
    return on;
  }
};

const VarDecl *variableOf(const Expr *expr) {
  auto *ref = dyn_cast_or_null<DeclRefExpr>(expr ? bare(expr) : nullptr);
  return ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
}

void readPragma(const ForStmt *stmt, const Stmt *parent, const ASTContext &context, Loop &loop) {
  auto *attributed = dyn_cast_or_null<AttributedStmt>(parent);
  if (!attributed) return;
  for (const Attr *attr : attributed->getAttrs()) {
    auto *hint = dyn_cast<LoopHintAttr>(attr);
    if (!hint) continue;
    if (hint->getOption() == LoopHintAttr::Unroll)
      loop.unrollPragma = hint->getState() == LoopHintAttr::Disable ? 1 : 0; // #pragma nounroll is unroll 1.
    else if (hint->getOption() == LoopHintAttr::UnrollCount) {
      Expr::EvalResult count;
      if (hint->getValue() && !hint->getValue()->isValueDependent() && hint->getValue()->EvaluateAsInt(count, context))
        loop.unrollPragma = unsigned(count.Val.getInt().getExtValue());
    } else continue;
    SourceLocation at = hint->getRange().getBegin();
    const auto &sources = context.getSourceManager();
    if (at.isInvalid() || at.isMacroID()) continue;
    auto [file, offset] = sources.getDecomposedLoc(at);
    bool invalid = false;
    StringRef text = sources.getBufferData(file, &invalid);
    if (invalid) continue;
    size_t begin = text.rfind('\n', offset), end = text.find('\n', offset);
    begin = begin == StringRef::npos ? 0 : begin + 1;
    end = end == StringRef::npos ? text.size() : end;
    begin = text.find('#', begin);
    if (begin == StringRef::npos || begin > offset) continue;
    // The end of a token range is the start of the last token of the line.
    SourceLocation start = sources.getLocForStartOfFile(file), last = start.getLocWithOffset(begin);
    Lexer lexer(start, context.getLangOpts(), text.begin(), text.begin() + begin, text.begin() + end);
    for (Token token;;) {
      bool done = lexer.LexFromRawLexer(token);
      if (token.is(tok::eof) || sources.getFileOffset(token.getLocation()) >= end) break;
      last = token.getLocation();
      if (done) break;
    }
    loop.pragmaRange = SourceRange(start.getLocWithOffset(begin), last);
  }
}

} // namespace

const Loop *Values::loop(const ForStmt *stmt, const Frame *frame) {
  auto key = std::make_pair(stmt, frame);
  if (auto it = loopCache.find(key); it != loopCache.end()) return it->second;
  loopCache[key] = nullptr; // While it is being recognised; see canonical.
  auto found = canonical(stmt, frame);
  if (!found) return nullptr;
  for (const Frame *f = frame; f; f = f->caller)
    if (auto *call = dyn_cast_or_null<CallExpr>(f->call)) found->calls.insert(found->calls.begin(), call);
  loops.push_back(std::move(found));
  const Loop *result = loopCache[key] = loops.back().get();
  return result;
}

std::unique_ptr<Loop> Values::canonical(const ForStmt *stmt, const Frame *frame) {
  auto result = std::make_unique<Loop>();
  result->stmt = stmt;
  if (!stmt->getCond() || !stmt->getInc()) return nullptr;
  // The increment: one change of one variable, beside which others may be moved along with a comma.
  std::vector<const Expr *> parts{stmt->getInc()}, increments;
  while (!parts.empty()) {
    const Expr *e = bare(parts.back());
    parts.pop_back();
    if (auto *op = dyn_cast<BinaryOperator>(e); op && op->getOpcode() == BO_Comma) {
      parts.push_back(op->getLHS());
      parts.push_back(op->getRHS());
    } else increments.push_back(e);
  }
  auto *test = dyn_cast<BinaryOperator>(bare(stmt->getCond()));
  if (!test || !test->isComparisonOp()) return nullptr;
  for (const Expr *increment : increments) {
    const VarDecl *var = nullptr;
    if (auto *op = dyn_cast<UnaryOperator>(increment)) var = variableOf(op->getSubExpr());
    if (auto *op = dyn_cast<BinaryOperator>(increment); op && op->isAssignmentOp()) var = variableOf(op->getLHS());
    if (!var || !var->getType()->isIntegerType()) continue;
    // Of several that move, the one in the test is the loop's variable.
    struct Mentions : RecursiveASTVisitor<Mentions> {
      const VarDecl *var; bool found = false;
      bool VisitDeclRefExpr(DeclRefExpr *ref) { found |= ref->getDecl() == var; return true; }
    } mentions;
    mentions.var = var;
    mentions.TraverseStmt(const_cast<BinaryOperator *>(test));
    if (mentions.found) result->variable = var;
  }
  const VarDecl *var = result->variable;
  if (!var) return nullptr;
  const VariableFacts &facts = factsOf(var);
  if (facts.escaped || changedIn(stmt->getBody(), var)) return nullptr;

  const Expr *begin = nullptr;
  if (auto *decls = dyn_cast_or_null<DeclStmt>(stmt->getInit())) {
    for (const Decl *decl : decls->decls())
      if (decl == var) begin = var->getInit();
  } else if (auto *init = dyn_cast_or_null<Expr>(stmt->getInit())) {
    if (auto *op = dyn_cast<BinaryOperator>(bare(init)); op && op->getOpcode() == BO_Assign && variableOf(op->getLHS()) == var) begin = op->getRHS();
  }
  if (begin) result->begin = lift(begin, frame);
  else if (!stmt->getInit() || !changedIn(stmt->getInit(), var)) result->begin = liftReaching(reach(var, nullptr, stmt, frame), var, stmt, frame);
  else return nullptr;

  // While step and end are lifted, the variable stands for itself.
  std::unique_ptr<Loop> provisional = std::make_unique<Loop>();
  provisional->stmt = stmt;
  provisional->variable = var;
  AtomRef index = loopVariable(var);
  auto key = std::make_pair(stmt, frame);
  provisional->begin = result->begin;
  loopCache[key] = provisional.get();
  loopsInProgress.insert(stmt);
  struct Finish {
    std::function<void()> run;
    ~Finish() { run(); }
  } finish{[&] { loopCache[key] = nullptr; loopsInProgress.erase(stmt); }};

  int sign = 0;
  for (const Change &change : facts.changes) {
    if (!contains(stmt->getInc(), change.stmt)) continue;
    if (sign) return nullptr;
    switch (change.kind) {
    case Change::Increment: result->step = 1; sign = 1; break;
    case Change::Decrement: result->step = 1; sign = -1; break;
    case Change::Add: result->step = lift(change.amount, frame); sign = 1; break;
    case Change::Subtract: result->step = lift(change.amount, frame); sign = -1; break;
    default: return nullptr;
    }
  }
  if (!sign) return nullptr;
  if (auto c = result->step.constant(); c && *c < 0) { result->step = -*c; sign = -sign; }
  if (result->step.mentions(index) || !isNonNegative(result->step - 1)) {
    // A step over parameters is taken for positive: else the loop would not end.
    if (result->step.mentions(index) || !isNonNegative(result->step) || result->step.constant()) return nullptr;
  }

  auto op = test->getOpcode();
  IndexExpr distance = lift(test->getLHS(), frame) - lift(test->getRHS(), frame);
  auto factor = distance.coefficient(index).constant();
  IndexExpr rest = distance - IndexExpr(factor.value_or(0)) * IndexExpr::of(index);
  if (!factor || *factor == 0 || rest.mentions(index)) return nullptr;
  if (*factor < 0) { // n > i
    distance = IndexExpr(0) - distance;
    rest = IndexExpr(0) - rest;
    factor = -*factor;
    op = op == BO_LT ? BO_GT : op == BO_GT ? BO_LT : op == BO_LE ? BO_GE : op == BO_GE ? BO_LE : op;
  }
  IndexExpr bound = IndexExpr(0) - rest; // factor * i  op  bound
  if (op == BO_NE) {
    if (!(result->step == IndexExpr(1)) || *factor != 1) return nullptr;
    op = sign > 0 ? BO_LT : BO_GT;
  }
  if (sign > 0) {
    if (op == BO_LE) bound = bound + 1;
    else if (op != BO_LT) return nullptr;
    result->end = *factor == 1 ? bound : quotient(bound + IndexExpr(*factor - 1), *factor);
  } else {
    if (*factor != 1 || !(result->step == IndexExpr(1))) return nullptr;
    if (op == BO_GT) bound = bound + 1;
    else if (op != BO_GE) return nullptr;
    result->end = result->begin + 1;
    result->begin = bound;
    result->descending = true;
  }
  for (const AtomRef &atom : result->end.atoms())
    if (atom->kind == Atom::Variable && atom->decl && changedIn(stmt, atom->decl)) return nullptr;
  for (const AtomRef &atom : result->step.atoms())
    if (atom->kind == Atom::Variable && atom->decl && changedIn(stmt, atom->decl)) return nullptr;

  ExitFinder exits;
  exits.TraverseStmt(const_cast<Stmt *>(stmt->getBody()));
  result->leavesEarly = exits.leaves;
  result->hasContinue = exits.continues;
  readPragma(stmt, parent(stmt), context, *result);
  return result;
}

std::optional<int64_t> Loop::tripCount() const {
  auto span = (end - begin).constant(), by = step.constant();
  if (!span || !by || *by <= 0) return std::nullopt;
  return *span <= 0 ? 0 : (*span + *by - 1) / *by;
}

} // namespace klineage
