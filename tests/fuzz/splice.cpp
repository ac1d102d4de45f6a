#include "tests/fuzz/fuzz.h"
#include <array>
#include <cctype>
#include <set>
#include <vector>

namespace klineage::fuzz {
namespace {

struct Range {
  size_t begin = 0, end = 0;
};

size_t pick(std::mt19937 &random, size_t count) { return count ? random() % count : 0; }
template <typename T> const T &oneOf(const std::vector<T> &all, std::mt19937 &random) { return all[pick(random, all.size())]; }

/// Statements inside braces: up to a semicolon outside parentheses, or to the brace that closes what was opened.
std::vector<Range> statementsOf(const std::string &text) {
  std::vector<Range> found;
  std::vector<size_t> begins; // of the statement that each open brace belongs to
  size_t begin = 0;
  int round = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '(' || c == '[') ++round;
    else if (c == ')' || c == ']') round = std::max(0, round - 1);
    else if (c == '{' && !round) begins.push_back(begin), begin = at + 1;
    else if (c == '}' && !round && !begins.empty()) {
      begin = begins.back();
      begins.pop_back();
      if (!begins.empty()) found.push_back({begin, at + 1});
      begin = at + 1;
    } else if (c == ';' && !round) {
      if (!begins.empty()) found.push_back({begin, at + 1});
      begin = at + 1;
    }
  }
  return found;
}

template <typename Starts, typename Continues> std::vector<Range> runsOf(const std::string &text, Starts starts, Continues continues) {
  std::vector<Range> found;
  for (size_t at = 0; at < text.size();) {
    bool inside = at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) || text[at - 1] == '_');
    if (inside || !starts(text[at])) {
      ++at;
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && continues(text[end])) ++end;
    found.push_back({at, end});
    at = end;
  }
  return found;
}

std::vector<Range> namesOf(const std::string &text) {
  return runsOf(text, [](unsigned char c) { return std::isalpha(c) || c == '_'; }, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}
std::vector<Range> numbersOf(const std::string &text) {
  return runsOf(text, [](unsigned char c) { return std::isdigit(c); }, [](unsigned char c) { return std::isalnum(c) || c == '.'; });
}

/// The donor's statement with the names that the source does not know exchanged for names that it does.
std::string adopted(const std::string &statement, const std::string &source, size_t before, std::mt19937 &random) {
  std::set<std::string> known;
  std::vector<std::string> earlier;
  for (Range name : namesOf(source)) {
    known.insert(source.substr(name.begin, name.end - name.begin));
    if (name.end <= before) earlier.push_back(source.substr(name.begin, name.end - name.begin));
  }
  static const std::set<std::string> language = {"for", "if", "else", "while", "int", "float", "float4", "return", "const", "unsigned", "threadIdx",
                                                 "blockIdx", "blockDim", "x", "y", "__syncthreads", "__shfl_down_sync", "reinterpret_cast", "__shared__"};
  std::string result;
  size_t done = 0;
  for (Range name : namesOf(statement)) {
    std::string word = statement.substr(name.begin, name.end - name.begin);
    result += statement.substr(done, name.begin - done);
    result += known.count(word) || language.count(word) || earlier.empty() ? word : oneOf(earlier, random);
    done = name.end;
  }
  return result + statement.substr(done);
}

std::string replaced(const std::string &text, Range range, const std::string &by) { return text.substr(0, range.begin) + by + text.substr(range.end); }
std::string of(const std::string &text, Range range) { return text.substr(range.begin, range.end - range.begin); }

std::string changedOperator(const std::string &source, std::mt19937 &random) {
  static const std::vector<std::string> operators = {"+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", "<<", ">>", "&&", "||", "+=", "*=", "="};
  std::vector<Range> places;
  for (size_t at = 1; at + 2 < source.size(); ++at)
    if (source[at - 1] == ' ' && std::string_view("+-*/%<>=&|^!").find(source[at]) != std::string_view::npos) {
      size_t end = source.find(' ', at);
      if (end != std::string::npos && end - at <= 2) places.push_back({at, end});
    }
  return places.empty() ? source : replaced(source, oneOf(places, random), oneOf(operators, random));
}

} // namespace

std::string spliced(const std::string &source, const std::string &donor, std::mt19937 &random) {
  static const std::vector<std::string> numbers = {"0", "1", "2", "3", "4", "7", "8", "16", "31", "32", "33", "64", "127", "256", "1024", "65536", "-1", "2147483647"};
  static const std::vector<std::string> pieces = {
      "__syncthreads();", "__syncwarp();", "return;", "break;", "continue;", ";", "{ }", "#pragma unroll\nfor (int q = 0; q < 4; ++q) { }",
      "if (threadIdx.x >= 17) return;", "__shared__ float fresh[33];", "float kept[4] = {};", "asm volatile(\"bar.sync 0;\" ::: \"memory\");"};
  static const std::vector<std::string> wrappers = {"if (threadIdx.x < 5) {", "for (int w = 0; w < 3; ++w) {", "for (int w = 8; w > 0; w >>= 1) {", "while (true) {", "do {", "{", "[&] {"};
  auto statements = statementsOf(source);
  if (statements.empty()) return source;
  Range one = oneOf(statements, random), other = oneOf(statements, random);
  switch (random() % 9) {
  case 0: return replaced(source, one, "");
  case 1: return replaced(source, {other.end, other.end}, of(source, one));
  case 2: {
    if (other.begin < one.begin) std::swap(one, other);
    if (other.begin < one.end) return replaced(source, one, of(source, other));
    return replaced(replaced(source, other, of(source, one)), one, of(source, other));
  }
  case 3: {
    auto places = numbersOf(source);
    return places.empty() ? source : replaced(source, oneOf(places, random), oneOf(numbers, random));
  }
  case 4: return changedOperator(source, random);
  case 5: return replaced(source, {one.end, one.end}, "\n" + oneOf(pieces, random) + "\n");
  case 6: {
    const std::string &wrapper = oneOf(wrappers, random);
    std::string tail = wrapper == "do {" ? "} while (false);" : wrapper == "[&] {" ? "}();" : "}";
    return replaced(source, one, wrapper + of(source, one) + tail);
  }
  case 7: {
    auto names = namesOf(source);
    return replaced(source, oneOf(names, random), of(source, oneOf(names, random)));
  }
  default: {
    auto foreign = statementsOf(donor);
    if (foreign.empty()) return source;
    return replaced(source, {one.end, one.end}, "\n" + adopted(of(donor, oneOf(foreign, random)), source, one.end, random));
  }
  }
}

} // namespace klineage::fuzz
