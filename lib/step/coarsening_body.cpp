// The body of a coarsened kernel, written for one of its lanes.
//
// Loops over lanes are run through, and of their iterations the one that serves the lane is kept; a register array becomes the scalar that
// is the lane's element; what blocks, threads and the lane decide is said in the coordinates of the output. What nothing reads any more
// is left out, so a temporary that could not be said does no harm when it is not needed.
#include "step/coarsening.h"
#include "step/one_thread_a_row.h"
#include "step/site_building.h"
#include "step/source_text.h"
#include "step/tidy.h"
#include <algorithm>

namespace klineage {
namespace {

using namespace clang;

/// One statement of the plain body.
struct Node {
  std::string head, tail;
  std::vector<Node> children;
  const VarDecl *writes = nullptr;  ///< The local that it declares or assigns, when it does nothing else.
  bool declares = false;
  bool effective = false;           ///< Stores an output, or an array's element that the lane needs.
  bool control = false;             ///< Decides what runs after it.
  std::string problem;
  std::vector<std::pair<const VarDecl *, std::vector<int64_t>>> reads; ///< Elements of arrays.
  const Stmt *origin = nullptr;
};

void wordsOf(const std::string &text, std::set<std::string> &words) {
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    if (end > at) words.insert(text.substr(at, end - at));
    at = end > at ? end : at + 1;
  }
}

class LaneWriter {
public:
  LaneWriter(const Coarsening &coarse) : unit(*coarse.kernel->unit), kernel(*coarse.kernel), coarse(coarse) {
    for (const OutputAxis &axis : coarse.axes) coordinates.push_back(writtenQuantity(axis.name));
    for (unsigned axis = 0; axis < 3; ++axis) {
      own.push_back(threadIdx(axis));
      bool batch = axis == 2 && std::none_of(coarse.axes.begin(), coarse.axes.end(), [](const OutputAxis &each) { return each.blockAxis == 2; });
      if (!batch) own.push_back(blockIdx(axis)), own.push_back(gridDim(axis));
      if (auto size = kernel.blockSize(axis)) dimensions.emplace(blockDim(axis)->key, IndexExpr(*size));
    }
    struct Locals : RecursiveASTVisitor<Locals> {
      std::vector<const VarDecl *> found;
      bool VisitVarDecl(VarDecl *decl) { return decl->isLocalVarDecl() ? found.push_back(decl) : void(), true; }
    } locals;
    locals.TraverseStmt(kernel.function->getBody());
    for (const VarDecl *local : locals.found) {
      const Buffer *buffer = kernel.bufferOf(local);
      if (local->getType()->isArrayType()) {
        if (buffer) arrays.insert(local);
      } else if (isIndex(local)) {
        indices.insert(local);
      } else {
        kept.insert(local);
      }
    }
  }

  /// The statements of the body for one lane.
  Result<std::string> write(const Lane &lane) {
    place = &lane;
    needed.clear();
    if (coarse.accumulator) needed[coarse.accumulator] = lane.element;
    for (int round = 0; round < 6; ++round) {
      fixed = dimensions;
      Node root = block(cast<CompoundStmt>(kernel.function->getBody()));
      prune(root);
      std::string problem;
      auto known = needed;
      collect(root, problem);
      if (known != needed && problem.empty()) continue;
      if (!problem.empty()) return refusal(problem);
      std::string text;
      for (const Node &child : root.children) render(child, text);
      return text;
    }
    return refusal("which elements of its arrays one output needs does not settle");
  }

private:
  const Unit &unit;
  const KernelModel &kernel;
  const Coarsening &coarse;
  std::vector<AtomRef> coordinates, own;
  std::map<std::string, IndexExpr> dimensions, fixed;
  std::set<const VarDecl *> arrays, indices, kept;
  std::map<const VarDecl *, std::vector<int64_t>> needed;
  std::map<const Stmt *, std::unique_ptr<PlaceInKernel>> places;
  const Lane *place = nullptr;
  bool inGuard = false;

  bool dependsOnLane(const IndexExpr &value) const {
    for (const AtomRef &atom : value.atoms()) {
      for (const AtomRef &each : own)
        if (atom->key == each->key) return true;
      for (const Loop *loop : coarse.spread)
        if (atom->key == loopVariable(loop->variable)->key) return true;
      if (dimensions.count(atom->key)) return true;
    }
    return false;
  }

