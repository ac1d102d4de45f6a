// The table of all facts, and the page that is made of it.
#include "facts/facts.h"
#include <algorithm>

namespace klineage {

const std::vector<Fact> &allFacts() {
  static const std::vector<Fact> table = [] {
    std::vector<Fact> facts;
    addIndexFacts(facts);
    addMemoryFacts(facts);
    addLaunchFacts(facts);
    std::sort(facts.begin(), facts.end(), [](const Fact &a, const Fact &b) { return std::string_view(a.name) < b.name; });
    return facts;
  }();
  return table;
}

std::vector<FactDescription> describeFacts() {
  std::vector<FactDescription> descriptions;
  for (const Fact &fact : allFacts()) descriptions.push_back({fact.name, fact.signature, fact.meaning});
  return descriptions;
}

} // namespace klineage
