// StagingFlow: see flow.h.
#include "model/flow.h"
#include "model/lifter.h"
#include <algorithm>

namespace klineage {

using namespace clang;

/// One write, or several that together store neighbouring lanes.
struct StagingFlow::Write {
  std::vector<const Access *> writes;
  const Access *source = nullptr;
  IndexExpr sourceIndex;             ///< Of lane 0.
  std::vector<IndexExpr> subscripts; ///< Of lane 0; one a dimension, or the flat index alone.
  unsigned lanes = 1;
  std::vector<int64_t> laneStep;     ///< Per dimension.
  int64_t sourceStep = 1;
  const Expr *otherwise = nullptr;
};

namespace {

const char *const laneKey = "lane'";

IndexExpr laneAtom(unsigned lanes) {
  auto atom = std::make_shared<Atom>();
  atom->kind = Atom::LoopVariable;
  atom->key = laneKey;
  atom->left = 0;
  atom->right = int64_t(lanes);
  atom->hasRange = true;
  return IndexExpr::of(atom);
}

/// The same quantity in the thread (and the copy loop) that wrote.
AtomRef ofWriter(const AtomRef &atom, const IndexExpr *end = nullptr) {
  auto made = std::make_shared<Atom>(*atom);
  made->key += "'";
  if (end) {
    made->right = *end;
    made->hasRange = true;
  }
  return made;
}

bool isWriters(const Atom &atom) {
  if (!atom.key.empty() && atom.key.back() == '\'') return true;
  if (atom.kind < Atom::Quotient) return false;
  for (const IndexExpr *side : {&atom.left, &atom.right})
    for (const AtomRef &inner : side->atoms())
      if (!inner->key.empty() && inner->key.back() == '\'') return true;
  return false;
}
bool mentionsWriter(const IndexExpr &expr) {
  for (const AtomRef &atom : expr.atoms())
    if (isWriters(*atom)) return true;
  return false;
}

/// Solves equations `form = target` over the writer's quantities.
class Solver {
public:
  std::map<std::string, IndexExpr> solved; ///< By key, in the reader's terms.
  std::vector<std::pair<IndexExpr, AtomRef>> digits;

  bool run(std::vector<std::pair<IndexExpr, IndexExpr>> equations) {
    for (size_t pass = 0; pass < 4 && !equations.empty(); ++pass) {
      std::vector<std::pair<IndexExpr, IndexExpr>> left;
      for (auto &[form, target] : equations) {
        IndexExpr known = form.substitute(solved);
        if (!one(known, target)) left.push_back({form, target});
      }
      if (left.size() == equations.size()) return false;
      equations = left;
    }
    return equations.empty();
  }

  /// Quantities that are only known by their digits: t = m (t / m) + t % m.
  void rebuild(const std::vector<AtomRef> &wanted) {
    for (const AtomRef &atom : wanted)
      if (atom->kind < Atom::Quotient && isWriters(*atom) && !solved.count(atom->key))
        if (auto value = fromDigits(IndexExpr::of(atom), 0)) solved[atom->key] = *value;
  }

private:
  std::optional<IndexExpr> fromDigits(const IndexExpr &whole, unsigned depth) {
    if (depth > 6) return std::nullopt;
    if (!mentionsWriter(whole)) return whole;
    IndexExpr put = whole.substitute(solved);
    if (!mentionsWriter(put)) return put;
    for (const auto &[expr, atom] : digits)
      if (atom->kind == Atom::Remainder && atom->left == whole)
        if (auto high = fromDigits(quotient(whole, atom->right), depth + 1)) return *high * atom->right + solved.at(atom->key);
    return std::nullopt;
  }

  void keep(const AtomRef &atom, const IndexExpr &value) {
    solved[atom->key] = value;
    digits.push_back({IndexExpr::of(atom), atom});
  }

