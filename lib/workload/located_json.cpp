#include "workload/located_json.h"
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace klineage {
namespace {

using Json = nlohmann::json;

/// Where the parser's reading head stands. The line is that of the last character that is not white space, because the parser
/// reads one character past a number before it reports the number.
struct Head {
  int line = 1, lineOfLastMark = 1;
  void pass(char c) {
    if (c == '\n') ++line;
    else if (c != ' ' && c != '\t' && c != '\r') lineOfLastMark = line;
  }
};

/// Feeds the parser character by character and moves the head along.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  CountingIterator(const char *at, Head *head) : at(at), head(head) {}
  const char &operator*() const { return *at; }
  CountingIterator &operator++() {
    head->pass(*at++);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator &other) const { return at == other.at; }
  bool operator!=(const CountingIterator &other) const { return at != other.at; }

private:
  const char *at;
  Head *head;
};

/// Builds the tree from the parser's events.
class Builder : public nlohmann::json_sax<Json> {
public:
  Builder(const Head &head, const std::string &name) : head(head), name(name) {}

  bool null() override { return put({}); }
  bool boolean(bool value) override {
    LocatedJson node;
    node.kind = LocatedJson::Kind::Boolean;
    node.boolean = value;
    return put(std::move(node));
  }
  bool number_integer(number_integer_t value) override { return integer(value, std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > uint64_t(INT64_MAX)) return number_float(double(value), std::to_string(value));
    return integer(int64_t(value), std::to_string(value));
  }
  bool number_float(number_float_t value, const string_t &written) override {
    LocatedJson node;
    node.kind = LocatedJson::Kind::Real;
    node.real = value;
    node.text = written;
    return put(std::move(node));
  }
  bool string(string_t &value) override {
    LocatedJson node;
    node.kind = LocatedJson::Kind::String;
    node.text = std::move(value);
    return put(std::move(node));
  }
  bool binary(binary_t &) override { return put({}); }
  bool start_object(size_t) override { return open(LocatedJson::Kind::Object); }
  bool start_array(size_t) override { return open(LocatedJson::Kind::Array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &value) override {
    LocatedJson &object = stack.back();
    for (const LocatedJson::Member &member : object.members)
      if (member.key == value) {
        error = userError("the key \"" + value + "\" is given twice", name + ":" + std::to_string(head.lineOfLastMark),
                          "keep one; the first is in line " + std::to_string(member.line));
        return false;
      }
    object.members.push_back({value, head.lineOfLastMark, {}});
    return true;
  }
  bool parse_error(size_t, const std::string &token, const nlohmann::detail::exception &why) override {
    std::string text = why.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ...": the tail says it.
    if (size_t colon = text.find("syntax error"); colon != std::string::npos) text = text.substr(colon);
    bool atEnd = text.find("unexpected end of input") != std::string::npos;
    error = userError("this is not JSON: " + text, name + ":" + std::to_string(atEnd ? head.line : head.lineOfLastMark),
                      atEnd ? "a closing } or ] is missing" : "look for a missing comma, quote or brace before this place");
    return false;
  }

  std::optional<Error> error;
  LocatedJson root;

private:
  bool integer(int64_t value, std::string written) {
    LocatedJson node;
    node.kind = LocatedJson::Kind::Integer;
    node.integer = value;
    node.real = double(value);
    node.text = std::move(written);
    return put(std::move(node));
  }
  bool open(LocatedJson::Kind kind) {
    LocatedJson node;
    node.kind = kind;
    node.line = head.lineOfLastMark;
    stack.push_back(std::move(node));
    return true;
  }
  bool close() {
    LocatedJson node = std::move(stack.back());
    stack.pop_back();
    return attach(std::move(node));
  }
  bool put(LocatedJson node) {
    node.line = head.lineOfLastMark;
    return attach(std::move(node));
  }
  bool attach(LocatedJson node) {
    if (stack.empty()) root = std::move(node);
    else if (stack.back().kind == LocatedJson::Kind::Array) stack.back().elements.push_back(std::move(node));
    else stack.back().members.back().value = std::move(node);
    return true;
  }

  const Head &head;
  const std::string &name;
  std::vector<LocatedJson> stack;
};

size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row.back();
}

} // namespace

const LocatedJson *LocatedJson::find(std::string_view key) const {
  for (const Member &member : members)
    if (member.key == key) return &member.value;
  return nullptr;
}

const char *describe(LocatedJson::Kind kind) {
  switch (kind) {
  case LocatedJson::Kind::Null: return "null";
  case LocatedJson::Kind::Boolean: return "true or false";
  case LocatedJson::Kind::Integer: return "an integer";
  case LocatedJson::Kind::Real: return "a real number";
  case LocatedJson::Kind::String: return "a string";
  case LocatedJson::Kind::Array: return "an array";
  case LocatedJson::Kind::Object: return "an object";
  }
  return "nothing";
}

Result<LocatedJson> parseLocatedJson(std::string_view text, const std::string &name) {
  Head head;
  Builder builder(head, name);
  CountingIterator begin(text.data(), &head), end(text.data() + text.size(), &head);
  if (!Json::sax_parse(begin, end, &builder)) {
    if (builder.error) return *builder.error;
    return ourFault("the JSON parser stopped without saying why", name);
  }
  return std::move(builder.root);
}

std::string nearestWord(std::string_view word, const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    // Replacing every letter is no misspelling.
    if (distance < bestDistance && distance < std::max(word.size(), candidate.size())) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

} // namespace klineage
