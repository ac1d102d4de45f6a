#include "lineage_db/fragment.h"
#include <algorithm>
#include <cctype>

namespace klineage::fragment {
namespace {

bool isNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool isNamePart(char c) { return isNameStart(c) || std::isdigit(static_cast<unsigned char>(c)); }

// Longest first.
constexpr std::string_view punctuation[] = {"<<<", ">>>", "<<=", ">>=", "...", "->*", "::", "->", "++", "--", "<<", ">>", "<=",
                                            ">=",  "==",  "!=",  "&&",  "||",  "+=",  "-=", "*=", "/=", "%=", "&=", "|=", "^="};

/// The line of a directive with its continuations, from `#` on.
std::string directive(std::string_view code, size_t &at) {
  std::string line;
  while (at < code.size() && code[at] != '\n') {
    if (code[at] == '\\' && at + 1 < code.size() && code[at + 1] == '\n') {
      at += 2;
      line += ' ';
    } else {
      line += code[at++];
    }
  }
  return line;
}

Token unrollPragma(const std::string &line) {
  size_t at = line.find("unroll");
  if (line.find("pragma") == std::string::npos || at == std::string::npos) return {};
  if (line.find("nounroll") != std::string::npos) return {};
  std::string count;
  for (char c : line.substr(at + 6))
    if (std::isdigit(static_cast<unsigned char>(c))) count += c;
  return {count == "1" ? Token::End : Token::Unroll, count}; // unroll 1 is the opposite.
}

} // namespace

std::vector<Token> lex(std::string_view code) {
  std::vector<Token> tokens;
  bool lineStart = true;
  for (size_t at = 0; at < code.size();) {
    char c = code[at];
    if (c == '\n') lineStart = true;
    if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
      continue;
    }
    if (c == '#' && lineStart) {
      if (Token token = unrollPragma(directive(code, at)); token.kind == Token::Unroll) tokens.push_back(token);
      continue;
    }
    lineStart = false;
    if (code.substr(at, 2) == "//") {
      while (at < code.size() && code[at] != '\n') ++at;
      continue;
    }
    if (code.substr(at, 2) == "/*") {
      size_t end = code.find("*/", at + 2);
      at = end == std::string_view::npos ? code.size() : end + 2;
      continue;
    }
    if (isNameStart(c)) {
      size_t end = at;
      while (end < code.size() && isNamePart(code[end])) ++end;
      tokens.push_back({Token::Name, std::string(code.substr(at, end - at))});
      at = end;
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && at + 1 < code.size() && std::isdigit(static_cast<unsigned char>(code[at + 1])))) {
      size_t end = at;
      while (end < code.size()) {
        bool sign = (code[end] == '+' || code[end] == '-') && end > at && (code[end - 1] == 'e' || code[end - 1] == 'E') && code.substr(at, 2) != "0x";
        if (!isNamePart(code[end]) && code[end] != '.' && code[end] != '\'' && !sign) break;
        ++end;
      }
      tokens.push_back({Token::Number, std::string(code.substr(at, end - at))});
      at = end;
      continue;
    }
    if (c == '"' || c == '\'') {
      size_t end = at + 1;
      while (end < code.size() && code[end] != c && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
      end = std::min(end, code.size());
      tokens.push_back({Token::String, std::string(code.substr(at + 1, end - at - 1))});
      at = end + 1;
      continue;
    }
    std::string_view found = code.substr(at, 1);
    for (std::string_view candidate : punctuation)
      if (code.substr(at, candidate.size()) == candidate) {
        found = candidate;
        break;
      }
    tokens.push_back({Token::Punctuation, std::string(found)});
    at += found.size();
  }
  // _Pragma("unroll") is the same thing in a macro.
  for (size_t i = 0; i + 3 < tokens.size(); ++i)
    if (tokens[i].text == "_Pragma" && tokens[i + 2].kind == Token::String) {
      Token token = unrollPragma("pragma " + tokens[i + 2].text);
      tokens.erase(tokens.begin() + i, tokens.begin() + i + 4);
      if (token.kind == Token::Unroll) tokens.insert(tokens.begin() + i, token);
    }
  tokens.push_back({});
  return tokens;
}

int vectorWidth(std::string_view type) {
  if (type == "half2" || type == "__half2" || type == "bfloat162" || type == "__nv_bfloat162" || type == "nv_bfloat162") return 2;
  if (type.empty() || !std::isdigit(static_cast<unsigned char>(type.back()))) return 1;
  std::string_view base = type.substr(0, type.size() - 1);
  for (std::string_view known : {"float", "int", "uint", "double", "char", "uchar", "short", "ushort", "long", "ulong", "longlong", "ulonglong"})
    if (base == known) return type.back() - '0' >= 2 && type.back() - '0' <= 4 ? type.back() - '0' : 1;
  return 1;
}

} // namespace klineage::fragment
