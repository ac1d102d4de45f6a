#include "planted/table.h"
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace klineage {
namespace {

void add(PlantedRow &row, const Tried &tried) {
  ++row.planted;
  if (tried.outcome == Outcome::Refused) {
    ++row.refused;
    row.otherReason += !tried.hasExpectedReason();
  }
  row.undecided += tried.outcome == Outcome::Undecided;
  if (tried.outcome != Outcome::Accepted) ++row.reasons[name(tried.reason)];
  row.falseAccepts += tried.isFalseAccept();
  if (!tried.equivalent.empty()) {
    ++(tried.equivalent == "same code" ? row.sameCode : tried.equivalent.rfind("beyond", 0) == 0 ? row.beyond : row.byHand);
    return;
  }
  row.usualAsked += tried.usual.rfind("not run", 0) != 0;
  row.usualAccepted += tried.usual == "accepted";
}

std::string line(const char *what, const PlantedRow &row) {
  std::string reasons;
  std::vector<std::pair<std::string, unsigned>> sorted(row.reasons.begin(), row.reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) { return a.second > b.second; });
  for (const auto &[reason, count] : sorted) reasons += (reasons.empty() ? "" : ", ") + reason + " " + std::to_string(count);
  char text[160];
  std::snprintf(text, sizeof text, "| %s | %u | %u | %u | %u | %u | %u | %u | %u of %u | ", what, row.planted, row.refused, row.sameCode, row.byHand, row.beyond, row.falseAccepts, row.undecided,
                row.usualAccepted, row.usualAsked);
  return text + reasons + " |\n";
}

void list(std::string &text, const char *title, const std::vector<Tried> &which) {
  if (which.empty()) return;
  text += std::string("\n") + title + ":\n\n";
  for (const Tried &tried : which) {
    text += "- " + tried.id + (tried.was.empty() ? "" : " `" + tried.was + "`") + ": " + name(tried.outcome);
    if (tried.reason != Reason::None) text += std::string(", ") + name(tried.reason);
    if (!tried.expected.empty()) {
      text += ", expected";
      for (const auto &reason : tried.expected) text += " " + reason;
    }
    text += tried.detail.empty() ? "\n" : ": " + tried.detail.substr(0, tried.detail.find('\n')) + "\n";
  }
}

} // namespace

PlantedTable count(const std::vector<Tried> &all) {
  PlantedTable table;
  for (const Tried &tried : all) {
    if (tried.outcome == Outcome::Undecided) table.undecided.push_back(tried);
    if (tried.kind == PlantedKind::Variant) {
      ++table.variants;
      table.variantsAccepted += tried.outcome == Outcome::Accepted;
      if (tried.outcome == Outcome::Refused) table.falseRefusals.push_back(tried);
      continue;
    }
    if (tried.kind == PlantedKind::Mutant) add(table.operations[tried.operation], tried);
    add(tried.kind == PlantedKind::Mutant ? table.mutants : table.cheats, tried);
    add(table.wrong, tried);
    if (tried.isFalseAccept()) table.falseAccepts.push_back(tried);
    if (tried.outcome == Outcome::Refused && !tried.hasExpectedReason()) table.otherReasons.push_back(tried);
  }
  return table;
}

std::string toText(const PlantedTable &table) {
  std::string text = "| operation | planted | refused | same code | equivalent by hand | beyond the instances | false accepts | undecided | usual check accepts | answers |\n"
                     "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto &[operation, row] : table.operations) text += line(operation.c_str(), row);
  text += line("all mutants", table.mutants);
  text += line("written cheats", table.cheats);
  text += line("**all that is wrong**", table.wrong);
  text += "\nVariants that are right: " + std::to_string(table.variants) + ", accepted " + std::to_string(table.variantsAccepted) + ", false refusals " +
          std::to_string(table.falseRefusals.size()) + ".\n";
  list(text, "False accepts", table.falseAccepts);
  list(text, "False refusals", table.falseRefusals);
  list(text, "Undecided", table.undecided);
  list(text, "Refused for another reason than expected", table.otherReasons);
  return text;
}

std::string toJson(const PlantedTable &table, const std::vector<Tried> &all) {
  using nlohmann::json;
  auto row = [](const PlantedRow &r) {
    return json{{"planted", r.planted},           {"refused", r.refused},     {"other_reason", r.otherReason}, {"same_code", r.sameCode},        {"by_hand", r.byHand}, {"beyond_instances", r.beyond},
                {"false_accepts", r.falseAccepts}, {"undecided", r.undecided}, {"usual_asked", r.usualAsked},   {"usual_accepted", r.usualAccepted}, {"reasons", r.reasons}};
  };
  json operations = json::object(), tried = json::array();
  for (const auto &[operation, r] : table.operations) operations[operation] = row(r);
  for (const Tried &one : all)
    tried.push_back({{"id", one.id}, {"kind", name(one.kind)}, {"was", one.was}, {"expected", one.expected}, {"outcome", name(one.outcome)}, {"reason", name(one.reason)},
                     {"detail", one.detail}, {"equivalent", one.equivalent}, {"usual", one.usual}});
  return json{{"schema", "klineage.planted/1"},
              {"operations", operations},
              {"mutants", row(table.mutants)},
              {"cheats", row(table.cheats)},
              {"variants", {{"planted", table.variants}, {"accepted", table.variantsAccepted}}},
              {"tried", tried}}
             .dump(-1, ' ', false, json::error_handler_t::replace) +
         "\n";
}

} // namespace klineage
