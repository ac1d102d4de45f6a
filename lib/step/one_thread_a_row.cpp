#include "step/one_thread_a_row.h"
#include "step/source_text.h"
#include "step/statements.h"
#include "step/specialize.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

const int threadsOfPlainForm = 128;

std::optional<int64_t> constantOf(const Expr *expr, const ASTContext &ast) {
  Expr::EvalResult result;
  if (expr->isValueDependent() || !expr->getType()->isIntegerType() || !expr->EvaluateAsInt(result, ast)) return std::nullopt;
  return result.Val.getInt().getExtValue();
}

bool simple(const std::string &text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; });
}

std::string parenthesized(const std::string &text) { return simple(text) ? text : "(" + text + ")"; }

} // namespace

bool isBarrier(const Stmt *stmt) {
  const auto *call = dyn_cast<CallExpr>(stmt);
  if (!call) return false;
  std::string name = calleeName(call);
  return name == "__syncthreads" || name == "__syncwarp" || (isa<CXXMemberCallExpr>(call) && name == "sync");
}

std::pair<std::string, unsigned> threadBuiltin(const Expr *expr) {
  const auto *pseudo = dyn_cast<PseudoObjectExpr>(expr);
  if (!pseudo) return {};
  const auto *property = dyn_cast<MSPropertyRefExpr>(pseudo->getSyntacticForm()->IgnoreParens());
  if (!property) return {};
  const Expr *base = property->getBaseExpr()->IgnoreParens();
  if (const auto *opaque = dyn_cast<OpaqueValueExpr>(base)) base = opaque->getSourceExpr()->IgnoreParens();
  const auto *ref = dyn_cast<DeclRefExpr>(base);
  std::string axis = property->getPropertyDecl()->getNameAsString();
  if (!ref || axis.size() != 1 || axis[0] < 'x' || axis[0] > 'z') return {};
  return {ref->getDecl()->getNameAsString(), unsigned(axis[0] - 'x')};
}

bool mentionsBuiltin(const Stmt *stmt, std::string_view name) {
  bool found = false;
  walk(stmt, [&](const Stmt *inner) {
    if (const auto *expr = dyn_cast<Expr>(inner)) found = found || threadBuiltin(expr).first == name;
    return !found;
  });
  return found;
}

std::string gridText(const Unit &unit, const Launch &launch) {
  const Expr *grid = launch.grid;
  for (;;) {
    if (const auto *cast = dyn_cast<CastExpr>(grid)) { grid = cast->getSubExpr(); continue; }
    if (const auto *cleanups = dyn_cast<ExprWithCleanups>(grid)) { grid = cleanups->getSubExpr(); continue; }
    if (const auto *temporary = dyn_cast<MaterializeTemporaryExpr>(grid)) { grid = temporary->getSubExpr(); continue; }
    if (const auto *made = dyn_cast<CXXConstructExpr>(grid); made && made->getNumArgs()) { grid = made->getArg(0); continue; }
    break;
  }
  std::string text = unit.text(grid, Side::Host);
  if (grid->getType()->isRecordType()) text += ".x";
  return parenthesized(text);
}

namespace {

/// Writes the kernel and its launches for one thread a row.
class RowWriter {
public:
  RowWriter(const Version &version, const RowBlock &rows)
      : version(version), unit(version.unit), rows(rows), kernel(*rows.kernel), ast(unit.ast(Side::Device)), body(kernel.function->getBody()) {}

