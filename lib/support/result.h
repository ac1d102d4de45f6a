// Result: a value, or the one error that explains its absence.
#pragma once
#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace klineage {

/// Who has to act on an error. The three are worded apart and give different exit codes (docs/cli/).
enum class Fault {
  User,     ///< The input is wrong; the message says what, where and how to mend it. Exit 3.
  Refusal,  ///< The input is fine, but the answer is no. Exit 1.
  Ours      ///< klineage broke a promise of its own. Exit 4.
};

struct Error {
  Fault fault = Fault::Ours;
  std::string what;   ///< One sentence: what is wrong.
  std::string where;  ///< "file:line:column", a JSON pointer, or empty.
  std::string mend;   ///< What the reader can do about it, or empty.

  /// "where: what (mend)".
  std::string message() const {
    std::string text = where.empty() ? what : where + ": " + what;
    if (!mend.empty()) text += " (" + mend + ")";
    return text;
  }
};

inline Error userError(std::string what, std::string where = {}, std::string mend = {}) {
  return {Fault::User, std::move(what), std::move(where), std::move(mend)};
}
inline Error refusal(std::string what, std::string where = {}, std::string mend = {}) {
  return {Fault::Refusal, std::move(what), std::move(where), std::move(mend)};
}
inline Error ourFault(std::string what, std::string where = {}, std::string mend = {}) {
  return {Fault::Ours, std::move(what), std::move(where), std::move(mend)};
}

template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}
  explicit operator bool() const { return state.index() == 0; }
  T &operator*() & { return value(); }
  const T &operator*() const & { return value(); }
  T &&operator*() && { return std::move(value()); }
  T *operator->() { return &value(); }
  const T *operator->() const { return &value(); }
  T &value() { assert(*this && "value of a failed Result"); return std::get<0>(state); }
  const T &value() const { assert(*this && "value of a failed Result"); return std::get<0>(state); }
  const Error &error() const { assert(!*this && "error of a good Result"); return std::get<1>(state); }

private:
  std::variant<T, Error> state;
};

/// The value type of a Result that only succeeds or fails.
struct Done {};
using Status = Result<Done>;

} // namespace klineage
