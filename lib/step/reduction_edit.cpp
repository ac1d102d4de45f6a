#include "step/reduction_edit.h"
#include "step/source_text.h"
#include <algorithm>

namespace klineage {
using namespace clang;

namespace {

const FieldDecl *fieldAt(QualType type, int index) {
  for (const FieldDecl *field : type.getNonReferenceType()->getAsCXXRecordDecl()->fields())
    if (int(field->getFieldIndex()) == index) return field;
  return nullptr;
}

/// "[1][0]" for an element that is counted in innermost elements.
std::string subscripts(const ValueDecl *array, int64_t cell) {
  std::string text;
  const ASTContext &ast = array->getASTContext();
  for (QualType type = array->getType(); const auto *level = ast.getAsConstantArrayType(type); type = level->getElementType()) {
    int64_t each = innermostCount(level->getElementType(), ast);
    text += "[" + std::to_string(cell / each) + "]";
    cell %= each;
  }
  return text;
}

bool within(const Unit::Place &place, const Edit &edit) {
  return place.file == edit.file && place.offset >= edit.offset && place.offset + place.length <= edit.offset + edit.length;
}

void walk(const Stmt *stmt, const std::function<void(const Stmt *)> &see) {
  if (!stmt) return;
  see(stmt);
  if (const auto *pseudo = dyn_cast<PseudoObjectExpr>(stmt)) return walk(pseudo->getSyntacticForm(), see);
  for (const Stmt *child : stmt->children()) walk(child, see);
}

/// The exponential that the region itself calls, so that precision and base stay the author's.
std::string exponentialIn(const std::vector<const Stmt *> &statements, bool baseTwo) {
  std::string found;
  std::set<const FunctionDecl *> visited;
  std::function<void(const Stmt *)> see = [&](const Stmt *stmt) {
    const auto *call = dyn_cast<CallExpr>(stmt);
    if (!call || !found.empty()) return;
    std::string name = calleeName(call);
    if (baseTwo ? name == "exp2f" || name == "exp2" : name == "expf" || name == "exp" || name == "__expf") found = name;
    const FunctionDecl *callee = call->getDirectCallee(), *body = nullptr;
    if (callee && name.compare(0, 2, "__") != 0 && callee->hasBody(body) && visited.insert(body).second) walk(body->getBody(), see);
  };
  for (const Stmt *stmt : statements) walk(stmt, see);
  return found.empty() ? baseTwo ? "exp2f" : "expf" : found;
}

/// One region being written.
class RegionWriter {
public:
  RegionWriter(const Unit &unit, const ReductionRegion &region, const BlockShape &shape, CombineWriter writer)
      : unit(unit), region(region), shape(shape), writer(writer) {}

  Result<RegionText> write() {
    auto place = wholeStatements(unit, region.statements.front(), region.statements.back());
    if (!place) return place.error();
    for (const Stmt *stmt : region.kept) {
      auto kept = wholeStatement(unit, stmt);
      if (!kept) return kept.error();
      text += textAt(unit, *kept) + "\n";
    }
    for (const Total &total : region.totals) {
      if (!typeOf(total)->isArithmeticType()) return refusal("the total has no plain arithmetic type", unit.where(region.statements.front()->getBeginLoc()));
      nameTarget(total);
    }
    // All inputs are taken before any total is changed; a rescaled sum also needs its thread's own maximum.
    for (size_t i = 0; i < region.totals.size(); ++i) {
      if (region.totals[i].combine != Combine::ScaledSum || !writer) continue;
      own = freshName(unit, "own", taken);
      text += "const " + spelled(typeOf(region.totals[i])) + " " + own + " = " + textOf(unit, region.totals[i].maximumOf) + ";\n";
    }
    for (size_t i = 0; i < region.totals.size(); ++i) start(i);
    if (Status done = apart(); !done) return done.error();
    for (bool scaled : {false, true}) combine(scaled);
    if (!returned.empty()) text += "return " + returned + ";\n";
    if (!text.empty()) text.pop_back(); // the line's end stands in the file
    return RegionText{*place, text, reads};
  }

private:
  const Unit &unit;
  const ReductionRegion &region;
  BlockShape shape;
  CombineWriter writer;
  std::string text, own, returned;
  std::vector<std::string> targets, declared;
  std::set<std::string> taken;
  std::set<const ValueDecl *> started;
  std::map<const Expr *, std::string> reads;

