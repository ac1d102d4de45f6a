#include "step/padding.h"

namespace klineage {
namespace {

using namespace clang;

std::optional<int64_t> bound(const KernelModel &kernel, const IndexExpr &value, bool upper, unsigned depth = 0);

std::optional<int64_t> boundOf(const KernelModel &kernel, const Atom &atom, bool upper, unsigned depth) {
  switch (atom.kind) {
  case Atom::ThreadIdx: {
    if (!upper) return 0;
    std::optional<int64_t> size;
    for (const Launch &launch : kernel.launches) {
      auto own = launch.blockSize(atom.axis);
      if (!own) return std::nullopt;
      size = std::max(size.value_or(0), *own);
    }
    return size ? std::optional<int64_t>(*size - 1) : std::nullopt;
  }
  case Atom::BlockIdx: return upper ? std::nullopt : std::optional<int64_t>(0);
  case Atom::LoopVariable:
    for (const auto &loop : kernel.loops) {
      if (loop->variable != atom.decl) continue;
      if (!upper) return bound(kernel, loop->begin, false, depth + 1);
      auto end = bound(kernel, loop->end, true, depth + 1);
      if (!end) return std::nullopt;
      // A loop of steps stops short of its end: for (j = 0; j < 32; j += 8) reaches 24.
      auto begin = loop->begin.constant(), step = loop->step.constant();
      if (begin && step && *step > 0 && *end > *begin) return *begin + (*end - 1 - *begin) / *step * *step;
      return *end - 1;
    }
    return std::nullopt;
  case Atom::Remainder: {
    auto left = bound(kernel, atom.left, false, depth + 1);
    auto right = atom.right.constant();
    if (!right || *right <= 0 || !left || *left < 0) return std::nullopt;
    if (!upper) return 0;
    auto most = bound(kernel, atom.left, true, depth + 1);
    return std::min(most.value_or(*right - 1), *right - 1);
  }
  case Atom::Quotient: {
    auto left = bound(kernel, atom.left, upper, depth + 1);
    auto right = atom.right.constant();
    if (!left || !right || *right <= 0 || *left < 0) return std::nullopt;
    return *left / *right;
  }
  case Atom::ShiftRight: {
    auto left = bound(kernel, atom.left, upper, depth + 1);
    auto right = atom.right.constant();
    return left && right && *left >= 0 ? std::optional<int64_t>(*left >> *right) : std::nullopt;
  }
  case Atom::And: {
    if (!upper) return 0;
    for (const IndexExpr *side : {&atom.left, &atom.right})
      if (auto mask = side->constant(); mask && *mask >= 0) return *mask;
    return std::nullopt;
  }
  case Atom::Xor: case Atom::Or: {
    if (!upper) return 0;
    auto left = bound(kernel, atom.left, true, depth + 1), right = bound(kernel, atom.right, true, depth + 1);
    if (!left || !right || *left < 0 || *right < 0) return std::nullopt;
    int64_t all = 1;
    while (all <= std::max(*left, *right)) all *= 2;
    return all - 1;
  }
  case Atom::Minimum: {
    auto left = bound(kernel, atom.left, upper, depth + 1), right = bound(kernel, atom.right, upper, depth + 1);
    if (upper && left && right) return std::min(*left, *right);
    if (upper) return left ? left : right;
    return left && right ? std::optional<int64_t>(std::min(*left, *right)) : std::nullopt;
  }
  default: return std::nullopt;
  }
}

std::optional<int64_t> bound(const KernelModel &kernel, const IndexExpr &value, bool upper, unsigned depth) {
  if (depth > 12) return std::nullopt;
  int64_t sum = 0;
  for (const auto &[key, term] : value.terms()) {
    int64_t product = term.second;
    bool wantUpper = upper == (term.second > 0);
    for (const AtomRef &atom : term.first) {
      if (term.first.size() > 1) { // A product: only of quantities that are not negative.
        auto low = boundOf(kernel, *atom, false, depth);
        if (!low || *low < 0) return std::nullopt;
      }
      auto own = boundOf(kernel, *atom, wantUpper, depth);
      if (!own) return std::nullopt;
      product *= *own;
    }
    sum += product;
  }
  return sum;
}

} // namespace

std::optional<int64_t> largestValue(const KernelModel &kernel, const IndexExpr &value) { return bound(kernel, value, true); }

std::optional<Padding> paddingOf(const KernelModel &kernel, const Buffer &buffer) {
  if (buffer.space != Space::Shared || buffer.extents.size() < 2) return std::nullopt;
  Padding padding;
  padding.declared = buffer.extents.back();
  auto accesses = kernel.accessesOf(buffer.decl);
  if (accesses.empty()) return std::nullopt;
  for (const Access *access : accesses) {
    if (access->subscripts.size() != buffer.extents.size()) return std::nullopt;
    auto largest = largestValue(kernel, access->subscripts.back());
    if (!largest) return std::nullopt;
    padding.used = std::max(padding.used, *largest + int64_t(access->width));
  }
  if (padding.used <= 0 || padding.used >= padding.declared) return std::nullopt;
  return padding;
}

std::optional<unsigned> wavefronts(const KernelModel &kernel, const Access &access, const std::vector<int64_t> &extents, unsigned elementBytes) {
  if (access.subscripts.size() != extents.size() || kernel.launches.empty() || elementBytes % 4 || access.width != 1) return std::nullopt;
  int64_t size[3];
  for (unsigned axis = 0; axis < 3; ++axis) {
    auto own = kernel.launches.front().blockSize(axis);
    if (!own) return std::nullopt;
    size[axis] = *own;
  }
  int64_t threads = size[0] * size[1] * size[2];
  std::map<int64_t, std::set<int64_t>> words; // bank -> words asked of it
  for (int64_t lane = 0; lane < std::min<int64_t>(32, threads); ++lane) {
    int64_t at[3] = {lane % size[0], lane / size[0] % size[1], lane / (size[0] * size[1])};
    int64_t index = 0;
    for (unsigned d = 0; d < extents.size(); ++d) {
      IndexExpr subscript = access.subscripts[d];
      for (unsigned axis = 0; axis < 3; ++axis) subscript = subscript.substitute(threadIdx(axis), IndexExpr(at[axis]));
      // Loop variables and the block are the same for all lanes: any value shows the pattern.
      for (const AtomRef &atom : subscript.atoms())
        if (atom->kind == Atom::LoopVariable || atom->kind == Atom::BlockIdx || atom->kind == Atom::Parameter) subscript = subscript.substitute(atom, IndexExpr(0));
      auto value = subscript.constant();
      if (!value) return std::nullopt;
      index = index * extents[d] + *value;
    }
    for (unsigned part = 0; part < elementBytes / 4; ++part) {
      int64_t word = index * (elementBytes / 4) + part;
      words[((word % 32) + 32) % 32].insert(word);
    }
  }
  size_t worst = 1;
  for (const auto &[bank, asked] : words) worst = std::max(worst, asked.size());
  return worst;
}

} // namespace klineage
