// The statements half of ShapeReader: loops, branches, declarations.
#include "lineage_db/shape_reader.h"
#include <algorithm>
#include <utility>

namespace klineage::fragment {

Shape ShapeReader::read(const Stmt &root) {
  scan(root);
  statement(root);
  neighbours();
  return std::move(shape);
}

void ShapeReader::scan(const Stmt &stmt) {
  for (const Declarator &d : stmt.names) {
    for (const ExprPtr &extent : d.extents)
      if (extent) scan(*extent, Use::Read);
    if (d.init) scan(*d.init, Use::Read);
  }
  for (const Stmt *child : {stmt.init.get(), stmt.body.get(), stmt.otherwise.get()})
    if (child) scan(*child);
  if (stmt.expr) scan(*stmt.expr, Use::Read);
  if (stmt.increment) scan(*stmt.increment, Use::Read);
  for (const StmtPtr &child : stmt.children) scan(*child);
}

void ShapeReader::scan(const Expr &expr, Use use) {
  if (expr.kind == Expr::Assign || (expr.kind == Expr::Unary && (expr.text == "++" || expr.text == "--"))) {
    scan(*expr.kids[0], expr.text == "=" ? Use::Write : Use::Both);
    if (expr.kids.size() > 1) scan(*expr.kids[1], Use::Read);
    return;
  }
  if (expr.kind == Expr::Name && use != Use::Read) values.written.insert(expr.text);
  if (expr.kind == Expr::Call && expr.kids[0]) {
    const Expr &callee = *expr.kids[0];
    if (knownFunction(callee.kind == Expr::Name || callee.kind == Expr::Member ? callee.text : "") == "barrier") hasBarrier = true;
  }
  if (expr.kind == Expr::Index) {
    int depth = 0;
    const Expr *base = &expr;
    for (; base->kind == Expr::Index; base = base->kids[0].get()) ++depth;
    if (base->kind == Expr::Name) {
      int &seen = dimensions[base->text];
      seen = std::max(seen, depth);
      if (use != Use::Write) indexRead.insert(base->text);
      if (use != Use::Read) indexWritten.insert(base->text);
    }
  }
  for (const ExprPtr &kid : expr.kids)
    if (kid) scan(*kid, Use::Read);
  if (expr.body) scan(*expr.body);
}

void ShapeReader::statements(const std::vector<StmtPtr> &list) {
  int outer = std::exchange(block, ++blockCount);
  std::vector<Pass> outerPasses = std::exchange(passes, {});
  for (const StmtPtr &child : list) statement(*child);
  block = outer;
  passes = std::move(outerPasses);
}

void ShapeReader::statement(const Stmt &stmt) {
  switch (stmt.kind) {
  case Stmt::Block: return statements(stmt.children);
  case Stmt::For:
  case Stmt::While:
  case Stmt::Do: return loop(stmt);
  case Stmt::If: return branch(stmt);
  case Stmt::Declaration: return declaration(stmt);
  case Stmt::Expression:
  case Stmt::Return:
    if (stmt.expr) expression(*stmt.expr, Use::Read);
    return;
  case Stmt::Function: return function(stmt);
  case Stmt::Assembly: return assembly(stmt.text);
  }
}

void ShapeReader::function(const Stmt &stmt) {
  if (stmt.type.global) {
    say("kernel");
    say(stmt.type.launchBounds ? "kernel.bounded" : "kernel.unbounded");
    bool restricted = std::any_of(stmt.parameterTypes.begin(), stmt.parameterTypes.end(), [](const TypeName &t) { return t.restricted; });
    say(restricted ? "kernel.restrict" : "kernel.aliased");
  }
  for (size_t i = 0; i < stmt.parameterTypes.size() && i + 1 < stmt.names.size(); ++i) {
    Values::Name name;
    if (stmt.parameterTypes[i].pointer || stmt.names[i + 1].pointer) {
      name.space = 'g';
      name.width = vectorWidth(stmt.parameterTypes[i].base);
    }
    values.names[stmt.names[i + 1].name] = name;
  }
  if (stmt.body) statement(*stmt.body);
}

void ShapeReader::sharedArray(const Declarator &d, const TypeName &type) {
  Values::Name name;
  name.space = 's';
  name.width = vectorWidth(type.base);
  values.names[d.name] = name;
  if (d.extents.empty() && !d.pointer) return say("shared.scalar");
  say("shared");
  if (type.external) return say("shared.dynamic");
  say("shared." + std::to_string(d.extents.size()) + "d");
  if (d.extents.empty()) return;
  auto last = d.extents.back() ? values.eval(*d.extents.back()) : Poly();
  // A row that is a little longer than the data: an odd number, a sum with a small constant.
  bool padded = false;
  if (auto constant = last.asConstant()) padded = d.extents.size() > 1 && *constant > 8 && *constant % 16 != 0 && *constant % 16 <= 8;
  else padded = last.terms.count({}) && last.terms.at({}) > 0 && last.terms.at({}) <= 16;
  if (d.extents.size() == 1 && last.terms.size() > 1 && last.terms.count({})) padded = true;
  if (d.extents.size() == 1 && d.extents[0] && d.extents[0]->kind == Expr::Binary && d.extents[0]->text == "*")
    for (const ExprPtr &factor : d.extents[0]->kids) { // s[ROWS * (COLS + 1)]
      Poly f = values.eval(*factor);
      if (f.terms.size() > 1 && f.terms.count({}) && f.terms.at({}) > 0 && f.terms.at({}) <= 16) padded = true;
    }
  if (padded) say("shared.pad", 2);
  else if (d.extents.size() > 1) say("shared.unpadded");
  if (d.extents.size() > 1 && d.extents.front()) {
    auto stages = values.eval(*d.extents.front()).asConstant();
    if ((stages && *stages >= 2 && *stages <= 4) || d.extents.size() > 2) say("shared.stages", 2);
  }
}

void ShapeReader::declaration(const Stmt &stmt) {
  const bool floating = stmt.type.base == "float" || stmt.type.base == "double" || stmt.type.base == "half";
  if (vectorWidth(stmt.type.base) > 1 && !stmt.type.pointer) say("vec" + std::to_string(vectorWidth(stmt.type.base)) + ".value");
  for (const Declarator &d : stmt.names) {
    if (stmt.type.shared) {
      sharedArray(d, stmt.type);
      continue;
    }
    Values::Name name;
    if (!d.extents.empty()) {
      name.space = 'r';
      name.width = vectorWidth(stmt.type.base);
      say("local." + std::to_string(d.extents.size()) + "d");
      if (d.init) expression(*d.init, Use::Read);
    } else if (stmt.type.pointer || d.pointer) {
      if (d.init) name.pointer = values.place(*d.init);
      if (name.pointer) {
        name.pointer->width = std::max(name.pointer->width, vectorWidth(stmt.type.base));
        if (name.pointer->width > 1) name.pointer->viaCast = true;
      } else {
        name.width = vectorWidth(stmt.type.base);
      }
    } else {
      name.scalar = true;
      if (d.init) {
        bool outer = std::exchange(integerContext, !floating && stmt.type.base != "auto" && vectorWidth(stmt.type.base) == 1);
        expression(*d.init, Use::Read);
        integerContext = outer;
        if (isExpDifference(*d.init)) name.ofExponential = true;
        Poly value = values.eval(*d.init);
        if (!floating && !values.written.count(d.name)) name.value = value;
        std::string role = roles(value);
        if (!floating && (value.hasRole('x') || value.hasRole('b') || value.hasRole('l') || value.hasRole('w'))) say("index:" + role);
        if (isNextIteration(value)) say("next.iteration");
      }
    }
    values.names[d.name] = name;
  }
}

void ShapeReader::branch(const Stmt &stmt) {
  if (stmt.expr) {
    const Expr &c = *stmt.expr;
    if (c.kind == Expr::Binary && (c.text == "<" || c.text == "==" || c.text == ">=" || c.text == "<=" || c.text == ">")) {
      std::string left = roles(values.eval(*c.kids[0])), right = roles(values.eval(*c.kids[1]));
      bool leaves = stmt.body && (stmt.body->kind == Stmt::Return || (stmt.body->kind == Stmt::Block && stmt.body->children.size() == 1 && stmt.body->children[0]->kind == Stmt::Return));
      say((leaves ? "leave:" : "if:") + left + c.text + right);
      // if (x > m) m = x;
      const Stmt *only = stmt.body.get();
      if (only && only->kind == Stmt::Block && only->children.size() == 1) only = only->children[0].get();
      if (only && only->kind == Stmt::Expression && only->expr && only->expr->kind == Expr::Assign && only->expr->text == "=" && c.text != "==") {
        std::string target = show(*only->expr->kids[0]), value = show(*only->expr->kids[1]);
        if ((show(*c.kids[0]) == value && show(*c.kids[1]) == target) || (show(*c.kids[1]) == value && show(*c.kids[0]) == target))
          reduction(*only->expr->kids[0], "max", *only->expr->kids[1]);
      }
    }
    bool outer = std::exchange(integerContext, true);
    expression(c, Use::Read);
    integerContext = outer;
  }
  if (stmt.body) statement(*stmt.body);
  if (stmt.otherwise) statement(*stmt.otherwise);
}

ShapeReader::Loop ShapeReader::header(const Stmt &stmt) {
  Loop loop;
  loop.number = ++loopCount;
  loop.atom = "i" + std::to_string(loop.number);
  loop.unrolled = stmt.unrolled;
  Poly begin;
  bool known = false;
  if (stmt.init && stmt.init->kind == Stmt::Declaration && !stmt.init->names.empty()) {
    loop.variable = stmt.init->names[0].name;
    if (stmt.init->names[0].init) begin = values.eval(*stmt.init->names[0].init), known = true;
  } else if (stmt.init && stmt.init->expr && stmt.init->expr->kind == Expr::Assign && stmt.init->expr->kids[0]->kind == Expr::Name) {
    loop.variable = stmt.init->expr->kids[0]->text;
    begin = values.eval(*stmt.init->expr->kids[1]);
    known = true;
  }
  // Where does the variable grow: in the header, or, for a while loop, in the body.
  std::string how;
  Poly step;
  auto advance = [&](const Expr &e) {
    if (e.kind == Expr::Unary && (e.text == "++" || e.text == "--") && e.kids[0]->kind == Expr::Name && (loop.variable.empty() || e.kids[0]->text == loop.variable)) {
      loop.variable = e.kids[0]->text;
      step = Poly::constant(1);
      how = "+";
    } else if (e.kind == Expr::Assign && e.kids[0]->kind == Expr::Name && (loop.variable.empty() || e.kids[0]->text == loop.variable)) {
      std::string op = e.text;
      const Expr *value = e.kids[1].get();
      if (op == "=" && value->kind == Expr::Binary && value->kids[0]->kind == Expr::Name && value->kids[0]->text == e.kids[0]->text) {
        op = value->text + "=";
        value = value->kids[1].get();
      }
      if (op == "=") return;
      loop.variable = e.kids[0]->text;
      step = values.eval(*value);
      how = op == ">>=" || op == "/=" ? "halve" : op == "<<=" || op == "*=" ? "double" : "+";
    }
  };
  if (stmt.increment) {
    if (stmt.increment->kind == Expr::List)
      for (const ExprPtr &part : stmt.increment->kids) advance(*part);
    else advance(*stmt.increment);
  } else if (stmt.kind != Stmt::For && stmt.expr && stmt.expr->kind == Expr::Binary && stmt.expr->kids[0]->kind == Expr::Name && stmt.body) {
    loop.variable = stmt.expr->kids[0]->text;
    for (const StmtPtr &child : stmt.body->children)
      if (child->kind == Stmt::Expression && child->expr) advance(*child->expr);
    if (auto found = values.names.find(loop.variable); how.empty()) loop.variable.clear();
    else if (found != values.names.end() && found->second.value) begin = *found->second.value, known = true;
  }
  loop.halving = how == "halve" || how == "double";
  std::string stride = how.empty() ? "?" : loop.halving ? how : step.hasRole('G') ? "grid" : step.asConstant() ? (*step.asConstant() == 1 ? "1" : "c") : "s";
  std::string from = !known ? "?" : begin.asConstant() ? (*begin.asConstant() == 0 ? "0" : "c") : roles(begin);
  loop.fromLane = begin.terms.count({"x"}) != 0;
  say("loop");
  say("loop:" + from + ":" + stride);
  say("step:" + stride);
  if (how == "+" && begin.asConstant() && step.asConstant() && *step.asConstant() > 0 && stmt.expr && stmt.expr->kind == Expr::Binary)
    if (auto end = values.eval(*stmt.expr->kids[1]).asConstant()) loop.trips = (*end - *begin.asConstant() + *step.asConstant() - 1) / *step.asConstant() + (stmt.expr->text == "<=");
  return loop;
}

void ShapeReader::loop(const Stmt &stmt) {
  Loop open = header(stmt);
  if (stmt.expr) {
    bool outer = std::exchange(integerContext, true);
    expression(*stmt.expr, Use::Read);
    integerContext = outer;
  }
  std::optional<Values::Name> hidden;
  if (!open.variable.empty()) {
    if (auto found = values.names.find(open.variable); found != values.names.end()) hidden = found->second;
    Values::Name name;
    name.value = Poly::atom(open.atom);
    values.names[open.variable] = name;
  }
  loops.push_back(open);
  say("depth" + std::to_string(std::min<size_t>(loops.size(), 5)));
  if (stmt.body) stmt.body->kind == Stmt::Block ? statements(stmt.body->children) : statement(*stmt.body);
  Loop closed = loops.back();
  loops.pop_back();
  closeLoop(closed);
  if (hidden) values.names[open.variable] = *hidden;
  else if (!open.variable.empty() && stmt.init) values.names.erase(open.variable);
}

void ShapeReader::closeLoop(const Loop &loop) {
  if (loop.unrolled) say("loop.unrolled");
  if (loop.trips && *loop.trips <= 64) say(loop.unrolled ? "loop.const.unrolled" : "loop.const.rolled");
  if (loop.barriers) say(loop.barriers == 1 ? "loop.barrier" : "loop.barriers");
  if (loop.halving && loop.readModifyOffset) say(loop.barriers ? "tree.barrier" : "tree");
  if (loop.halving && loop.shuffles) say("tree.shuffle");
  if (loop.barriers && loop.tileCopy) say("loop.tile");
  std::string signature;
  for (const std::string &reduction : loop.reductions) signature += (signature.empty() ? "" : "&") + reduction;
  if (loop.rescales) signature += "&rescale";
  if (signature.empty() && loop.stores) signature = "store";
  if (!signature.empty() && !loop.halving) {
    say("loop.does:" + signature);
    // One pass over the data after another: max, then sum of exponentials, then scaling.
    if (!passes.empty()) {
      say("then:" + passes.back().signature + ">" + signature);
      for (const std::string &base : loop.reads)
        if (passes.back().reads.count(base)) say("reread");
    }
    passes.push_back({signature, loop.reads});
  }
  if (!loops.empty()) { // What an inner loop does, the outer one does too.
    Loop &outer = loops.back();
    outer.barriers += loop.barriers;
    outer.tileCopy |= loop.tileCopy;
    outer.shuffles |= loop.shuffles && !loop.halving;
    outer.reads.insert(loop.reads.begin(), loop.reads.end());
  }
}

void ShapeReader::assembly(const std::string &text) {
  auto holds = [&](const char *part) { return text.find(part) != std::string::npos; };
  if (holds("cp.async")) say("async");
  if (holds("mma.") || holds("wgmma")) say("mma");
  if (holds("ldmatrix")) say("ldmatrix");
  if (holds("ex2.approx")) say("fast:exp");
  if (holds("rcp.approx")) say("fast:div");
  if (holds("shfl.sync")) say("shuffle");
  if (holds("ld.global") && (holds(".v4") || holds(".v2"))) say("vec4.load");
  if (holds("st.global") && (holds(".v4") || holds(".v2"))) say("vec4.store");
  if (holds("bar.sync")) say("barrier");
}

} // namespace klineage::fragment