  static std::string spelled(QualType type) { return type->isBooleanType() ? "bool" : type.getNonReferenceType().getUnqualifiedType().getAsString(); }

  bool declaredInside(const ValueDecl *decl) const {
    for (const Stmt *stmt : region.statements)
      if (const auto *decls = dyn_cast<DeclStmt>(stmt))
        if (std::find(decls->decl_begin(), decls->decl_end(), decl) != decls->decl_end()) return true;
    return false;
  }

  void nameTarget(const Total &total) {
    const TotalPlace &place = total.place;
    if (place.decl && !place.element) {
      std::string name = place.decl->getNameAsString();
      if (place.field >= 0) name += "." + fieldAt(place.decl->getType(), place.field)->getNameAsString();
      if (place.cell >= 0) name += subscripts(place.decl, place.cell);
      targets.push_back(name);
      return;
    }
    targets.push_back(freshName(unit, "total", taken));
    if (!place.decl) returned = targets.back();
    else replaceReads(*total.place.decl, *total.place.element, targets.back());
  }

  /// Reads of the element between the region and the array's next store become reads of the variable.
  void replaceReads(const ValueDecl &array, int64_t element, const std::string &with) {
    auto list = region.body->body();
    auto at = std::find(list.begin(), list.end(), region.statements.back());
    std::set<const Stmt *> stores;
    bool stored = false;
    for (++at; at != list.end() && !stored; ++at) {
      walk(*at, [&](const Stmt *stmt) {
        if (const auto *assign = dyn_cast<BinaryOperator>(stmt); assign && assign->isAssignmentOp())
          if (!referencesTo(assign->getLHS(), &array).empty()) stored = true;
      });
      walk(*at, [&](const Stmt *stmt) {
        const auto *cast = dyn_cast<ImplicitCastExpr>(stmt);
        if (!cast || cast->getCastKind() != CK_LValueToRValue) return;
        const Expr *read = cast->getSubExpr()->IgnoreParens(), *base = read;
        if (const auto *subscript = dyn_cast<ArraySubscriptExpr>(read)) {
          Expr::EvalResult index;
          if (subscript->getIdx()->isValueDependent() || !subscript->getIdx()->EvaluateAsInt(index, array.getASTContext()) ||
              index.Val.getInt().getExtValue() != element)
            return;
          base = subscript->getBase()->IgnoreParenImpCasts();
        }
        const auto *ref = dyn_cast<DeclRefExpr>(base);
        if (!ref || ref->getDecl() != &array) return;
        reads[read] = with;
      });
    }
  }

  void start(size_t i) {
    const Total &total = region.totals[i];
    std::string input = textOf(unit, total.input);
    const ValueDecl *decl = total.place.decl;
    bool fresh = !decl || total.place.element;
    if (total.place.cell >= 0) {
      if (declaredInside(decl) && started.insert(decl).second) {
        std::string declared = decl->getNameAsString();
        decl->getType().getUnqualifiedType().getAsStringInternal(declared, decl->getASTContext().getPrintingPolicy());
        text += declared + ";\n";
      }
      if (input != targets[i]) text += targets[i] + " = " + input + ";\n";
      return;
    }
    if (!fresh && total.place.field >= 0) {
      if (declaredInside(decl) && started.insert(decl).second) text += spelled(decl->getType()) + " " + decl->getNameAsString() + ";\n";
      if (input != targets[i]) text += targets[i] + " = " + input + ";\n";
      return;
    }
    if (fresh || (declaredInside(decl) && started.insert(decl).second)) text += spelled(typeOf(total)) + " " + targets[i] + " = " + input + ";\n";
    else if (input != targets[i]) text += targets[i] + " = " + input + ";\n";
  }

