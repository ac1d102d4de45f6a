// LocatedJson: a JSON document in which every value and key knows its line, so that a mistake can be pointed at.
#pragma once
#include "support/result.h"
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace klineage {

struct LocatedJson {
  enum class Kind { Null, Boolean, Integer, Real, String, Array, Object };
  struct Member;

  Kind kind = Kind::Null;
  int line = 0;
  bool boolean = false;
  int64_t integer = 0;               ///< Integer only.
  double real = 0;                   ///< Integer and Real.
  std::string text;                  ///< String: its contents. Numbers: as written.
  std::vector<LocatedJson> elements; ///< Array.
  std::vector<Member> members;       ///< Object, in file order; keys are unique.

  const LocatedJson *find(std::string_view key) const;
};

struct LocatedJson::Member {
  std::string key;
  int line = 0;
  LocatedJson value;
};

/// "a string", "an array", ... as messages call it.
const char *describe(LocatedJson::Kind kind);

/// Parses one document. `name` is what errors call the file. A syntax error or a key given twice is a user error at name:line.
Result<LocatedJson> parseLocatedJson(std::string_view text, const std::string &name);

/// The candidate nearest to `word`, or empty when none is near enough to be a likely misspelling.
std::string nearestWord(std::string_view word, const std::vector<std::string> &candidates);

} // namespace klineage