  Result<Edits> write() {
    findOnes();
    if (inThreads()) nameRow();
    Specializer specializer(unit, [&](const Expr *expr) { return rule(expr); });
    this->specializer = &specializer;
    if (rowDeclaration) {
      auto place = wholeStatement(unit, rowDeclaration);
      if (!place) return place.error();
      specializer.replace(rowDeclaration, "const int " + row + " = blockIdx.x * blockDim.x + threadIdx.x;" + (guarded() ? "" : "\n" + guard()));
    }
    walk(body, [&](const Stmt *stmt) {
      if (isBarrier(stmt)) specializer.replace(stmt, "");
      return true;
    });
    for (const ReductionRegion &region : rows.regions)
      if (Status done = takeOut(region, specializer); !done) return done.error();
    for (const DeclStmt *decls : rows.sharedScalars) {
      auto place = wholeStatement(unit, decls);
      if (!place) return place.error();
      std::string text = textAt(unit, *place);
      if (size_t at = text.find("__shared__"); at != std::string::npos) specializer.replace(decls, text.erase(at, 10));
    }
    auto made = specializer.edits(body);
    if (!made) return made.error();
    edits = std::move(*made);
    auto open = unit.place(body);
    if (!open) return open.error();
    if (inThreads() && !rowDeclaration)
      edits.push_back({open->file, open->offset + 1, 0, "\nconst int " + row + " = blockIdx.x * blockDim.x + threadIdx.x;\n" + guard()});
    if (Status done = relaunch(); !done) return done.error();
    if (Status done = removeUnused(version, kernel.function, edits, helpers()); !done) return done.error();
    return edits;
  }

private:
  const Version &version;
  const Unit &unit;
  const RowBlock &rows;
  const KernelModel &kernel;
  const ASTContext &ast;
  const Stmt *body;
  Specializer *specializer = nullptr;
  std::set<const Expr *> ones;                 // constants that stand for the block's size
  std::map<const Expr *, std::string> reads;   // of totals in shared memory
  std::string row, count;
  bool newParameter = false;
  const DeclStmt *rowDeclaration = nullptr;    // a local that is just blockIdx.x
  std::map<const VarDecl *, std::optional<std::string>> settledText;
  std::set<std::string> taken;
  Edits edits;

  /// What was a block becomes one of a block's threads.
  bool inThreads() const { return !rows.warps && !rows.alone; }

  std::string guard() const { return "if (" + row + " >= " + count + ") return;"; }

  /// The kernel already leaves when the row is past the count.
  bool guarded() const {
    const auto *list = cast<CompoundStmt>(body);
    return std::any_of(list->body_begin(), list->body_end(), [&](const Stmt *stmt) {
      const auto *exit = dyn_cast<IfStmt>(stmt);
      if (!exit || exit->getElse() || newParameter) return false;
      const Stmt *then = exit->getThen();
      if (const auto *one = dyn_cast<CompoundStmt>(then); one && one->size() == 1) then = one->body_front();
      bool ofRow = false, ofCount = false;
      walk(exit->getCond(), [&](const Stmt *inner) {
        if (const auto *ref = dyn_cast<DeclRefExpr>(inner)) {
          ofRow = ofRow || ref->getDecl() == rowDeclaration->getSingleDecl();
          ofCount = ofCount || (isa<ParmVarDecl>(ref->getDecl()) && ref->getDecl()->getNameAsString() == count);
        }
        return true;
      });
      return isa<ReturnStmt>(then) && ofRow && ofCount;
    });
  }

  /// A local whose value is a thread index alone and so becomes a number.
  std::optional<std::string> settled(const Expr *expr) {
    const auto *ref = dyn_cast<DeclRefExpr>(expr);
    const auto *variable = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
    if (!variable || !variable->isLocalVarDecl() || !variable->getType()->isIntegerType() || !variable->getInit() || rows.warps) return std::nullopt;
    if (!mentionsBuiltin(variable->getInit(), "threadIdx") || mentionsBuiltin(variable->getInit(), "blockIdx")) return std::nullopt;
    auto [known, fresh] = settledText.try_emplace(variable);
    if (!fresh) return known->second;
    bool written = false;
    walk(body, [&](const Stmt *stmt) {
      const Expr *target = nullptr;
      if (const auto *op = dyn_cast<BinaryOperator>(stmt); op && op->isAssignmentOp()) target = op->getLHS();
      if (const auto *op = dyn_cast<UnaryOperator>(stmt); op && (op->isIncrementDecrementOp() || op->getOpcode() == UO_AddrOf)) target = op->getSubExpr();
      const auto *stored = target ? dyn_cast<DeclRefExpr>(target->IgnoreParenImpCasts()) : nullptr;
      written = written || (stored && stored->getDecl() == variable);
      return true;
    });
    std::string text = written ? "" : specializer->textOf(variable->getInit());
    if (!text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) settledText[variable] = text;
    return settledText[variable];
  }

  std::set<const FunctionDecl *> helpers() const {
    auto all = rows.helpers;
    for (const ReductionRegion &region : rows.regions) all.insert(region.calls.begin(), region.calls.end());
    return all;
  }