  /// An integer that blocks, threads or lanes decide: it is said in coordinates wherever it is read.
  bool isIndex(const VarDecl *local) const {
    for (const Loop *loop : coarse.spread)
      if (loop->variable == local) return true;
    if (!isInteger(local->getType())) return false;
    auto decides = [&](const Expr *value) {
      IndexExpr lifted = kernel.lift(value);
      return !lifted.mentionsOpaque() && dependsOnLane(lifted);
    };
    if (local->getInit() && decides(local->getInit())) return true;
    for (const Expr *change : assignmentsTo(local, kernel.function->getBody()))
      if (const auto *op = dyn_cast<BinaryOperator>(change); op && op->isAssignmentOp() && decides(op->getRHS())) return true;
    return false;
  }

  const PlaceInKernel &placeOf(const Stmt *stmt) {
    auto &at = places[stmt];
    if (!at) {
      at = std::make_unique<PlaceInKernel>(kernel, stmt);
      for (size_t i = 0; i < coordinates.size(); ++i) at->spell(coordinates[i], coarse.axes[i].name);
    }
    return *at;
  }

  std::optional<std::vector<int64_t>> elementOf(const Access &access) const {
    std::vector<IndexExpr> subscripts = access.subscripts;
    if (subscripts.empty()) subscripts.push_back(access.index);
    std::vector<int64_t> element;
    for (const IndexExpr &subscript : subscripts) {
      auto value = subscript.substitute(fixed).constant();
      if (!value) return std::nullopt;
      element.push_back(*value);
    }
    return element;
  }

  const Access *accessAt(const Expr *expr) const {
    for (const Access &access : kernel.accesses)
      if (access.expr->IgnoreParens() == expr->IgnoreParens()) return &access;
    return nullptr;
  }

  /// A guard that keeps more than the lane's own outputs in can keep exactly those in: outputs past the edge are never stored.
  std::optional<Piece> tightened(const Expr *expr, const Remap &remap) const {
    const auto *op = dyn_cast<BinaryOperator>(expr);
    if (!op || !op->isRelationalOp() || !isInteger(op->getLHS()->getType())) return std::nullopt;
    IndexExpr left = kernel.lift(op->getLHS()).substitute(fixed), right = kernel.lift(op->getRHS()).substitute(fixed);
    auto mapped = remap.map(right - left);
    if (!mapped) return std::nullopt;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      if (!coarse.axes[i].extent) continue;
      const ParmVarDecl *extent = kernel.function->getParamDecl(*coarse.axes[i].extent);
      IndexExpr inside = IndexExpr::of(parameter(extent)) - IndexExpr::of(coordinates[i]); // > 0 inside
      auto says = [&](const char *relation) { return Piece{coarse.axes[i].name + relation + extent->getNameAsString(), Piece::Relation}; };
      for (bool turned : {false, true}) { // right - left, or left - right, is compared with 0
        IndexExpr value = turned ? IndexExpr(0) - *mapped : *mapped;
        auto slack = (value - inside).constant();
        BinaryOperatorKind code = turned ? BinaryOperator::reverseComparisonOp(op->getOpcode()) : op->getOpcode();
        if (!slack) continue;
        if (code == BO_LT && *slack >= 0) return says(" < ");
        if (code == BO_LE && *slack >= -1) return says(" < ");
        if (code == BO_GE && *slack >= 0) return says(" >= ");
        if (code == BO_GT && *slack >= -1) return says(" >= ");
      }
    }
    return std::nullopt;
  }

