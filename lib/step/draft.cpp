#include "step/draft.h"

namespace klineage {
namespace {

struct Token {
  unsigned begin = 0, end = 0;
};

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Words, comments, string literals, and single marks. Enough to compare; not a lexer.
std::vector<Token> tokensOf(const std::string &text) {
  std::vector<Token> tokens;
  for (unsigned at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    unsigned begin = at;
    if (text.compare(at, 2, "//") == 0) {
      while (at < text.size() && text[at] != '\n') ++at;
    } else if (text.compare(at, 2, "/*") == 0) {
      size_t close = text.find("*/", at + 2);
      at = close == std::string::npos ? text.size() : close + 2;
    } else if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
      at = std::min<size_t>(at + 1, text.size());
    } else if (isWord(text[at])) {
      while (at < text.size() && isWord(text[at])) ++at;
    } else {
      ++at;
    }
    tokens.push_back({begin, at});
  }
  return tokens;
}

/// Pairs of equal tokens in order: a longest common subsequence, or only the common ends when the middle is too large.
std::vector<std::pair<unsigned, unsigned>> commonTokens(const std::string &before, const std::vector<Token> &a,
                                                        const std::string &after, const std::vector<Token> &b) {
  auto equal = [&](unsigned i, unsigned j) {
    return before.compare(a[i].begin, a[i].end - a[i].begin, after, b[j].begin, b[j].end - b[j].begin) == 0;
  };
  std::vector<std::pair<unsigned, unsigned>> pairs;
  unsigned head = 0, limit = std::min(a.size(), b.size());
  while (head < limit && equal(head, head)) pairs.push_back({head, head}), ++head;
  unsigned tail = 0;
  while (tail < limit - head && equal(a.size() - 1 - tail, b.size() - 1 - tail)) ++tail;
  unsigned rows = a.size() - head - tail, columns = b.size() - head - tail;
  if (uint64_t(rows) * columns <= 16'000'000) {
    std::vector<std::vector<uint16_t>> longest(rows + 1, std::vector<uint16_t>(columns + 1, 0));
    for (unsigned i = rows; i-- > 0;)
      for (unsigned j = columns; j-- > 0;)
        longest[i][j] = equal(head + i, head + j) ? longest[i + 1][j + 1] + 1 : std::max(longest[i + 1][j], longest[i][j + 1]);
    for (unsigned i = 0, j = 0; i < rows && j < columns;) {
      if (equal(head + i, head + j)) pairs.push_back({head + i++, head + j++});
      else if (longest[i + 1][j] >= longest[i][j + 1]) ++i;
      else ++j;
    }
  }
  for (unsigned i = tail; i > 0; --i) pairs.push_back({unsigned(a.size() - i), unsigned(b.size() - i)});
  return pairs;
}

} // namespace

Edits differenceOf(const std::string &file, const std::string &before, const std::string &after) {
  std::vector<Token> a = tokensOf(before), b = tokensOf(after);
  Edits edits;
  unsigned beforeEnd = 0, afterEnd = 0;
  auto gap = [&](unsigned beforeBegin, unsigned afterBegin) {
    if (before.compare(beforeEnd, beforeBegin - beforeEnd, after, afterEnd, afterBegin - afterEnd) != 0)
      edits.push_back({file, beforeEnd, beforeBegin - beforeEnd, after.substr(afterEnd, afterBegin - afterEnd)});
  };
  for (auto [i, j] : commonTokens(before, a, after, b)) {
    gap(a[i].begin, b[j].begin);
    beforeEnd = a[i].end, afterEnd = b[j].end;
  }
  gap(before.size(), after.size());
  return edits;
}

std::string kernelName(const KernelModel &kernel) {
  std::string name;
  llvm::raw_string_ostream stream(name);
  kernel.function->getNameForDiagnostic(stream, kernel.function->getASTContext().getPrintingPolicy(), true);
  return name;
}

Draft::Draft(const Version &version)
    : current(&version.unit), models(&version.kernels), environment(version.environment), first(version.unit.sources()) {}

const KernelModel *Draft::kernel(const KernelModel &original) const {
  std::string name = kernelName(original);
  for (const KernelModel &kernel : *models)
    if (kernelName(kernel) == name) return &kernel;
  return nullptr;
}

Status Draft::apply(const Edits &edits) {
  if (edits.empty()) return Done{};
  Result<SourceSet> next = applyEdits(current->sources(), edits);
  if (!next) return next.error();
  Result<std::unique_ptr<Unit>> parsed = Unit::parse(*next, current->options());
  if (!parsed) return ourFault("the rewritten text does not parse: " + parsed.error().message());
  auto lifted = std::make_unique<std::vector<KernelModel>>(liftKernels(**parsed));
  // The models point into the unit: they go first.
  ownModels = std::move(lifted);
  ownUnit = std::move(*parsed);
  current = ownUnit.get();
  models = ownModels.get();
  return Done{};
}

Edits Draft::finish() const {
  Edits all;
  for (const auto &[file, text] : current->sources().files) {
    auto before = first.files.find(file);
    if (before == first.files.end()) continue;
    Edits edits = differenceOf(file, before->second, text);
    all.insert(all.end(), edits.begin(), edits.end());
  }
  return all;
}

} // namespace klineage