  void findOnes() {
    int64_t stride = rows.warps ? 32 : rows.shape.known ? rows.shape.extent[0] : -1; // -1: only blockDim stands for it
    auto mark = [&](const Expr *root) {
      walk(root, [&](const Stmt *stmt) {
        const auto *expr = dyn_cast<Expr>(stmt);
        if (!expr || isa<ImplicitCastExpr>(expr) || isa<BinaryOperator>(expr)) return true;
        if (constantOf(expr, ast) != stride) return true;
        ones.insert(expr);
        return false;
      });
    };
    walk(body, [&](const Stmt *stmt) {
      if (const auto *loop = dyn_cast<ForStmt>(stmt); loop && loop->getInc()) {
        const Loop *known = kernel.loopFor(loop);
        bool strided = known ? known->begin.mentions(threadIdx(0)) : mentionsBuiltin(loop->getInit(), "threadIdx");
        strided = strided || (known && known->step.constant() == stride && mentionsBuiltin(loop->getBody(), "threadIdx"));
        if (strided) mark(loop->getInc());
      }
      if (rows.warps) return true;
      if (const auto *op = dyn_cast<BinaryOperator>(stmt); op && op->getOpcode() == BO_Mul)
        for (auto [factor, other] : {std::pair(op->getLHS(), op->getRHS()), std::pair(op->getRHS(), op->getLHS())})
          if (mentionsBuiltin(other, "blockIdx") || mentionsBuiltin(other, "gridDim")) mark(factor);
      return true;
    });
  }

  void nameRow() {
    if (const auto *list = dyn_cast<CompoundStmt>(body))
      for (const Stmt *stmt : list->body()) {
        const auto *decls = dyn_cast<DeclStmt>(stmt);
        const auto *variable = decls && decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
        if (!variable || !variable->getInit() || threadBuiltin(variable->getInit()->IgnoreParenImpCasts()).first != "blockIdx") continue;
        bool first = !rowDeclaration;
        for (const Stmt *earlier : list->body()) {
          if (earlier == stmt) break;
          first = first && !mentionsBuiltin(earlier, "blockIdx");
        }
        if (first) { rowDeclaration = decls; row = variable->getNameAsString(); }
      }
    if (row.empty()) row = freshName(unit, "row", taken);
    const Launch &launch = kernel.launches.front();
    if (const ParmVarDecl *parameter = rowCount(kernel)) { count = parameter->getNameAsString(); return; }
    newParameter = true;
    auto clashes = [&](const std::string &name) {
      bool clash = name.empty() || !std::isalpha(static_cast<unsigned char>(name[0])) || name.find('.') != std::string::npos;
      walk(body, [&](const Stmt *stmt) {
        if (const auto *ref = dyn_cast<DeclRefExpr>(stmt)) clash = clash || ref->getDecl()->getNameAsString() == name;
        if (const auto *decls = dyn_cast<DeclStmt>(stmt))
          for (const Decl *decl : decls->decls())
            if (const auto *named = dyn_cast<NamedDecl>(decl)) clash = clash || named->getNameAsString() == name;
        return true;
      });
      for (const ParmVarDecl *parameter : kernel.function->parameters()) clash = clash || parameter->getNameAsString() == name;
      return clash;
    };
    count = kernel.launches.size() == 1 ? gridText(unit, launch) : "rows";
    if (clashes(count)) count = clashes("rows") ? freshName(unit, "rows", taken) : "rows";
  }

  std::optional<std::string> rule(const Expr *expr) {
    if (ones.count(expr)) return "1";
    if (auto read = reads.find(expr); read != reads.end()) return read->second;
    if (const auto *call = dyn_cast<CallExpr>(expr))
      if (auto helper = rows.helperCalls.find(call); helper != rows.helperCalls.end()) return parenthesized(specializer->textOf(call->getArg(helper->second)));
    if (rows.flat) return flatRule(expr);
    auto [name, axis] = threadBuiltin(expr);
    if (name.empty()) return settled(expr);
    if (rows.warps) { // the rows of a block stay; their 32 threads become one
      if (name == "threadIdx") return axis == 1 ? "threadIdx.x" : "0";
      if (name == "blockDim") return axis == 1 ? "blockDim.x" : "1";
      return std::nullopt;
    }
    if (name == "threadIdx") return "0";
    if (name == "blockDim") return "1";
    if (rows.alone) return std::nullopt;
    if (axis) return name == "gridDim" ? "1" : "0";
    return name == "gridDim" ? count : row;
  }

