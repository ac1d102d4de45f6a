// Queries: any piece of code and any words have an answer, or a user error; the first line is taken for the words.
#include "tests/fuzz/fuzz.h"
#include "retrieve/query.h"

namespace klineage::fuzz {

void query(std::string_view bytes) {
  Question question;
  size_t line = bytes.find('\n');
  question.words = std::string(bytes.substr(0, line));
  if (line != std::string_view::npos) question.code = std::string(bytes.substr(line + 1));
  auto found = answer(nullptr, question);
  if (!found) {
    promise(found.error().fault == Fault::User, "a question's fault is told as ours: " + found.error().message());
    return;
  }
  promise(found->size() <= question.limit, "more was answered than was asked for");
  for (const Found &one : *found) {
    promise(one.score == one.score, "a score that is no number");
    promise(one.shape >= 0 && one.shape <= 1 + 1e-9, "a likeness outside 0 to 1");
  }
}

} // namespace klineage::fuzz
