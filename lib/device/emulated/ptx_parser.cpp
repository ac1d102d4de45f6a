#include "device/emulated/ptx_parser.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>

namespace klineage::emulated {
namespace {

std::string withoutComments(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      while (i < text.size() && text[i] != '\n')
        ++i;
    } else if (text.substr(i, 2) == "/*") {
      size_t end = text.find("*/", i + 2);
      i = end == text.npos ? text.size() : end + 2;
      out += ' ';
    } else {
      out += text[i++];
    }
  }
  return out;
}

/// Reads one statement.
class StatementReader {
public:
  explicit StatementReader(std::string_view text) : text(text) {}

  void space() {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool done() { return space(), at >= text.size(); }
  bool take(char c) {
    space();
    if (at >= text.size() || text[at] != c) return false;
    ++at;
    return true;
  }
  char peek() { return space(), at < text.size() ? text[at] : '\0'; }

  /// A name, number or opcode: everything of one word, dots and :: included.
  std::string word() {
    space();
    size_t first = at;
    auto isWord = [&](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%' || c == '.'; };
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    while (at < text.size() && (isWord(text[at]) || text.substr(at, 2) == "::" || (at && text.substr(at - 1, 2) == "::")))
      ++at;
    return std::string(text.substr(first, at - first));
  }

  std::optional<PtxOperand> operand() {
    PtxOperand out;
    if (take('{')) {
      out.kind = PtxOperand::Vector;
      do {
        auto element = operand();
        if (!element) return {};
        out.elements.push_back(std::move(*element));
      } while (take(','));
      if (!take('}')) return {};
      return out;
    }
    if (take('[')) {
      out.kind = PtxOperand::Address;
      auto base = operand();
      if (!base) return {};
      out.elements.push_back(std::move(*base));
      if (take('+')) out.offset = std::strtoll(word().c_str(), nullptr, 0);
      else if (peek() == '-') out.offset = std::strtoll(word().c_str(), nullptr, 0);
      if (!take(']')) return {};
      return out;
    }
    out.negated = take('!');
    out.text = word();
    if (out.text.empty()) return {};
    char first = out.text[0] == '-' ? out.text[1] : out.text[0];
    if (std::isdigit(static_cast<unsigned char>(first))) out.kind = PtxOperand::Number;
    if (take('|')) out.second = word();
    return out;
  }

private:
  std::string_view text;
  size_t at = 0;
};

PtxList<std::string> split(std::string_view text, char separator) {
  PtxList<std::string> parts;
  size_t first = 0;
  while (first <= text.size()) {
    size_t end = std::min(text.find(separator, first), text.size());
    if (end > first) parts.emplace_back(text.substr(first, end - first));
    first = end + 1;
  }
  return parts;
}

std::string oneLine(std::string_view text) {
  std::string out;
  for (char c : text)
    if (!std::isspace(static_cast<unsigned char>(c)))
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  while (!out.empty() && out.back() == ' ')
    out.pop_back();
  return out;
}

} // namespace

bool PtxInstruction::has(std::string_view modifier) const {
  return std::find(opcode.begin() + 1, opcode.end(), modifier) != opcode.end();
}

Result<PtxBody> parsePtx(std::string_view raw) {
  std::string text = withoutComments(raw);
  PtxBody body;
  for (std::string_view rest = text; !rest.empty();) {
    size_t first = rest.find_first_not_of(" \t\r\n{};"); // Scopes open and close between statements; names in them are unique enough.
    if (first == rest.npos) break;
    rest.remove_prefix(first);
    size_t end = std::min(rest.find(';'), rest.size());
    std::string_view statement = rest.substr(0, end);
    // The last statement may lack its semicolon before the scope's end.
    if (end == rest.size())
      if (size_t close = statement.rfind('}'); close != statement.npos && std::count(statement.begin(), statement.end(), '{') < std::count(statement.begin(), statement.end(), '}'))
        statement = statement.substr(0, close);
    rest.remove_prefix(end);
    StatementReader reader(statement);
    auto refuse = [&] { return refusal("unsupported_ptx: " + oneLine(statement)); };
    if (reader.peek() == '.') {
      // ".reg .b32 x" and ".reg.b32 x" are one.
      auto parts = split(reader.word(), '.');
      if (parts.size() == 1 && parts[0] == "reg" && reader.peek() == '.') parts.push_back(reader.word().substr(1));
      if (parts.size() != 2 || parts[0] != "reg") return refuse();
      PtxDeclaration declaration;
      declaration.type = parts[1];
      do
        declaration.names.push_back(reader.word());
      while (reader.take(','));
      if (!reader.done()) return refuse();
      body.declarations.push_back(std::move(declaration));
      continue;
    }
    PtxInstruction instruction;
    instruction.text = oneLine(statement);
    if (reader.take('@')) {
      instruction.predicateNegated = reader.take('!');
      instruction.predicate = reader.word();
    }
    instruction.opcode = split(reader.word(), '.');
    if (instruction.opcode.empty() || reader.peek() == ':') return refuse();
    while (!reader.done()) {
      auto operand = reader.operand();
      if (!operand) return refuse();
      instruction.operands.push_back(std::move(*operand));
      if (!reader.take(',') && !reader.done()) return refuse();
    }
    body.instructions.push_back(std::move(instruction));
  }
  return body;
}

} // namespace klineage::emulated