  /// In a flat block the lane and the row are recognized by their value, whatever they are computed from.
  std::optional<std::string> flatRule(const Expr *expr) {
    if (!expr->getType()->isIntegerType() || isa<ImplicitCastExpr>(expr) || isa<ParenExpr>(expr)) return std::nullopt;
    bool name = isa<DeclRefExpr>(expr);
    if (!name && !mentionsBuiltin(expr, "threadIdx") && !mentionsBuiltin(expr, "blockDim") && !isa<BinaryOperator>(expr)) return std::nullopt;
    if (const auto *op = dyn_cast<BinaryOperator>(expr); op && (op->isAssignmentOp() || op->isComparisonOp() || op->isLogicalOp())) return std::nullopt;
    int64_t size = rows.shape.size();
    IndexExpr thread = IndexExpr::of(threadIdx(0)), block = IndexExpr::of(blockIdx(0)), warp(int64_t(32)), warps(size / 32);
    IndexExpr value = kernel.lift(expr).substitute(blockDim(0), IndexExpr(size));
    if (value == remainder(thread, warp) || value == bitwise(Atom::And, thread, IndexExpr(int64_t(31)))) return "0";
    if (name) return std::nullopt;
    if (value == quotient(thread, warp)) return "threadIdx.x";
    if (value == block * warps + quotient(thread, warp) || value == quotient(block * IndexExpr(size) + thread, warp)) return "blockIdx.x * blockDim.x + threadIdx.x";
    if (mentionsBuiltin(expr, "blockDim") && value == warps) return "blockDim.x";
    return std::nullopt;
  }

  Status takeOut(const ReductionRegion &region, Specializer &specializer) {
    ReductionRegion bare = region;
    bare.kept.clear();
    auto written = writeRegion(unit, bare, rows.shape, nullptr);
    if (!written) return written.error();
    reads.insert(written->reads.begin(), written->reads.end());
    const Stmt *last = nullptr;
    for (const Stmt *stmt : region.statements)
      if (std::find(region.kept.begin(), region.kept.end(), stmt) == region.kept.end()) {
        specializer.replace(stmt, "");
        last = stmt;
      }
    if (last) specializer.replace(last, written->text);
    return Done{};
  }

  Status relaunch() {
    if (newParameter) {
      unsigned parameters = kernel.function->getNumParams();
      if (!parameters) return refusal("the kernel has no parameters", unit.where(kernel.function->getLocation()));
      auto last = unit.place(kernel.function->getParamDecl(parameters - 1)->getSourceRange());
      if (!last) return last.error();
      edits.push_back({last->file, last->offset + last->length, 0, ", int " + count});
    }
    for (const Launch &launch : kernel.launches) {
      auto grid = unit.place(launch.grid, Side::Host), block = unit.place(launch.block, Side::Host);
      if (!grid) return grid.error();
      if (!block) return block.error();
      std::string blocks = gridText(unit, launch), threads = std::to_string(threadsOfPlainForm);
      if (rows.warps) edits.push_back({block->file, block->offset, block->length, std::to_string(rows.flat ? rows.shape.size() / 32 : rows.shape.extent[1])});
      else if (rows.alone) edits.push_back({block->file, block->offset, block->length, "1"});
      else {
        bool few = blocks.size() < 9 && std::all_of(blocks.begin(), blocks.end(), [](char c) { return c >= '0' && c <= '9'; });
        std::string fewer = few ? std::to_string((std::stoi(blocks) + threadsOfPlainForm - 1) / threadsOfPlainForm) : "";
        edits.push_back({grid->file, grid->offset, grid->length, few ? fewer : "(" + blocks + " + " + std::to_string(threadsOfPlainForm - 1) + ") / " + threads});
        edits.push_back({block->file, block->offset, block->length, threads});
      }
      if (launch.sharedBytes) {
        auto bytes = unit.place(launch.sharedBytes, Side::Host);
        if (bytes && textAt(unit, *bytes) != "0") edits.push_back({bytes->file, bytes->offset, bytes->length, "0"});
      }
      if (!newParameter) continue;
      auto last = unit.place(launch.arguments.back(), Side::Host);
      if (!last) return last.error();
      std::string text = blocks.front() == '(' ? blocks.substr(1, blocks.size() - 2) : blocks;
      edits.push_back({last->file, last->offset + last->length, 0, ", " + text});
    }
    return Done{};
  }
};

} // namespace

Result<Edits> toOneThread(const Version &version, const RowBlock &rows) { return RowWriter(version, rows).write(); }

} // namespace klineage