  bool one(const IndexExpr &form, const IndexExpr &target) {
    IndexExpr rest = target;
    struct Digit { AtomRef atom; int64_t scale; };
    std::vector<Digit> unknowns;
    for (const auto &[key, term] : form.terms()) {
      bool own = false;
      for (const AtomRef &atom : term.first) own |= isWriters(*atom);
      if (!own) rest = rest - IndexExpr::term(term.first, term.second);
      else if (term.first.size() == 1 && term.second > 0) unknowns.push_back({term.first[0], term.second});
      else return false;
    }
    if (unknowns.empty()) return rest == IndexExpr();
    std::sort(unknowns.begin(), unknowns.end(), [](const Digit &a, const Digit &b) { return a.scale > b.scale; });
    std::vector<IndexExpr> values;
    for (size_t i = 0; i < unknowns.size(); ++i) {
      int64_t below = 0; // The most that the lower digits make together.
      for (size_t j = i + 1; j < unknowns.size(); ++j) {
        auto top = upperBound(IndexExpr::of(unknowns[j].atom));
        if (!top || !isNonNegative(IndexExpr::of(unknowns[j].atom))) return false;
        below += unknowns[j].scale * *top;
      }
      if (below >= unknowns[i].scale) return false;
      if (i + 1 == unknowns.size()) {
        auto exact = exactQuotient(rest, unknowns[i].scale);
        if (!exact) return false;
        values.push_back(*exact);
      } else {
        values.push_back(quotient(rest, unknowns[i].scale));
        rest = remainder(rest, unknowns[i].scale);
      }
    }
    for (size_t i = 0; i < unknowns.size(); ++i) {
      const Atom &atom = *unknowns[i].atom;
      if (atom.kind == Atom::Xor) {
        // x ^ known = value gives x = value ^ known.
        bool leftIsOwn = mentionsWriter(atom.left), rightIsOwn = mentionsWriter(atom.right);
        if (leftIsOwn == rightIsOwn) return false;
        if (!one(leftIsOwn ? atom.left : atom.right, bitwise(Atom::Xor, values[i], leftIsOwn ? atom.right : atom.left))) return false;
      } else if (atom.kind == Atom::And || atom.kind == Atom::Or || atom.kind == Atom::Minimum || atom.kind == Atom::Maximum || atom.kind == Atom::Opaque) {
        return false;
      } else {
        keep(unknowns[i].atom, values[i]);
      }
    }
    return true;
  }
};

const Loop *innermostCommon(const Access &a, const Access &b) {
  const Loop *common = nullptr;
  for (size_t i = 0; i < a.loops.size() && i < b.loops.size() && a.loops[i] == b.loops[i]; ++i) common = a.loops[i];
  return common;
}

const Access *accessAt(const KernelModel &kernel, const Expr *expr, const std::vector<const CallExpr *> &calls) {
  for (const Access &access : kernel.accesses)
    if (access.kind == Access::Read && access.expr == expr && access.calls == calls) return &access;
  return nullptr;
}

/// The load that a stored value is, and which scalar of it; null when something is computed.
std::pair<const Access *, int64_t> loadOf(const KernelModel &kernel, const Expr *value, const Access &write, unsigned depth = 0) {
  std::pair<const Access *, int64_t> none{nullptr, 0};
  if (!value || depth > 8) return none;
  value = bare(value);
  if (const Access *access = accessAt(kernel, value, write.calls)) return {access, 0};
  if (auto *choice = dyn_cast<ConditionalOperator>(value)) {
    auto yes = loadOf(kernel, choice->getTrueExpr(), write, depth + 1), no = loadOf(kernel, choice->getFalseExpr(), write, depth + 1);
    if (yes.first && no.first) return none;
    return yes.first ? yes : no;
  }
  if (auto *member = dyn_cast<MemberExpr>(value)) {
    auto *field = dyn_cast<FieldDecl>(member->getMemberDecl());
    auto load = loadOf(kernel, member->getBase(), write, depth + 1);
    if (load.first && field) load.second += field->getFieldIndex();
    return load;
  }
  if (auto *construct = dyn_cast<CXXConstructExpr>(value); construct && construct->getNumArgs() == 1) return loadOf(kernel, construct->getArg(0), write, depth + 1);
  if (auto *castExpr = dyn_cast<ExplicitCastExpr>(value); castExpr && castExpr->getType().getCanonicalType().getUnqualifiedType() == castExpr->getSubExpr()->getType().getCanonicalType().getUnqualifiedType())
    return loadOf(kernel, castExpr->getSubExpr(), write, depth + 1);
  if (auto *ref = dyn_cast<DeclRefExpr>(value))
    if (auto *var = dyn_cast<VarDecl>(ref->getDecl()); var && var->getInit() && !isa<ParmVarDecl>(var) && kernel.changesOf(var) == 0)
      return loadOf(kernel, var->getInit(), write, depth + 1);
  return none;
}

const Expr *alternativeOf(const Expr *value) {
  value = value ? bare(value) : nullptr;
  if (auto *choice = dyn_cast_or_null<ConditionalOperator>(value)) {
    auto isPlain = [](const Expr *e) {
      e = bare(e);
      while (auto *castExpr = dyn_cast<ExplicitCastExpr>(e)) e = bare(castExpr->getSubExpr());
      return isa<FloatingLiteral>(e) || isa<IntegerLiteral>(e) || isa<CXXScalarValueInitExpr>(e) || isa<CallExpr>(e) || isa<UnaryOperator>(e);
    };
    if (isPlain(choice->getFalseExpr())) return choice->getFalseExpr();
    if (isPlain(choice->getTrueExpr())) return choice->getTrueExpr();
  }
  return nullptr;
}

} // namespace

StagingFlow::StagingFlow(const KernelModel &kernel, const ValueDecl *buffer) : kernel(kernel), buffer(buffer) {
  std::vector<const Access *> fills; // Writes of a constant: what is stored where the source is not loaded.
  for (const Access *write : writes()) {
    if (write->kind != Access::Write) { problem = refusal("not_a_copy: the buffer is updated in place"); return; }
    if (!write->exact && write->index.mentionsOpaque()) { problem = refusal("opaque_index: where the buffer is written is not known"); return; }
    auto [source, component] = write->asyncSource ? std::pair<const Access *, int64_t>{write->asyncSource, 0} : loadOf(kernel, write->value, *write);
    if (!source) {
      const Expr *value = write->value ? bare(write->value) : nullptr;
      while (auto *castExpr = dyn_cast_or_null<ExplicitCastExpr>(value)) value = bare(castExpr->getSubExpr());
      if (isa_and_nonnull<FloatingLiteral>(value) || isa_and_nonnull<IntegerLiteral>(value)) { fills.push_back(write); continue; }
      problem = refusal("not_a_copy: a value is computed on the way into the buffer");
      return;
    }
    if (source->buffer == buffer) { problem = refusal("not_a_copy: the buffer is copied from itself"); return; }
    auto made = std::make_shared<Write>();
    made->writes.push_back(write);
    made->source = source;
    made->sourceIndex = source->index + component;
    made->subscripts = write->subscripts.empty() ? std::vector<IndexExpr>{write->index} : write->subscripts;
    // Elements of an array of vectors are counted in scalars.
    if (!write->subscripts.empty())
      if (const Buffer *known = kernel.bufferOf(buffer); known && known->vectorWidth > 1) made->subscripts = {write->index};
    made->lanes = write->width;
    made->laneStep.assign(made->subscripts.size(), 0);
    made->laneStep.back() = 1;
    made->otherwise = alternativeOf(write->value);
    groups.push_back(made);
  }
  for (const Access *fill : fills)
    for (auto &group : groups)
      if (group->writes[0]->index == fill->index) group->otherwise = fill->value;
  // Writes that differ by a constant in the buffer and in the source are the lanes of one.
  std::vector<std::shared_ptr<Write>> merged;
  for (auto &group : groups) {
    bool taken = false;
    for (auto &into : merged) {
      if (taken || group->lanes != 1 || into->writes[0]->width != 1 || into->source->buffer != group->source->buffer || into->subscripts.size() != group->subscripts.size() ||
          into->writes[0]->loops != group->writes[0]->loops) continue;
      auto sourceGap = (group->sourceIndex - into->sourceIndex).constant();
      std::vector<int64_t> gap;
      bool isConstant = sourceGap.has_value();
      for (size_t d = 0; d < group->subscripts.size() && isConstant; ++d) {
        auto c = (group->subscripts[d] - into->subscripts[d]).constant();
        isConstant = c.has_value();
        if (c) gap.push_back(*c);
      }
      if (!isConstant) continue;
      int64_t lane = into->lanes;
      bool fits = lane == 1 || *sourceGap == into->sourceStep * lane;
      for (size_t d = 0; d < gap.size(); ++d) fits &= lane == 1 ? gap[d] >= 0 : gap[d] == into->laneStep[d] * lane;
      if (!fits) continue;
      if (lane == 1) { into->laneStep = gap; into->sourceStep = *sourceGap; }
      ++into->lanes;
      into->writes.push_back(group->writes[0]);
      taken = true;
    }
    if (!taken) merged.push_back(group);
  }
  groups = merged;
  if (groups.empty()) problem = refusal("no_write: nothing is copied into the buffer");
}

std::vector<const Access *> StagingFlow::reads() const {
  std::vector<const Access *> found;
  for (const Access *access : kernel.accessesOf(buffer))
    if (access->kind == Access::Read) found.push_back(access);
  return found;
}

std::vector<const Access *> StagingFlow::writes() const {
  std::vector<const Access *> found;
  for (const Access *access : kernel.accessesOf(buffer))
    if (access->kind != Access::Read) found.push_back(access);
  return found;
}

Result<SeenSource> StagingFlow::through(const Write &group, const Access &read, unsigned lane, StagedCopy::When when, const Loop *first) const {
  const Access &write = *group.writes[0];
  const Loop *common = innermostCommon(write, read);
  bool isThreadOwn = write.space == Space::Local;
  // The writer's own quantities get names of their own.
  std::map<std::string, IndexExpr> rename;
  if (!isThreadOwn)
    for (unsigned axis = 0; axis < 3; ++axis) {
      auto size = kernel.blockSize(axis);
      AtomRef atom = size ? threadIdx(axis, *size) : threadIdx(axis);
      if (size == 1) rename[atom->key] = 0;
      else rename[atom->key] = IndexExpr::of(ofWriter(atom));
    }
  for (const Loop *loop : write.loops)
    if (std::find(read.loops.begin(), read.loops.end(), loop) == read.loops.end()) {
      IndexExpr begin = kernel.bound(loop->begin).substitute(rename), end = kernel.bound(loop->end).substitute(rename);
      auto step = kernel.bound(loop->step).constant();
      if (step && *step > 1 && !loop->descending) {
        // Turns are counted, so that a start in [0, step) and the turn are two digits.
        IndexExpr span = end - begin;
        auto longest = upperBound(span);
        IndexExpr turns = quotient((longest ? IndexExpr(*longest) : span) + IndexExpr(*step - 1), *step);
        rename[loopVariable(loop->variable)->key] = begin + IndexExpr(*step) * IndexExpr::of(ofWriter(loopVariable(loop->variable, 0, turns)));
      } else {
        rename[loopVariable(loop->variable)->key] = IndexExpr::of(ofWriter(loopVariable(loop->variable, begin, end)));
      }
    }
  if (when == StagedCopy::PreviousIteration && common)
    rename[loopVariable(common->variable)->key] = IndexExpr::of(loopVariable(common->variable, common->begin, common->end)) - common->step;
  // A write before the loop is seen in its first iteration.
  auto readers = [&](const IndexExpr &expr) {
    IndexExpr at = kernel.bound(expr);
    return first ? at.substitute(loopVariable(first->variable), first->begin) : at;
  };
  auto writers = [&](const IndexExpr &expr) { return kernel.bound(expr).substitute(rename); };
  IndexExpr laneDigit = group.lanes > 1 ? laneAtom(group.lanes) : IndexExpr(0);

  std::vector<IndexExpr> readAt = read.subscripts.size() == group.subscripts.size() && group.subscripts.size() > 1 ? read.subscripts : std::vector<IndexExpr>{read.index};
  bool perDimension = readAt.size() == group.subscripts.size() && (readAt.size() > 1 || group.subscripts.size() == 1);
  std::vector<std::pair<IndexExpr, IndexExpr>> equations;
  if (perDimension && !(readAt.size() == 1 && group.subscripts.size() == 1 && !write.subscripts.empty() && write.subscripts.size() > 1)) {
    for (size_t d = 0; d < readAt.size(); ++d) {
      IndexExpr target = readers(readAt[d]) + (d + 1 == readAt.size() ? IndexExpr(int64_t(lane)) : IndexExpr(0));
      equations.push_back({writers(group.subscripts[d]) + laneDigit * IndexExpr(group.laneStep[d]), target});
    }
  } else {
    // One is flat: compare flat indices, with the lanes' distance as the array's extents make it.
    int64_t step = 0, stride = 1;
    const Buffer *known = kernel.bufferOf(buffer);
    for (size_t d = group.laneStep.size(); d-- > 0;) {
      step += group.laneStep[d] * stride;
      if (known && d < known->extents.size()) stride *= known->extents[d];
    }
    equations.push_back({writers(write.index) + laneDigit * IndexExpr(step), readers(read.index) + IndexExpr(int64_t(lane))});
  }
  Solver solver;
  if (!solver.run(equations)) return refusal("unsolved: the place " + write.index.key() + " is not solved for the thread that writes " + read.index.key());
  IndexExpr source = writers(group.sourceIndex) + laneDigit * IndexExpr(group.sourceStep);
  std::vector<AtomRef> wanted = source.atoms();
  std::vector<Comparison> comparisons = kernel.known(group.source->guards);
  for (Comparison &comparison : comparisons) {
    comparison.difference = writers(comparison.difference);
    for (const AtomRef &atom : comparison.difference.atoms()) wanted.push_back(atom);
  }
  solver.rebuild(wanted);
  SeenSource seen;
  seen.buffer = group.source->buffer;
  seen.index = source.substitute(solver.solved);
  if (mentionsWriter(seen.index)) return refusal("unsolved: the element of " + seen.buffer->getNameAsString() + " depends on more of the writing thread than its place in the buffer tells");
  for (Comparison &comparison : comparisons) {
    comparison.difference = comparison.difference.substitute(solver.solved);
    // A guard such as `if (t < 64)` on who copies says nothing about the element.
    if (mentionsWriter(comparison.difference)) seen.unliftedGuard = true;
    else if (auto c = comparison.difference.constant(); c && (comparison.relation == Comparison::Less ? *c < 0 : comparison.relation == Comparison::LessOrEqual ? *c <= 0 : comparison.relation == Comparison::Equal ? *c == 0 : *c != 0)) continue;
    else if (comparison.relation == Comparison::Less && isNonNegative(IndexExpr(0) - comparison.difference - 1)) continue;
    else seen.guards.push_back(comparison);
  }
  for (const Guard &guard : group.source->guards)
    if (kernel.known({guard}).empty()) seen.unliftedGuard = true;
  seen.otherwise = group.otherwise;
  for (const Access *part : group.writes) seen.copies.push_back({part, group.source, when});
  seen.proved = true;
  for (const auto &[form, target] : equations) seen.proved &= form.substitute(solver.solved) == target;
  return seen;
}

Result<SeenSource> StagingFlow::seenBy(const Access &read, unsigned lane) const {
  if (problem) return *problem;
  if (read.index.mentionsOpaque()) return refusal("opaque_index: which element is read depends on data");
  std::optional<SeenSource> inside, before;
  std::optional<Error> why;
  for (const auto &group : groups) {
    const Access &write = *group->writes[0];
    const Loop *common = innermostCommon(write, read);
    bool earlier = write.order < read.order;
    if (!earlier && !common) continue;
    // A write before the loop that another write continues inside.
    const Loop *first = nullptr;
    if (earlier)
      for (const auto &other : groups)
        if (const Loop *nearer = innermostCommon(*other->writes[0], read); other != group && nearer && nearer != common) first = nearer;
    bool isPrologue = first != nullptr;
    std::optional<SeenSource> found;
    std::vector<StagedCopy::When> tries;
    if (earlier) tries.push_back(StagedCopy::SameIteration);
    if (common && !isPrologue) tries.push_back(StagedCopy::PreviousIteration);
    for (auto when : tries) {
      bool isOrdered = write.space != Space::Shared;
      for (const Barrier &barrier : kernel.barriers) {
        if (barrier.kind == Barrier::AsyncWait) continue;
        bool inCommon = common && std::find(barrier.loops.begin(), barrier.loops.end(), common) != barrier.loops.end();
        // From one iteration to the next, between the write and the read lies the loop's back edge.
        if (when == StagedCopy::SameIteration) isOrdered |= barrier.order > write.order && barrier.order < read.order;
        else isOrdered |= inCommon && (barrier.order > write.order || barrier.order < read.order);
      }
      if (!isOrdered) {
        if (!why) why = refusal("no_barrier: no barrier stands between the write and the read");
        continue;
      }
      auto seen = through(*group, read, lane, when, first);
      if (seen) { found = *seen; break; }
      if (!why || when == StagedCopy::SameIteration) why = seen.error();
    }
    if (!found) {
      // A read that may see a copy which is not understood is not understood.
      if (why) return *why;
      continue;
    }
    auto &slot = isPrologue ? before : inside;
    if (isPrologue) for (auto &copy : found->copies) copy.when = StagedCopy::BeforeLoop;
    if (slot && !(slot->buffer == found->buffer && slot->index == found->index))
      return refusal("several_sources: the read may see writes that copy different elements");
    if (slot) slot->copies.insert(slot->copies.end(), found->copies.begin(), found->copies.end());
    else slot = found;
  }
  if (!inside && !before) return why ? *why : refusal("no_write: no write comes before the read");
  if (!inside || !before) return inside ? *inside : *before;
  // The first iteration sees the write before the loop: the formula must give its element there.
  const Loop *carrier = nullptr;
  for (const StagedCopy &copy : inside->copies) carrier = innermostCommon(*copy.write, read);
  AtomRef variable = carrier ? loopVariable(carrier->variable) : nullptr;
  IndexExpr first = variable ? inside->index.substitute(variable, carrier->begin) : inside->index;
  IndexExpr entering = variable ? before->index.substitute(variable, carrier->begin) : before->index;
  if (before->buffer != inside->buffer || !(first == entering))
    return refusal("several_sources: the first iteration of the loop sees " + entering.key() + ", the others' formula gives " + first.key());
  inside->copies.insert(inside->copies.end(), before->copies.begin(), before->copies.end());
  inside->proved &= before->proved;
  return *inside;
}

std::optional<std::string> spelled(const KernelModel &kernel, const Comparison &comparison, const std::map<std::string, std::string> &names) {
  IndexExpr left, right;
  for (const auto &[key, term] : comparison.difference.terms())
    if (term.second > 0) left = left + IndexExpr::term(term.first, term.second);
    else right = right + IndexExpr::term(term.first, -term.second);
  auto a = kernel.spelled(left, names), b = kernel.spelled(right, names);
  if (!a || !b) return std::nullopt;
  static const char *relations[] = {" == ", " != ", " < ", " <= "};
  return *a + relations[comparison.relation] + *b;
}

} // namespace klineage