  std::optional<std::string> print(const Expr *expr, const Stmt *at, Node &node, Piece::Precedence within = Piece::Any) {
    std::vector<Meeting> meetings;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      IndexExpr written = place->place[i];
      meetings.push_back({written, IndexExpr::of(coordinates[i]), Piece{coarse.axes[i].name}});
    }
    Remap remap(kernel, placeOf(at), meetings, own);
    remap.fixed = fixed;
    remap.kept = kept;
    remap.stable = [](const VarDecl *) { return true; }; // the same thread, at the same moment
    remap.throughArray = [&](const Expr *each, const Remap &self) -> std::optional<Piece> {
      if (inGuard)
        if (auto tight = tightened(each, self)) return tight;
      if (!isa<ArraySubscriptExpr>(each)) return std::nullopt;
      const Access *access = accessAt(each);
      const auto *array = access ? dyn_cast_or_null<VarDecl>(access->buffer) : nullptr;
      if (!array || !arrays.count(array)) return std::nullopt;
      auto element = elementOf(*access);
      if (!element) {
        node.problem = "the elements of " + array->getNameAsString() + " are not told apart by lanes";
        return Piece{array->getNameAsString()};
      }
      node.reads.push_back({array, *element});
      return Piece{array->getNameAsString()};
    };
    auto piece = remap.print(expr);
    if (!piece) {
      if (node.problem.empty()) node.problem = "not told by the place of one output: " + unit.text(expr);
      return std::nullopt;
    }
    return piece->within(within);
  }

  Node block(const CompoundStmt *list) {
    Node node;
    node.head = "{\n", node.tail = "}\n";
    for (const Stmt *stmt : list->body()) statement(stmt, node.children);
    return node;
  }

  void body(const Stmt *stmt, Node &into) {
    if (auto *list = dyn_cast<CompoundStmt>(stmt))
      for (const Stmt *each : list->body()) statement(each, into.children);
    else statement(stmt, into.children);
  }

  void statement(const Stmt *stmt, std::vector<Node> &into) {
    if (isa<NullStmt>(stmt)) return;
    if (auto *attributed = dyn_cast<AttributedStmt>(stmt)) {
      size_t before = into.size();
      statement(attributed->getSubStmt(), into);
      if (into.size() == before + 1 && into.back().origin == attributed->getSubStmt()) {
        auto whole = wholeStatement(unit, attributed), inner = unit.place(attributed->getSubStmt());
        if (whole && inner && whole->offset < inner->offset)
          into.back().head = "\n" + unit.sources().files.at(whole->file).substr(whole->offset, inner->offset - whole->offset) + into.back().head;
      }
      return;
    }
    if (auto *list = dyn_cast<CompoundStmt>(stmt)) return into.push_back(block(list));
    if (auto *decls = dyn_cast<DeclStmt>(stmt)) return declaration(decls, into);
    if (auto *loop = dyn_cast<ForStmt>(stmt)) return loopStatement(loop, into);
    if (auto *branch = dyn_cast<IfStmt>(stmt)) return branchStatement(branch, into);
    if (auto *expr = dyn_cast<Expr>(stmt)) return expression(expr, into);
    Node node;
    node.origin = stmt;
    node.control = true;
    if (auto *back = dyn_cast<ReturnStmt>(stmt); back && !back->getRetValue()) node.head = "return;\n";
    else if (isa<BreakStmt>(stmt)) node.head = "break;\n";
    else if (isa<ContinueStmt>(stmt)) node.head = "continue;\n";
    else node.problem = "a statement of a kind that is not spread: " + unit.text(stmt).substr(0, 40);
    into.push_back(std::move(node));
  }

  /// Zero in every element: the text of the scalar's first value.
  static std::optional<std::string> zeroInit(const Expr *init) {
    struct Finder : RecursiveASTVisitor<Finder> {
      bool zero = true;
      bool VisitFloatingLiteral(FloatingLiteral *value) { return zero &= value->getValue().isZero(); }
      bool VisitIntegerLiteral(IntegerLiteral *value) { return zero &= value->getValue().isZero(); }
      bool VisitDeclRefExpr(DeclRefExpr *) { return zero = false; }
      bool VisitCallExpr(CallExpr *) { return zero = false; }
    } finder;
    finder.TraverseStmt(const_cast<Expr *>(init));
    return finder.zero && isa<InitListExpr>(init->IgnoreImplicit()) ? std::optional<std::string>(" = 0") : std::nullopt;
  }

  void declaration(const DeclStmt *decls, std::vector<Node> &into) {
    for (const Decl *each : decls->decls()) {
      auto *local = dyn_cast<VarDecl>(each);
      Node node;
      node.origin = decls;
      if (!local) {
        node.head = unit.text(decls) + ";\n";
        node.control = true;
        into.push_back(std::move(node));
        return;
      }
      if (indices.count(local)) continue;
      node.writes = local;
      node.declares = true;
      const auto &policy = kernel.function->getASTContext().getPrintingPolicy();
      std::string name = local->getNameAsString();
      if (arrays.count(local)) {
        node.head = kernel.function->getASTContext().getBaseElementType(local->getType()).getUnqualifiedType().getAsString(policy) + " " + name;
        if (local->getInit()) {
          auto zero = zeroInit(local->getInit());
          if (zero) node.head += *zero;
          else node.problem = name + " starts with a list of values";
        }
        node.head += ";\n";
      } else {
        std::string type = unit.text(SourceRange(decls->getBeginLoc(), local->getTypeSpecEndLoc()));
        if (type.empty() || decls->decl_begin() + 1 != decls->decl_end() || local->getType()->isPointerType() || local->getType()->isReferenceType())
          type = local->getType().getAsString(policy);
        node.head = type + " " + name;
        if (const Expr *init = local->getInit()) {
          bool listed = isa<InitListExpr>(init->IgnoreImplicit()) || (isa<CXXConstructExpr>(init->IgnoreImplicit()) && cast<CXXConstructExpr>(init->IgnoreImplicit())->getNumArgs() == 0);
          if (listed) {
            if (!isa<CXXConstructExpr>(init->IgnoreImplicit())) node.head = type + " " + name + " = " + unit.text(init);
          } else if (auto text = print(init, decls, node)) {
            node.head += " = " + *text;
          }
        }
        node.head += ";\n";
      }
      into.push_back(std::move(node));
    }
  }

  void loopStatement(const ForStmt *stmt, std::vector<Node> &into) {
    const Loop *loop = kernel.loopFor(stmt);
    if (loop && std::count(coarse.spread.begin(), coarse.spread.end(), loop)) return spread(*loop, into);
    Node node;
    node.origin = stmt;
    std::string init, condition, step = stmt->getInc() ? unit.text(stmt->getInc()) : "";
    if (auto *decls = dyn_cast_or_null<DeclStmt>(stmt->getInit())) {
      std::vector<Node> parts;
      declaration(decls, parts);
      if (parts.size() == 1) {
        init = parts[0].head.substr(0, parts[0].head.size() - 2);
        node.problem = parts[0].problem;
      } else {
        node.problem = "a loop over several variables, or one that lanes decide: " + unit.text(decls);
      }
    } else if (stmt->getInit()) {
      node.problem = "a loop whose variable is declared before it";
    }
    if (stmt->getCond())
      if (auto text = print(stmt->getCond(), stmt->getBody(), node)) condition = *text;
    node.head = "for (" + init + "; " + condition + "; " + step + ") {\n";
    node.tail = "}\n";
    body(stmt->getBody(), node);
    into.push_back(std::move(node));
  }

  /// Of all iterations the one that serves the lane.
  void spread(const Loop &loop, std::vector<Node> &into) {
    auto first = loop.begin.constant(), by = loop.step.constant(), trips = loop.tripCount();
    Node kept;
    int serving = 0;
    std::string key = loopVariable(loop.variable)->key;
    for (int64_t turn = 0; first && by && trips && turn < *trips; ++turn) {
      if (!coarse.accumulator && place->element.front() != *first + turn * *by) continue;
      auto outer = fixed;
      fixed[key] = IndexExpr(*first + turn * *by);
      Node node;
      node.head = "{\n", node.tail = "}\n";
      body(loop.stmt->getBody(), node);
      fixed = outer;
      if (!serves(node)) continue;
      if (++serving == 1) kept = std::move(node);
    }
    if (serving == 0) return;
    if (serving > 1) kept.problem = "several iterations of the loop over " + loop.variable->getNameAsString() + " work for one output";
    kept.origin = loop.stmt;
    into.push_back(std::move(kept));
  }

  static bool serves(const Node &node) {
    return node.effective || std::any_of(node.children.begin(), node.children.end(), serves);
  }

  void branchStatement(const IfStmt *stmt, std::vector<Node> &into) {
    Node node;
    node.origin = stmt;
    if (stmt->hasInitStorage() || stmt->hasVarStorage()) node.problem = "a branch that declares";
    inGuard = !stmt->getElse();
    auto condition = print(stmt->getCond(), stmt, node);
    inGuard = false;
    node.head = "if (" + condition.value_or("?") + ") {\n";
    node.tail = "}\n";
    body(stmt->getThen(), node);
    if (stmt->getElse()) {
      Node otherwise;
      otherwise.origin = stmt->getElse();
      body(stmt->getElse(), otherwise);
      Node mark;
      mark.head = "} else {\n";
      mark.control = serves(otherwise);
      if (mark.control) {
        node.children.push_back(std::move(mark));
        for (Node &each : otherwise.children) node.children.push_back(std::move(each));
      } else if (!otherwise.children.empty()) {
        mark.control = true;
        node.children.push_back(std::move(mark));
        for (Node &each : otherwise.children) node.children.push_back(std::move(each));
      }
    }
    into.push_back(std::move(node));
  }

  void expression(const Expr *expr, std::vector<Node> &into) {
    Node node;
    node.origin = expr;
    expr = expr->IgnoreImplicit();
    auto *op = dyn_cast<BinaryOperator>(expr);
    if (auto *step = dyn_cast<UnaryOperator>(expr); step && step->isIncrementDecrementOp()) {
      const auto *ref = dyn_cast<DeclRefExpr>(step->getSubExpr()->IgnoreParenImpCasts());
      node.writes = ref ? dyn_cast<VarDecl>(ref->getDecl()) : nullptr;
      if (!node.writes || !node.writes->isLocalVarDecl()) node.problem = "an update in place: " + unit.text(expr);
      if (node.writes && indices.count(node.writes)) return;
      node.head = unit.text(expr) + ";\n";
      into.push_back(std::move(node));
      return;
    }
    if (!op || !op->isAssignmentOp()) {
      node.control = true;
      node.problem = "a statement that is no assignment: " + unit.text(expr);
      into.push_back(std::move(node));
      return;
    }
    const Expr *target = op->getLHS()->IgnoreParens();
    const Expr *base = target;
    while (auto *member = dyn_cast<MemberExpr>(base)) base = member->getBase()->IgnoreParenImpCasts();
    if (auto *ref = dyn_cast<DeclRefExpr>(base)) {
      node.writes = dyn_cast<VarDecl>(ref->getDecl());
      if (!node.writes || !node.writes->isLocalVarDecl()) node.writes = nullptr, node.problem = "something that is no output is changed: " + unit.text(expr);
      if (node.writes && indices.count(node.writes)) return;
    } else {
      const Access *access = accessAt(target);
      const auto *array = access ? dyn_cast_or_null<VarDecl>(access->buffer) : nullptr;
      if (array && arrays.count(array)) {
        auto element = elementOf(*access);
        auto wanted = needed.find(array);
        if (!element) node.problem = "the elements of " + array->getNameAsString() + " are not told apart by lanes", node.effective = true;
        else if (wanted == needed.end() || wanted->second != *element) return;
        node.effective = true;
        node.writes = array;
        auto value = print(op->getRHS(), expr, node);
        node.head = array->getNameAsString() + " " + op->getOpcodeStr().str() + " " + value.value_or("?") + ";\n";
        into.push_back(std::move(node));
        return;
      }
      node.effective = true;
      if (!access || access->space != Space::Global) node.problem = "something that is no output is changed: " + unit.text(expr);
    }
    auto left = print(target, expr, node), right = print(op->getRHS(), expr, node);
    node.head = left.value_or("?") + " " + op->getOpcodeStr().str() + " " + right.value_or("?") + ";\n";
    if (!node.writes && coarse.accumulator) { // the output of another lane
      for (const auto &[array, element] : node.reads)
        if (array == coarse.accumulator && element != place->element) return;
    }
    into.push_back(std::move(node));
  }

  /// Takes out what nothing reads, and blocks and branches that hold nothing.
  void prune(Node &root) {
    for (bool again = true; again;) {
      again = false;
      std::vector<Node *> all;
      std::function<void(Node &)> gather = [&](Node &node) {
        all.push_back(&node);
        for (Node &child : node.children) gather(child);
      };
      gather(root);
      std::map<const VarDecl *, bool> used;
      std::vector<std::set<std::string>> words(all.size());
      for (size_t i = 0; i < all.size(); ++i) wordsOf(all[i]->head, words[i]);
      auto isUsed = [&](const VarDecl *local) {
        auto [entry, fresh] = used.insert({local, false});
        if (!fresh) return entry->second;
        for (size_t i = 0; i < all.size(); ++i)
          if (all[i]->writes != local && words[i].count(local->getNameAsString())) entry->second = true;
        return entry->second;
      };
      std::function<void(Node &)> clean = [&](Node &node) {
        for (Node &child : node.children) clean(child);
        std::erase_if(node.children, [&](const Node &child) {
          bool dead = false;
          if (child.writes) dead = !isUsed(child.writes);
          else if (!child.effective && !child.control) dead = child.children.empty() || std::all_of(child.children.begin(), child.children.end(), [](const Node &each) { return each.control && each.head == "} else {\n"; });
          again |= dead;
          return dead;
        });
      };
      clean(root);
    }
  }

  void collect(const Node &node, std::string &problem) {
    if (problem.empty()) problem = node.problem;
    for (const auto &[array, element] : node.reads) {
      auto [at, fresh] = needed.insert({array, element});
      if (!fresh && at->second != element && problem.empty()) problem = "one output reads several elements of " + array->getNameAsString();
    }
    for (const Node &child : node.children) collect(child, problem);
  }

  void render(const Node &node, std::string &text) const {
    bool scope = node.head == "{\n";
    // The block of a single iteration needs braces only for what it declares.
    if (scope && std::none_of(node.children.begin(), node.children.end(), [](const Node &child) { return child.declares; })) {
      for (const Node &child : node.children) render(child, text);
      return;
    }
    std::string inner, head = node.head, tail = node.tail;
    for (const Node &child : node.children) render(child, inner);
    bool single = node.children.size() == 1 && node.children[0].tail.empty() && !node.children[0].declares && head.ends_with(") {\n");
    if (single) head.replace(head.size() - 2, 1, ""), tail.clear();
    text += head + inner + tail;
  }
};

} // namespace

