// The expressions half of ShapeReader: accesses, reductions, calls.
#include "lineage_db/shape_reader.h"
#include <algorithm>
#include <cctype>
#include <utility>

namespace klineage::fragment {

std::string ShapeReader::roles(const Poly &poly) const {
  std::set<std::string> products;
  for (const auto &[product, coefficient] : poly.terms) {
    std::set<char> letters;
    for (const std::string &atom : product) {
      char role = atom[0];
      if (role == 'd') role = 's'; // A block's size is often a constant: by * 16 + ty.
      if (role == 'i') role = !loops.empty() && loops.back().atom == atom ? 'i' : 'o';
      letters.insert(role);
    }
    if (!product.empty() && coefficient != 1 && coefficient != -1) letters.insert('s');
    products.insert(product.empty() ? "1" : std::string(letters.begin(), letters.end()));
  }
  std::string text;
  for (const std::string &product : products) text += (text.empty() ? "" : "+") + product;
  return text.empty() ? "0" : text;
}

/// f(i + 1), where i is the variable of an open loop.
bool ShapeReader::isNextIteration(const Poly &poly) const {
  for (const Loop &loop : loops) {
    if (!poly.mentions(loop.atom)) continue;
    bool all = true;
    for (const auto &[product, coefficient] : poly.terms) {
      if (std::find(product.begin(), product.end(), loop.atom) == product.end()) continue;
      Poly::Product without = product;
      without.erase(std::find(without.begin(), without.end(), loop.atom));
      auto found = poly.terms.find(without);
      if (found == poly.terms.end() || (found->second != coefficient && !without.empty())) all = false;
    }
    if (all) return true;
  }
  return false;
}

char ShapeReader::spaceOf(const Place &place) const {
  auto found = values.names.find(place.base);
  if (found != values.names.end() && found->second.space != '?') return found->second.space;
  // Not declared in this piece: several dimensions are an array of the kernel's own, in registers when only small loops walk it.
  auto seen = dimensions.find(place.base);
  bool loopsOnly = !place.subscripts.empty();
  for (const Poly &subscript : place.subscripts)
    for (const auto &[product, coefficient] : subscript.terms)
      for (const std::string &atom : product)
        if (atom[0] != 'i') loopsOnly = false;
  if (seen != dimensions.end() && seen->second > 1) return loopsOnly ? 'r' : 's';
  if (loopsOnly && !loops.empty() && std::all_of(loops.begin(), loops.end(), [&](const Loop &l) {
        return l.trips || !std::any_of(place.subscripts.begin(), place.subscripts.end(), [&](const Poly &p) { return p.mentions(l.atom); });
      }))
    return 'r';
  if (hasBarrier && indexRead.count(place.base) && indexWritten.count(place.base)) return 's';
  return 'g';
}

void ShapeReader::recordAccess(const Place &place, Use use, bool dereferenced) {
  if (place.subscripts.empty()) return;
  char space = spaceOf(place);
  std::string how = std::string(use == Use::Read ? "read" : use == Use::Write ? "write" : "update") + ":" + space;
  std::string index;
  for (const Poly &subscript : place.subscripts) index += (index.empty() ? "" : ";") + roles(subscript);
  say("at:" + how + "[" + index + "]");
  if (space == 'g' || space == 's') {
    // The stride between neighbouring threads, and between iterations of the innermost loop.
    auto stride = [&](const std::string &atom, std::string result = "none") -> std::string {
      for (size_t i = 0; i < place.subscripts.size(); ++i)
        for (const auto &[product, coefficient] : place.subscripts[i].terms) {
          if (std::find(product.begin(), product.end(), atom) == product.end()) continue;
          bool unit = i + 1 == place.subscripts.size() && product.size() == 1 && (coefficient == 1 || coefficient == place.width);
          result = unit ? "unit" : "strided";
        }
      return result;
    };
    std::string lane = stride("x");
    for (const Loop &loop : loops)
      if (loop.fromLane) lane = stride(loop.atom, lane);
    say("lane:" + how + ":" + lane);
    if (!loops.empty()) say("inner:" + how + ":" + stride(loops.back().atom));
    if (space == 's' && place.subscripts.size() > 1 && !place.subscripts.back().mentions("x") && lane == "strided") say("shared.column");
  }
  if (place.width > 1 || (place.viaCast && dereferenced)) {
    std::string width = place.width > 1 ? std::to_string(place.width) : "";
    say("wide." + how, 2);
    if (!width.empty()) say("wide" + width + "." + how);
  }
  sayStage(place);
  for (const Poly &subscript : place.subscripts)
    if (isNextIteration(subscript)) say("next.iteration");
  if (!loops.empty()) {
    if (use != Use::Read && space != 'r') loops.back().stores = true;
    if (use != Use::Write) loops.back().reads.insert(place.base);
  }
  Access access;
  access.base = place.base;
  access.write = use != Use::Read;
  access.subscripts = place.subscripts;
  access.space = space;
  access.width = place.width;
  access.block = block;
  if (!loops.empty()) access.inner = loops.back().atom, access.innerTrips = loops.back().trips;
  accesses.push_back(std::move(access));
}

/// buffer[k % stages][...], buffer[stage ^ 1][...]: which stage of a pipeline is meant.
void ShapeReader::sayStage(const Place &place) {
  if (place.subscripts.empty()) return;
  const Poly &first = place.subscripts.front();
  const bool alone = first.terms.size() == 1 && first.terms.begin()->first.size() == 1;
  for (const auto &[product, coefficient] : first.terms)
    for (const std::string &atom : product)
      if ((place.subscripts.size() > 1 || alone) && ((atom[0] == 'I' && atom.find('/') == std::string::npos) || (atom[0] == 's' && atom.find('^') != std::string::npos)))
        return say("stage.subscript");
}

/// Scalar accesses that one wide access could replace: constants apart, or a short loop over consecutive elements.
void ShapeReader::neighbours() {
  std::map<std::string, std::set<int64_t>> groups;
  for (const Access &a : accesses) {
    if (a.width > 1) continue;
    std::string way = a.write ? "write:" : "read:";
    Poly last = a.subscripts.back();
    int64_t constant = 0;
    if (auto found = last.terms.find({}); found != last.terms.end()) constant = found->second, last.terms.erase(found);
    std::string key = way + a.space + std::to_string(a.block) + a.base;
    for (size_t i = 0; i + 1 < a.subscripts.size(); ++i) key += "|" + a.subscripts[i].text();
    if (!last.terms.empty()) groups[key + "|" + last.text()].insert(constant);
    if (!a.inner.empty() && a.innerTrips && *a.innerTrips >= 2 && *a.innerTrips <= 16 && a.space != 'r') {
      auto unit = a.subscripts.back().terms.find({a.inner});
      if (unit != a.subscripts.back().terms.end() && unit->second == 1 && a.subscripts.back().terms.size() > 1) say("adjacent." + way + a.space);
    }
  }
  for (const auto &[key, offsets] : groups) {
    int longest = 1, length = 1;
    for (auto it = offsets.begin(); it != offsets.end() && std::next(it) != offsets.end(); ++it) {
      length = *std::next(it) == *it + 1 ? length + 1 : 1;
      longest = std::max(longest, length);
    }
    size_t colon = key.find(':');
    if (longest >= 2 && key[colon + 1] != 'r') say("adjacent." + key.substr(0, colon + 2));
  }
}

bool ShapeReader::isExpDifference(const Expr &expr) const {
  if (expr.kind == Expr::Cast && expr.kids.size() == 1) return isExpDifference(*expr.kids[0]);
  if (expr.kind == Expr::Name) {
    auto found = values.names.find(expr.text);
    return found != values.names.end() && found->second.ofExponential;
  }
  if (expr.kind == Expr::Binary && expr.text == "*") return isExpDifference(*expr.kids[0]) || isExpDifference(*expr.kids[1]);
  if (expr.kind != Expr::Call || expr.kids.size() != 2 || expr.kids[0]->kind != Expr::Name || knownFunction(expr.kids[0]->text) != "exp") return false;
  const Expr *argument = expr.kids[1].get();
  while (argument->kind == Expr::Binary && argument->text == "*") argument = (argument->kids[0]->kind == Expr::Binary ? argument->kids[0] : argument->kids[1]).get();
  return argument->kind == Expr::Binary && argument->text == "-";
}

bool ShapeReader::holdsExponential(const Expr &expr) const {
  if (isExpDifference(expr)) return true;
  if (expr.kind == Expr::Call && expr.kids[0]->kind == Expr::Name && knownFunction(expr.kids[0]->text) == "exp") return true;
  return std::any_of(expr.kids.begin(), expr.kids.end(), [&](const ExprPtr &kid) { return kid && holdsExponential(*kid); });
}

std::string ShapeReader::content(const Expr &value) const {
  auto letter = [&](const Expr &e) -> std::string {
    const Expr *inner = &e;
    while (inner->kind == Expr::Cast && inner->kids.size() == 1) inner = inner->kids[0].get();
    if (inner->kind == Expr::Call && inner->kids.size() == 2 && inner->kids[0]->kind == Expr::Name && knownFunction(inner->kids[0]->text) == "load") return "g";
    if (inner->kind == Expr::Index || (inner->kind == Expr::Unary && inner->text == "*")) {
      auto place = values.place(*inner);
      return place ? std::string(1, spaceOf(*place)) : "?";
    }
    if (inner->kind == Expr::Member) return "v";
    return inner->kind == Expr::Name ? "n" : "?";
  };
  if (value.kind == Expr::Cast && value.kids.size() == 1) return content(*value.kids[0]);
  if (value.kind == Expr::Binary && value.text == "*") {
    if (show(*value.kids[0]) == show(*value.kids[1])) return "square";
    std::string a = letter(*value.kids[0]), b = letter(*value.kids[1]);
    if (holdsExponential(value)) return "exp";
    if (b < a) std::swap(a, b);
    return "dot(" + a + b + ")";
  }
  if (holdsExponential(value)) return "exp";
  if (value.kind == Expr::Call && value.kids[0]->kind == Expr::Name && knownFunction(value.kids[0]->text) == "shuffle") return "shuffle";
  std::string single = letter(value);
  return single == "?" ? "other" : "load(" + single + ")";
}

/// A value that is folded into a target: target op= value, target = max(target, value).
void ShapeReader::reduction(const Expr &target, const std::string &op, const Expr &value) {
  const Expr *base = &target;
  while (base->kind == Expr::Index) base = base->kids[0].get();
  std::string what = content(value);
  // s = s * exp(m - n) + ...: the running sum of an online softmax is scaled when its maximum moves.
  bool rescale = false;
  if (op == "*" && holdsExponential(value)) rescale = true;
  if (rescale) say("rescale", 2);
  if (loops.empty()) return;
  auto place = target.kind == Expr::Index ? values.place(target) : std::nullopt;
  bool tree = false, moved = false;
  if (place) {
    for (const Poly &subscript : place->subscripts) moved |= subscript.mentions(loops.back().atom);
    const Expr *inner = &value;
    while (inner->kind == Expr::Cast && inner->kids.size() == 1) inner = inner->kids[0].get();
    if (inner->kind == Expr::Index)
      if (auto other = values.place(*inner); other && other->base == place->base && !other->subscripts.empty())
        for (const Poly &subscript : other->subscripts) tree |= subscript.mentions(loops.back().atom) || !moved;
  }
  if (tree) {
    loops.back().readModifyOffset = true;
    say("fold.same_array");
    return;
  }
  if (place && spaceOf(*place) == 'r' && what.rfind("dot", 0) == 0) say("register.tile", place->subscripts.size() > 1 ? 2 : 1);
  if (moved && !(place && spaceOf(*place) == 'r')) return;
  if (what == "shuffle") {
    loops.back().shuffles = true;
    say("fold.shuffle:" + op);
    return;
  }
  std::string token = op == "max" || op == "min" ? op : op + what.substr(0, what.find('('));
  for (Loop &loop : loops) loop.reductions.insert(token);
  if (rescale)
    for (Loop &loop : loops) loop.rescales = true;
  say("fold:" + op + what);
  say("fold:" + op);
}

void ShapeReader::assign(const Expr &expr) {
  const Expr &target = *expr.kids[0], &value = *expr.kids[1];
  std::string op = expr.text.substr(0, expr.text.size() - 1);
  const Expr *folded = op.empty() ? nullptr : &value;
  std::string name = show(target);
  auto isTarget = [&](const Expr &e) { return show(e) == name; };
  const Expr *plain = &value;
  while (plain->kind == Expr::Cast && plain->kids.size() == 1) plain = plain->kids[0].get();
  if (op.empty() && plain->kind == Expr::Binary && (plain->text == "+" || plain->text == "*")) {
    if (isTarget(*plain->kids[0])) op = plain->text, folded = plain->kids[1].get();
    else if (isTarget(*plain->kids[1])) op = plain->text, folded = plain->kids[0].get();
    else if (plain->text == "+")
      for (int side = 0; side < 2 && !folded; ++side) { // s = s * exp(m - n) + e
        const Expr &scaled = *plain->kids[side];
        if (scaled.kind != Expr::Binary || scaled.text != "*" || !(isTarget(*scaled.kids[0]) || isTarget(*scaled.kids[1]))) continue;
        reduction(target, "*", isTarget(*scaled.kids[0]) ? *scaled.kids[1] : *scaled.kids[0]);
        op = "+";
        folded = plain->kids[1 - side].get();
      }
  }
  if (op.empty() && plain->kind == Expr::Call && plain->kids[0]->kind == Expr::Name) {
    std::string known = knownFunction(plain->kids[0]->text);
    if ((known == "max" || known == "min") && plain->kids.size() == 3) {
      if (isTarget(*plain->kids[1])) op = known, folded = plain->kids[2].get();
      else if (isTarget(*plain->kids[2])) op = known, folded = plain->kids[1].get();
    }
  }
  if (op.empty() && plain->kind == Expr::Conditional && plain->kids[0]->kind == Expr::Binary) {
    if (isTarget(*plain->kids[1])) op = "max", folded = plain->kids[2].get();
    else if (isTarget(*plain->kids[2])) op = "max", folded = plain->kids[1].get();
  }
  if (folded && !op.empty()) reduction(target, op, *folded);

  // Copies between memories, the stuff of tiles.
  auto targetPlace = target.kind == Expr::Index || (target.kind == Expr::Unary && target.text == "*") ? values.place(target) : std::nullopt;
  const Expr *source = plain;
  if (source->kind == Expr::Conditional) source = (source->kids[1]->kind == Expr::Index ? source->kids[1] : source->kids[2]).get();
  auto sourcePlace = source->kind == Expr::Index || (source->kind == Expr::Unary && source->text == "*") ? values.place(*source) : std::nullopt;
  if (expr.text == "=" && sourcePlace && (targetPlace || target.kind == Expr::Name)) {
    std::string copy = std::string("copy:") + spaceOf(*sourcePlace) + ">" + (targetPlace ? spaceOf(*targetPlace) : 'r');
    say(copy);
    if (copy == "copy:g>s")
      for (Loop &loop : loops) loop.tileCopy = true;
  }
  // b ^= 1, b = 1 - b, b = (b + 1) % stages: which stage of a pipeline is next.
  if (target.kind == Expr::Name) {
    Poly flip = values.eval(value);
    bool flips = (op == "^" && values.eval(value).asConstant() == 1) || (expr.text == "=" && plain->kind == Expr::Binary && plain->text == "^") ||
                 (expr.text == "=" && (Poly::constant(1) - values.eval(target)).text() == flip.text()) ||
                 (expr.text == "=" && plain->kind == Expr::Binary && plain->text == "%" && values.eval(*plain->kids[0]).mentions("s:" + target.text));
    if (flips) say("stage.flip", 2);
    if (isExpDifference(value) && expr.text == "=") values.names[target.text].ofExponential = true;
  }
  std::string line = folded && !op.empty() ? skeleton(target) + op + "=" + skeleton(*folded) : skeleton(target) + expr.text + skeleton(value);
  if (line.size() < 60) say("do:" + line);
}

void ShapeReader::call(const Expr &expr) {
  const Expr &callee = *expr.kids[0];
  std::string name = callee.kind == Expr::Name || callee.kind == Expr::Member ? callee.text : "";
  if (expr.text == "<<<") say("launch");
  bool fast = false;
  std::string known = knownFunction(name, &fast);
  if (callee.kind == Expr::Member) {
    expression(*callee.kids[0], Use::Read);
    if (known != "barrier" && known != "shuffle") known.clear();
  }
  if (known == "barrier") {
    say("barrier");
    if (!loops.empty()) ++loops.back().barriers;
  } else if (known == "shuffle") {
    say("shuffle", 2);
    if (!loops.empty()) loops.back().shuffles = true;
    if (!loops.empty()) say("shuffle.in_loop");
  } else if (known == "exp" || known == "log" || known == "sqrt" || known == "sin" || known == "pow" || known == "tanh" || known == "div" || known == "tan") {
    say((fast ? "fast:" : "exact:") + known);
    say(fast ? "fast.math" : "exact.math");
    if (isExpDifference(expr)) say("exp.difference");
  } else if (known == "load" && expr.kids.size() == 2) {
    if (auto place = values.place(*expr.kids[1])) {
      if (place->subscripts.empty()) place->subscripts.push_back({});
      recordAccess(*place, Use::Read, true);
    }
    say("hinted.load");
  } else if (known == "store" && expr.kids.size() == 3) {
    if (auto place = values.place(*expr.kids[1])) {
      if (place->subscripts.empty()) place->subscripts.push_back({});
      recordAccess(*place, Use::Write, true);
    }
    say("hinted.store");
  } else if (!known.empty()) {
    say("call:" + known);
  }
  for (size_t i = 1; i < expr.kids.size(); ++i)
    if (expr.kids[i]) expression(*expr.kids[i], Use::Read);
}

void ShapeReader::expression(const Expr &expr, Use use) {
  switch (expr.kind) {
  case Expr::Assign:
    assign(expr);
    expression(*expr.kids[0], expr.text == "=" ? Use::Write : Use::Both);
    return expression(*expr.kids[1], Use::Read);
  case Expr::Index: {
    if (auto place = values.place(expr)) recordAccess(*place, use, true);
    bool outer = std::exchange(integerContext, true);
    for (const Expr *e = &expr; e->kind == Expr::Index; e = e->kids[0].get()) {
      expression(*e->kids[1], Use::Read);
      if (e->kids[0]->kind != Expr::Index) {
        if (e->kids[0]->kind != Expr::Name && e->kids[0]->kind != Expr::Cast) expression(*e->kids[0], Use::Read);
        break;
      }
    }
    integerContext = outer;
    return;
  }
  case Expr::Unary:
    if (expr.text == "*" && expr.kids[0]->kind != Expr::Number) {
      if (auto place = values.place(expr)) return recordAccess(*place, use, true);
    }
    if (expr.text == "&") { // An address alone moves nothing.
      if (auto place = values.place(*expr.kids[0])) sayStage(*place);
      return;
    }
    return expression(*expr.kids[0], expr.text == "++" || expr.text == "--" ? Use::Both : Use::Read);
  case Expr::Member:
    if (expr.text == "x" || expr.text == "y" || expr.text == "z" || expr.text == "w") {
      const Expr &owner = *expr.kids[0];
      bool builtin = owner.kind == Expr::Name && (owner.text == "threadIdx" || owner.text == "blockIdx" || owner.text == "blockDim" || owner.text == "gridDim");
      if (!builtin) say(use == Use::Read ? "member.read" : "member.write");
    }
    return expression(*expr.kids[0], use);
  case Expr::Call:
    return call(expr);
  case Expr::Binary: {
    if (expr.text == "/" && !integerContext) {
      Poly below = values.eval(*expr.kids[1]), above = values.eval(*expr.kids[0]);
      bool index = above.hasRole('x') || above.hasRole('b') || above.hasRole('i') || above.hasRole('y');
      bool literal = expr.kids[0]->kind == Expr::Number;
      if (!below.asConstant() && !index) say(literal ? "divide.reciprocal" : "divide"), say("exact.math");
    }
    if (expr.text == "*" && holdsExponential(expr) && !isExpDifference(*expr.kids[0]) != !isExpDifference(*expr.kids[1])) {
      const Expr &other = isExpDifference(*expr.kids[0]) ? *expr.kids[1] : *expr.kids[0];
      if (other.kind == Expr::Name || other.kind == Expr::Index) say("exp.scales");
    }
    expression(*expr.kids[0], Use::Read);
    return expression(*expr.kids[1], Use::Read);
  }
  default:
    for (const ExprPtr &kid : expr.kids)
      if (kid) expression(*kid, Use::Read);
    if (expr.body) statement(*expr.body);
  }
}

std::string ShapeReader::skeleton(const Expr &expr, int depth) const {
  if (depth > 6) return "_";
  auto sub = [&](size_t i) { return skeleton(*expr.kids[i], depth + 1); };
  switch (expr.kind) {
  case Expr::Number: return "c";
  case Expr::Name: return "n";
  case Expr::Index: {
    auto place = values.place(expr);
    return place ? std::string(1, char(std::toupper(spaceOf(*place)))) : "A";
  }
  case Expr::Cast: return expr.kids.size() == 1 ? sub(0) : "c";
  case Expr::Unary: return expr.text == "*" ? "A" : expr.text == "-" ? "-" + sub(0) : sub(0);
  case Expr::Member: return "n";
  case Expr::Binary: {
    std::string a = sub(0), b = sub(1);
    if ((expr.text == "+" || expr.text == "*") && b < a) std::swap(a, b);
    return "(" + a + expr.text + b + ")";
  }
  case Expr::Conditional: return "?" + sub(1) + ":" + sub(2);
  case Expr::Call: {
    std::string text = expr.kids[0]->kind == Expr::Name ? knownFunction(expr.kids[0]->text) : "";
    if (text.empty()) text = "f";
    text += "(";
    for (size_t i = 1; i < expr.kids.size(); ++i) text += (i > 1 ? "," : "") + sub(i);
    return text + ")";
  }
  default: return "_";
  }
}

} // namespace klineage::fragment
