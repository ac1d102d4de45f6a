// What stands instead of a read of a staging buffer: the value that its copy stored, said at the read's place.
#include "step/loop_tiling.h"
#include "step/staging.h"

namespace klineage {
namespace {

using namespace clang;

bool changesBetween(const KernelModel &kernel, const VarDecl *decl, SourceLocation from, SourceLocation to) {
  const SourceManager &manager = kernel.unit->manager(Side::Device);
  for (const Expr *each : assignmentsTo(decl, kernel.function->getBody()))
    if (manager.isBeforeInTranslationUnit(from, each->getBeginLoc()) && manager.isBeforeInTranslationUnit(each->getBeginLoc(), to)) return true;
  return false;
}

void addThreadIndices(std::vector<AtomRef> &own) {
  for (unsigned axis = 0; axis < 3; ++axis) own.push_back(threadIdx(axis));
}

/// Quantities of the loops around both, and of locals, that differ between the thread that copies and the one that reads.
void addDiffering(const Staging &staging, const StagedCopy &copy, std::vector<AtomRef> &own) {
  const KernelModel &kernel = *staging.kernel;
  auto differs = [&](const IndexExpr &value) {
    return std::any_of(own.begin(), own.end(), [&](const AtomRef &atom) { return value.mentions(atom); });
  };
  for (const Loop *loop : staging.common)
    if (differs(loop->begin) || differs(loop->step)) own.push_back(loopVariable(loop->variable));
  std::vector<const Access *> sources = sourcesOf(kernel, copy);
  sources.push_back(copy.write);
  for (const Access *access : sources)
    for (const AtomRef &atom : access->index.atoms()) {
      if (atom->kind != Atom::Variable || !atom->decl) continue;
      auto *local = dyn_cast<VarDecl>(atom->decl);
      bool uniform = local && (!local->getInit() || kernel.isUniform(local->getInit()));
      if (local)
        for (const Expr *each : assignmentsTo(local, kernel.function->getBody()))
          if (auto *op = dyn_cast<BinaryOperator>(each)) uniform &= kernel.isUniform(op->getRHS());
      if (!uniform) own.push_back(atom);
    }
}

/// e = stride × high + low for both sides, when the writer's own terms show the stride.
std::vector<Meeting> split(const Meeting &meeting, const std::vector<AtomRef> &own, const PlaceInKernel &reader) {
  int64_t stride = 1;
  auto consider = [&](const IndexExpr &value) {
    for (const auto &[key, term] : value.terms())
      if (!term.first.empty()) stride = std::max(stride, std::abs(term.second));
  };
  consider(meeting.written);
  consider(meeting.read);
  if (stride < 2) return {meeting};
  auto part = [&](const IndexExpr &value, bool high) {
    IndexExpr result;
    for (const auto &[key, term] : value.terms()) {
      IndexExpr product(1);
      for (const AtomRef &atom : term.first) product = product * IndexExpr::of(atom);
      bool whole = term.second % stride == 0 && !term.first.empty();
      if (term.first.empty()) result = result + IndexExpr(high ? term.second / stride : term.second % stride);
      else if (whole == high) result = result + IndexExpr(high ? term.second / stride : term.second) * product;
    }
    return result;
  };
  Meeting high{part(meeting.written, true), part(meeting.read, true), {}};
  Meeting low{part(meeting.written, false), part(meeting.read, false), {}};
  auto highText = reader.print(high.read), lowText = reader.print(low.read);
  if (!highText || !lowText) return {meeting};
  high.text = *highText, low.text = *lowText;
  std::vector<Meeting> result{high}, rest = split(low, own, reader);
  result.insert(result.end(), rest.begin(), rest.end());
  return result;
}

std::vector<IndexExpr> subscriptsOf(const Access &access) {
  return access.subscripts.empty() ? std::vector<IndexExpr>{access.index} : access.subscripts;
}

/// The expressions in the brackets, outermost dimension first; empty when the access is not spelled with them.
std::vector<const Expr *> bracketsOf(const Expr *expr) {
  std::vector<const Expr *> brackets;
  expr = expr->IgnoreParenImpCasts();
  while (auto *subscript = dyn_cast<ArraySubscriptExpr>(expr)) {
    brackets.insert(brackets.begin(), subscript->getIdx());
    expr = subscript->getBase()->IgnoreParenImpCasts();
  }
  return brackets;
}

/// A condition as the reader says it; a negated comparison is turned round.
std::optional<Piece> conditionText(const Conjunct &part, const Remap &remap) {
  auto *op = dyn_cast<BinaryOperator>(part.expr->IgnoreParenImpCasts());
  if (part.negated && op && op->isRelationalOp() && isInteger(op->getLHS()->getType())) {
    auto left = remap.print(op->getLHS()), right = remap.print(op->getRHS());
    if (!left || !right) return std::nullopt;
    std::string sign = BinaryOperator::getOpcodeStr(BinaryOperator::negateComparisonOp(op->getOpcode())).str();
    return Piece{left->within(Piece::Shift) + " " + sign + " " + right->within(Piece::Shift), Piece::Relation};
  }
  auto text = remap.print(part.expr);
  if (text && part.negated) return Piece{"!(" + text->text + ")", Piece::Unary};
  return text;
}

/// The value where the conditions hold that are not known to hold anyway, else the other one.
std::optional<Piece> conditional(const std::vector<Conjunct> &parts, const Known &known, const Remap &remap, const Piece &value,
                                 const std::optional<Piece> &otherwise) {
  std::string condition;
  for (const Conjunct &part : parts) {
    if (part.positive)
      if (auto mapped = remap.map(*part.positive); mapped && known.implies(*mapped)) continue;
    auto text = conditionText(part, remap);
    if (!text) return std::nullopt;
    condition += (condition.empty() ? "" : " && ") + text->within(Piece::And);
  }
  if (condition.empty()) return value;
  if (!otherwise) return std::nullopt;
  return Piece{condition + " ? " + value.within(Piece::Or) + " : " + otherwise->within(Piece::Conditional), Piece::Conditional};
}

/// What a helper returned, as the reader says it.
std::optional<Piece> printed(const KernelModel &kernel, const StagedCopy &copy, const Known &known, const Remap &remap) {
  auto within = [&](const Activation &calls) {
    Remap inner = remap;
    inner.calls = calls;
    return inner;
  };
  auto valueOf = [&](const LocatedExpr &value) -> std::optional<Piece> {
    return value.expr ? within(value.calls).print(value.expr) : Piece{zeroOf(copy.write->element)};
  };
  std::optional<Piece> piece = valueOf(copy.resolved.back().value);
  for (size_t i = copy.resolved.size() - 1; i-- > 0 && piece;) {
    const Alternative &one = copy.resolved[i];
    std::optional<Piece> value = valueOf(one.value);
    if (!value) return std::nullopt;
    std::string text;
    for (const Alternative::Condition &condition : one.when) {
      Remap inner = within(condition.expr.calls);
      for (const Conjunct &part : conjunctsOf(kernel, condition.expr.expr, condition.negated, condition.expr.calls)) {
        if (part.positive)
          if (auto mapped = inner.map(*part.positive); mapped && known.implies(*mapped)) continue;
        auto said = conditionText(part, inner);
        if (!said) return std::nullopt;
        text += (text.empty() ? "" : " && ") + said->within(Piece::And);
      }
    }
    piece = text.empty() ? *value : Piece{text + " ? " + value->within(Piece::Or) + " : " + piece->within(Piece::Conditional), Piece::Conditional};
  }
  return piece;
}

std::optional<Piece> viaCopy(const Staging &staging, const StagedCopy &copy, const Access &read, const Known &known,
                             const PlaceInKernel &place, const Remap *outer, bool splitting);

/// A read, inside the copied value, of an array that the copying thread filled itself.
std::optional<Piece> throughOwnArray(const KernelModel &kernel, const Expr *expr, const Remap &remap, const Known &known) {
  for (const Access &access : kernel.accesses) {
    if (access.expr->IgnoreParens() != expr || access.space != Space::Local || access.kind != Access::Read) continue;
    const Buffer *buffer = kernel.bufferOf(access.buffer);
    if (!buffer) return std::nullopt;
    auto staged = stagingOf(kernel, *buffer);
    if (auto *inner = std::get_if<Staging>(&staged))
      for (const StagedCopy &copy : inner->copies)
        if (auto piece = viaCopy(*inner, copy, access, known, remap.reader(), &remap, false)) return piece;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Piece> viaCopy(const Staging &staging, const StagedCopy &copy, const Access &read, const Known &known,
                             const PlaceInKernel &place, const Remap *outer, bool splitting) {
  const KernelModel &kernel = *staging.kernel;
  std::vector<AtomRef> own;
  if (staging.buffer->space == Space::Shared) addThreadIndices(own);
  for (const Loop *loop : copy.ownLoops) own.push_back(loopVariable(loop->variable));
  if (staging.buffer->space == Space::Shared) addDiffering(staging, copy, own);
  std::vector<IndexExpr> written = subscriptsOf(*copy.write), wanted = subscriptsOf(read);
  std::vector<const Expr *> brackets = bracketsOf(read.expr);
  if (written.size() != wanted.size()) return std::nullopt;
  std::vector<Meeting> meetings;
  for (unsigned d = 0; d < written.size(); ++d) {
    // A constant subscript on both sides that differs: this read never sees this copy.
    if (written[d].constant() && wanted[d].constant() && !(written[d] == wanted[d])) return std::nullopt;
    IndexExpr value = wanted[d];
    std::optional<Piece> text;
    if (outer) {
      auto mapped = outer->map(value);
      if (!mapped) return std::nullopt;
      value = *mapped;
      text = brackets.size() == written.size() ? outer->print(brackets[d]) : place.print(value);
    } else if (brackets.size() == written.size()) {
      text = Piece{kernel.unit->text(brackets[d]->IgnoreImplicit()), precedenceOf(brackets[d])};
    } else {
      text = place.print(value);
    }
    if (!text) return std::nullopt;
    meetings.push_back({written[d], value, *text});
  }
  if (splitting) {
    std::vector<Meeting> parts;
    for (const Meeting &meeting : meetings)
      for (Meeting &part : split(meeting, own, place)) parts.push_back(std::move(part));
    if (parts.size() == meetings.size()) return std::nullopt;
    meetings = std::move(parts);
  }
  if (outer) {
    meetings.insert(meetings.end(), outer->meetings().begin(), outer->meetings().end());
    own.insert(own.end(), outer->writersOwn().begin(), outer->writersOwn().end());
  }
  Known here = known;
  for (unsigned d = 0; d < wanted.size() && !outer; ++d) {
    here.assume(wanted[d] + IndexExpr(1));
    if (d < staging.buffer->extents.size()) here.assume(IndexExpr(staging.buffer->extents[d]) - wanted[d]);
  }
  Remap remap(kernel, place, meetings, own);
  remap.otherThread = staging.buffer->space == Space::Shared || (outer && outer->otherThread);
  remap.stable = [&](const VarDecl *local) {
    return onlyValueOf(kernel, local) || !changesBetween(kernel, local, copy.since.isValid() ? copy.since : copy.statement->getEndLoc(), read.expr->getBeginLoc());
  };
  remap.throughArray = [&](const Expr *expr, const Remap &self) -> std::optional<Piece> {
    if (!self.calls.empty()) return std::nullopt;
    if (auto *choice = dyn_cast<ConditionalOperator>(expr)) {
      auto value = self.print(choice->getTrueExpr()), otherwise = self.print(choice->getFalseExpr());
      if (!value || !isConstant(choice->getFalseExpr())) return std::nullopt;
      return conditional(conjunctsOf(kernel, choice->getCond()), here, self, *value, otherwise);
    }
    return throughOwnArray(kernel, expr, self, here);
  };
  auto value = copy.resolved.empty() ? remap.print(copy.value) : printed(kernel, copy, here, remap);
  if (!value) return std::nullopt;
  std::vector<Conjunct> parts;
  for (const Guard &guard : copy.guards)
    for (const Conjunct &part : conjunctsOf(kernel, guard.condition, guard.negated)) parts.push_back(part);
  std::optional<Piece> otherwise = copy.otherwise ? remap.print(copy.otherwise) : Piece{zeroOf(staging.buffer->element), Piece::Primary};
  return conditional(parts, here, remap, *value, otherwise);
}

} // namespace

Result<Piece> withoutStaging(const Staging &staging, const Access &read) {
  const KernelModel &kernel = *staging.kernel;
  PlaceInKernel place(kernel, read.statement);
  Known known(kernel, read.guards, read.loops);
  for (bool splitting : {false, true}) {
    std::optional<Piece> found;
    for (const StagedCopy &copy : staging.copies) {
      if (found) break;
      found = viaCopy(staging, copy, read, known, place, nullptr, splitting);
    }
    if (found) return *found;
  }
  return refusal("what " + kernel.unit->text(read.expr) + " holds cannot be said where it is read", kernel.unit->where(read.expr->getBeginLoc()));
}

} // namespace klineage