namespace {

std::vector<std::string> tokensOf(const std::string &text) {
  std::vector<std::string> tokens;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    if (end == at) ++end;
    if (!std::isspace(static_cast<unsigned char>(text[at]))) tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

/// The same text but for the names of locals: what one lane calls `first` another may call `second`.
bool alike(const std::string &left, const std::string &right, const std::set<std::string> &locals) {
  auto a = tokensOf(left), b = tokensOf(right);
  if (a.size() != b.size()) return false;
  std::map<std::string, std::string> there, back;
  for (size_t i = 0; i < a.size(); ++i) {
    bool names = locals.count(a[i]) && locals.count(b[i]);
    if (!names && a[i] != b[i]) return false;
    if (names && (there.insert({a[i], b[i]}).first->second != b[i] || back.insert({b[i], a[i]}).first->second != a[i])) return false;
  }
  return true;
}

} // namespace

Result<std::string> plainBody(const Coarsening &coarse, bool all) {
  struct Builtins : RecursiveASTVisitor<Builtins> {
    bool found = false;
    bool TraversePseudoObjectExpr(PseudoObjectExpr *expr) { found |= !threadBuiltin(expr).first.empty(); return true; }
  };
  for (const FunctionDecl *function : ownFunctions(*coarse.kernel->unit, *coarse.kernel)) {
    if (function == coarse.kernel->function) continue;
    Builtins builtins;
    builtins.TraverseStmt(function->getBody());
    if (builtins.found) return refusal("the helper " + function->getNameAsString() + " asks for the thread itself");
  }
  LaneWriter writer(coarse);
  std::optional<std::string> agreed;
  std::set<std::string> locals;
  struct Locals : RecursiveASTVisitor<Locals> {
    std::set<std::string> *names;
    bool VisitVarDecl(VarDecl *decl) { return names->insert(decl->getNameAsString()), true; }
  } collector;
  collector.names = &locals;
  collector.TraverseStmt(coarse.kernel->function->getBody());
  for (const OutputAxis &axis : coarse.axes) locals.erase(axis.name);
  const std::vector<int64_t> &first = coarse.lanes.front().element;
  for (size_t i = 0; i < coarse.lanes.size(); ++i) {
    const Lane &lane = coarse.lanes[i];
    int differing = 0;
    for (size_t d = 0; d < first.size(); ++d) differing += lane.element[d] != first[d];
    if (!all && differing > 1 && i + 1 != coarse.lanes.size()) continue;
    auto text = writer.write(lane);
    if (!text) return text.error();
    if (agreed && !alike(*agreed, *text, locals)) return refusal("outputs of one thread are not computed alike");
    if (!agreed) agreed = *text;
  }
  return *agreed;
}

/// `float x; x = e;` is `float x = e;`.
Edits joinDeclarations(const KernelModel &kernel) {
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const CompoundStmt *> lists;
    bool VisitCompoundStmt(CompoundStmt *list) { return lists.push_back(list), true; }
  } finder;
  finder.TraverseStmt(kernel.function->getBody());
  for (const CompoundStmt *list : finder.lists)
    for (size_t i = 0; i + 1 < list->size(); ++i) {
      const auto *decls = dyn_cast<DeclStmt>(list->body_begin()[i]);
      const auto *local = decls && decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
      const auto *given = dyn_cast<BinaryOperator>(list->body_begin()[i + 1]);
      if (!local || (local->getInit() && !isPure(local->getInit())) || local->getType().isConstQualified() || !given || given->getOpcode() != BO_Assign || !local->getType()->isArithmeticType()) continue;
      const auto *target = dyn_cast<DeclRefExpr>(given->getLHS()->IgnoreParens());
      if (!target || target->getDecl() != local || !referencesTo(given->getRHS(), local).empty()) continue;
      auto declared = kernel.unit->place(decls), assigned = kernel.unit->place(given);
      if (!declared || !assigned || declared->file != assigned->file) continue;
      // From the end of the name up to the value.
      auto value = kernel.unit->place(given->getRHS());
      auto name = kernel.unit->place(SourceRange(local->getLocation(), local->getLocation()));
      if (!value || !name) continue;
      unsigned begin = name->offset + name->length;
      return {{declared->file, begin, value->offset - begin, " = "}};
    }
  return {};
}