  /// A value that is taken must not have been overwritten by the total before it.
  Status apart() const {
    for (size_t i = 0; i < region.totals.size(); ++i)
      for (size_t k = 0; k < i; ++k)
        if (textOf(unit, region.totals[i].input) == targets[k] && textOf(unit, region.totals[k].input) != targets[k])
          return refusal("the totals change places", unit.where(region.statements.front()->getBeginLoc()));
    return Done{};
  }

  /// The plain totals in one go, then the rescaled sums, which need their maxima.
  void combine(bool scaled) {
    CombineForm form;
    form.shape = shape;
    form.group = region.group;
    for (size_t i = 0; i < region.totals.size(); ++i) {
      const Total &total = region.totals[i];
      if ((total.combine == Combine::ScaledSum) != scaled || !writer) continue;
      if (scaled) rescale(i);
      CombineForm::Value value;
      value.variable = targets[i];
      value.slots = freshName(unit, targets[i].substr(0, targets[i].find_first_of(".[")) + "Slots", taken);
      value.type = typeOf(total);
      value.combine = total.combine;
      form.values.push_back(std::move(value));
    }
    if (!form.values.empty()) text += writer(form);
  }

  void rescale(size_t i) {
    const Total &total = region.totals[i];
    std::string maximum;
    for (size_t k = 0; k < region.totals.size(); ++k)
      if (region.totals[k].combine == Combine::Maximum && textOf(unit, region.totals[k].input) == textOf(unit, total.maximumOf)) maximum = targets[k];
    // Equal maxima may both be -INFINITY, whose difference is no number.
    std::string exponential = exponentialIn(region.statements, total.baseTwo);
    text += targets[i] + " *= " + own + " == " + maximum + " ? 1.0f : " + exponential + "(" + own + " - " + maximum + ");\n";
  }
};

/// Words of the sources outside some ranges, comments and strings left out.
class Words {
public:
  explicit Words(const Unit &unit) {
    const LangOptions &options = unit.ast(Side::Device).getLangOpts();
    for (const auto &[file, text] : unit.sources().files) {
      Lexer lexer(SourceLocation(), options, text.data(), text.data(), text.data() + text.size());
      Token token;
      while (!lexer.LexFromRawLexer(token))
        if (token.is(tok::raw_identifier)) all.push_back({file, unsigned(lexer.getBufferLocation() - text.data()) - token.getLength(), token.getRawIdentifier().str()});
    }
  }
  bool usedOutside(const std::string &word, const Edits &edits) const {
    for (const Word &one : all) {
      if (one.text != word) continue;
      bool gone = false;
      for (const Edit &edit : edits) gone = gone || (one.file == edit.file && one.offset >= edit.offset && one.offset < edit.offset + edit.length);
      if (!gone) return true;
    }
    return false;
  }

private:
  struct Word { std::string file; unsigned offset; std::string text; };
  std::vector<Word> all;
};

/// Asking a cooperative group for itself, its size or a rank, or making one of threads that are there.
bool asksGroup(const CallExpr *call) {
  static const std::set<std::string> questions = {"this_thread_block", "tiled_partition", "thread_rank", "meta_group_rank", "meta_group_size", "size", "num_threads"};
  const FunctionDecl *callee = call->getDirectCallee();
  return callee && inCooperativeGroups(callee) && questions.count(callee->getNameAsString());
}

/// Computing it changes nothing: no call but of a thread index, no assignment.
bool quiet(const Expr *expr) {
  bool quiet = true;
  walk(expr, [&](const Stmt *stmt) {
    if (const auto *call = dyn_cast<CallExpr>(stmt)) quiet = quiet && call->getDirectCallee() && (calleeName(call).compare(0, 5, "__ldg") == 0 || asksGroup(call));
    if (const auto *op = dyn_cast<BinaryOperator>(stmt)) quiet = quiet && !op->isAssignmentOp();
    if (const auto *op = dyn_cast<UnaryOperator>(stmt)) quiet = quiet && !op->isIncrementDecrementOp();
  });
  return quiet;
}

bool mentionedIn(const std::string &word, const Edits &edits) {
  auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const Edit &edit : edits)
    for (size_t at = edit.replacement.find(word); at != std::string::npos; at = edit.replacement.find(word, at + 1))
      if (!(at && letter(edit.replacement[at - 1])) && !(at + word.size() < edit.replacement.size() && letter(edit.replacement[at + word.size()]))) return true;
  return false;
}

} // namespace

QualType typeOf(const Total &total) {
  QualType type;
  if (!total.place.decl) type = total.input.variable ? total.input.variable->getType() : total.input.expr->getType();
  else type = total.place.decl->getType();
  type = innermostType(type);
  if (total.place.field >= 0) type = fieldAt(type, total.place.field)->getType();
  else if (!total.place.decl && total.input.field >= 0) type = fieldAt(type, total.input.field)->getType();
  return type.getUnqualifiedType();
}

std::string textOf(const Unit &unit, const SampleInput &input) {
  std::string text = input.variable ? input.variable->getNameAsString() : unit.text(input.expr);
  if (input.field >= 0) {
    QualType type = input.variable ? input.variable->getType() : input.expr->getType();
    text += "." + fieldAt(type, input.field)->getNameAsString();
  }
  if (input.cell >= 0) text += subscripts(input.variable, input.cell);
  return text;
}

Result<RegionText> writeRegion(const Unit &unit, const ReductionRegion &region, const BlockShape &shape, CombineWriter writer) {
  return RegionWriter(unit, region, shape, writer).write();
}

namespace {

/// A helper's scratch pointer that its new body does not read any more goes, with the arguments of its calls.
Status removeScratch(const Version &version, const ReductionRegion &region, Edits &edits) {
  const Unit &unit = version.unit;
  const FunctionDecl *helper = region.function;
  if (helper == region.kernel->function || helper->getNumParams() < 2) return Done{};
  std::vector<std::pair<const FunctionDecl *, const CallExpr *>> calls;
  std::set<const FunctionDecl *> visited;
  std::function<void(const FunctionDecl *)> visit = [&](const FunctionDecl *function) {
    if (!visited.insert(function).second) return;
    walk(function->getBody(), [&](const Stmt *stmt) {
      const auto *call = dyn_cast<CallExpr>(stmt);
      const FunctionDecl *body = nullptr;
      if (!call || !call->getDirectCallee() || !call->getDirectCallee()->hasBody(body)) return;
      if (body == helper || (body->getTemplateInstantiationPattern() && body->getTemplateInstantiationPattern() == helper->getTemplateInstantiationPattern()))
        calls.push_back({function, call});
      visit(body);
    });
  };
  for (const KernelModel &kernel : version.kernels) visit(kernel.function);
  for (unsigned i = 0; i < helper->getNumParams(); ++i) {
    const ParmVarDecl *parameter = helper->getParamDecl(i);
    if (!parameter->getType()->isPointerType() || helper->getNumParams() < 2) continue;
    auto references = referencesTo(helper->getBody(), parameter);
    bool dead = !references.empty();
    for (const DeclRefExpr *ref : references) {
      auto at = unit.place(ref);
      dead = dead && at && std::any_of(edits.begin(), edits.end(), [&](const Edit &edit) { return within(*at, edit); });
    }
    if (!dead) continue;
    auto cut = [&](const std::function<SourceRange(unsigned)> &range) -> Status {
      auto mine = unit.place(range(i)), beside = unit.place(range(i ? i - 1 : i + 1));
      if (!mine || !beside) return (mine ? beside : mine).error();
      unsigned begin = i ? beside->offset + beside->length : mine->offset;
      unsigned end = i ? mine->offset + mine->length : beside->offset;
      Edit edit{mine->file, begin, end - begin, ""};
      for (const Edit &known : edits)
        if (known.file == edit.file && known.offset == edit.offset && known.length == edit.length) return Done{};
      edits.push_back(edit);
      return Done{};
    };
    if (Status done = cut([&](unsigned k) { return helper->getParamDecl(k)->getSourceRange(); }); !done) return done;
    for (const auto &[caller, call] : calls) {
      const CallExpr *one = call;
      if (Status done = cut([&](unsigned k) { return one->getArg(k)->getSourceRange(); }); !done) return done;
    }
    for (const auto &[caller, call] : calls)
      if (Status done = removeUnused(version, caller, edits, {}); !done) return done;
    break; // one scratch buffer is what such helpers take
  }
  return Done{};
}

} // namespace