Edits inlineTemporaries(const KernelModel &kernel) {
  struct Finder : RecursiveASTVisitor<Finder> {
    std::vector<const CompoundStmt *> lists;
    bool VisitCompoundStmt(CompoundStmt *list) { return lists.push_back(list), true; }
  } finder;
  finder.TraverseStmt(kernel.function->getBody());
  auto writesMemory = [](const Stmt *stmt) {
    struct Writes : RecursiveASTVisitor<Writes> {
      bool found = false;
      bool VisitBinaryOperator(BinaryOperator *op) { return !(found |= op->isAssignmentOp() && !isa<DeclRefExpr>(op->getLHS()->IgnoreParens())); }
      bool VisitCallExpr(CallExpr *call) { return !(found |= !isPure(call)); }
    } writes;
    writes.TraverseStmt(const_cast<Stmt *>(stmt));
    return writes.found;
  };
  for (const CompoundStmt *list : finder.lists)
    for (auto at = list->body_begin(); at != list->body_end(); ++at) {
      const auto *decls = dyn_cast<DeclStmt>(*at);
      const auto *local = decls && decls->isSingleDecl() ? dyn_cast<VarDecl>(decls->getSingleDecl()) : nullptr;
      if (!local || !local->getType()->isArithmeticType() || local->getInit()) continue;
      auto references = referencesTo(kernel.function->getBody(), local);
      auto changes = assignmentsTo(local, kernel.function->getBody());
      const auto *given = changes.size() == 1 ? dyn_cast<BinaryOperator>(changes[0]) : nullptr;
      if (references.size() != 2 || !given || given->getOpcode() != BO_Assign || !isPure(given->getRHS())) continue;
      if (given->getRHS()->getType().getUnqualifiedType() != local->getType().getUnqualifiedType()) continue;
      auto gives = std::find(list->body_begin(), list->body_end(), given);
      if (gives == list->body_end()) continue;
      const DeclRefExpr *read = references[0] == given->getLHS()->IgnoreParens() ? references[1] : references[0];
      const Stmt *user = read;
      while (kernel.parent(user) != list && kernel.parent(user)) user = kernel.parent(user);
      auto uses = std::find(gives, list->body_end(), user);
      if (uses == list->body_end() || !isa<Expr>(*uses)) continue;
      bool clear = true;
      for (auto between = gives + 1; between != uses; ++between) clear &= !writesMemory(*between);
      for (const VarDecl *named : localsNamedIn(given->getRHS()))
        for (auto between = gives + 1; between != uses; ++between) clear &= assignmentsTo(named, *between).empty();
      auto place = kernel.unit->place(read);
      auto declared = removal(kernel, local);
      auto assigned = removal(*kernel.unit, given);
      if (!clear || !place || !declared || !assigned) continue;
      const Expr *value = given->getRHS()->IgnoreImplicit();
      return {*declared, *assigned, {place->file, place->offset, place->length, Piece{kernel.unit->text(value), precedenceOf(value)}.within(Piece::Unary)}};
    }
  return {};
}

} // namespace klineage