Result<Edits> rewriteRegion(const Version &version, const ReductionRegion &region, const BlockShape &shape, CombineWriter writer) {
  auto written = writeRegion(version.unit, region, shape, writer);
  if (!written) return written.error();
  Edits edits{{written->place.file, written->place.offset, written->place.length, written->text}};
  for (const auto &[read, with] : written->reads) {
    auto place = version.unit.place(read);
    if (!place) return place.error();
    edits.push_back({place->file, place->offset, place->length, with});
  }
  if (Status scratch = removeScratch(version, region, edits); !scratch) return scratch.error();
  if (Status unused = removeUnused(version, region.function, edits, region.calls); !unused) return unused.error();
  return edits;
}

Status removeUnused(const Version &version, const FunctionDecl *function, Edits &edits, const std::set<const FunctionDecl *> &helpers) {
  const Unit &unit = version.unit;
  std::vector<const DeclStmt *> declarations;
  walk(function->getBody(), [&](const Stmt *stmt) {
    if (const auto *decls = dyn_cast<DeclStmt>(stmt)) declarations.push_back(decls);
  });
  auto gone = [&](const Unit::Place &place) {
    return std::any_of(edits.begin(), edits.end(), [&](const Edit &edit) { return within(place, edit); });
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const DeclStmt *decls : declarations) {
      auto place = wholeStatement(unit, decls);
      if (!place || gone(*place)) continue;
      bool dead = true, touched = false;
      for (const Decl *decl : decls->decls()) {
        const auto *variable = dyn_cast<VarDecl>(decl);
        dead = dead && variable && (!variable->getInit() || quiet(variable->getInit()));
        if (!dead) break;
        for (const DeclRefExpr *ref : referencesTo(function->getBody(), variable)) {
          auto at = unit.place(ref);
          touched = true;
          dead = dead && at && gone(*at);
        }
        dead = dead && !mentionedIn(variable->getNameAsString(), edits);
      }
      if (!dead || !touched) continue; // what was never used is not ours to remove
      takeLine(unit, *place);
      std::erase_if(edits, [&](const Edit &edit) { return edit.file == place->file && edit.offset >= place->offset && edit.offset + edit.length <= place->offset + place->length; });
      edits.push_back({place->file, place->offset, place->length, ""});
      changed = true;
    }
  }
  Words words(unit);
  std::set<const FunctionDecl *> candidates;
  std::function<void(const FunctionDecl *)> add = [&](const FunctionDecl *helper) {
    if (!helper->getBody() || isa<CXXMethodDecl>(helper) || !unit.place(helper->getBody()) || !candidates.insert(helper).second) return;
    walk(helper->getBody(), [&](const Stmt *stmt) {
      const auto *call = dyn_cast<CallExpr>(stmt);
      const FunctionDecl *body = nullptr;
      if (call && call->getDirectCallee() && call->getDirectCallee()->hasBody(body)) add(body);
    });
  };
  for (const FunctionDecl *helper : helpers) add(helper);
  for (bool changed = true; changed;) {
    changed = false;
    for (const FunctionDecl *helper : candidates) {
      auto removal = removeFunction(unit, helper);
      if (!removal) continue;
      if (std::any_of(edits.begin(), edits.end(), [&](const Edit &edit) { return edit.file == removal->file && edit.offset == removal->offset; })) continue;
      Edits with = edits;
      with.push_back(*removal);
      if (words.usedOutside(helper->getNameAsString(), with) || mentionedIn(helper->getNameAsString(), edits)) continue;
      std::erase_if(edits, [&](const Edit &edit) { return edit.file == removal->file && edit.offset >= removal->offset && edit.offset + edit.length <= removal->offset + removal->length; });
      edits.push_back(*removal);
      changed = true;
    }
  }
  return Done{};
}

} // namespace klineage
