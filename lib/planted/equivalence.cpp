#include "planted/equivalence.h"
#include "device/emulated/code_hash.h"
#include "support/files.h"
#include <algorithm>
#include <nlohmann/json.hpp>

namespace klineage {

Result<std::vector<ByHand>> readByHand(const std::filesystem::path &file) {
  std::vector<ByHand> rows;
  if (!std::filesystem::exists(file)) return rows;
  auto text = readFile(file);
  if (!text) return text.error();
  try {
    auto json = nlohmann::json::parse(*text);
    if (json.at("schema") != "klineage.equivalent/1") return userError("not of the schema klineage.equivalent/1", file.string());
    for (const auto &row : json.at("mutants")) {
      ByHand one;
      one.mutant = row.at("mutant");
      one.was = row.at("was");
      one.why = row.at("why");
      if (row.contains("places")) one.places = row.at("places").get<std::vector<std::string>>();
      std::string kind = row.value("kind", "equivalent");
      if (kind != "equivalent" && kind != "beyond_instances" && kind != "undefined") return userError("'" + kind + "' is no kind of row", file.string());
      one.kind = kind == "undefined" ? ByHand::Kind::Undefined : kind == "equivalent" ? ByHand::Kind::Equivalent : ByHand::Kind::BeyondInstances;
      if (one.why.empty()) return userError("the row of " + one.mutant + " gives no reason", file.string());
      rows.push_back(std::move(one));
    }
  } catch (const nlohmann::json::exception &error) {
    return userError(error.what(), file.string(), "lib/planted/equivalence.h says what a row holds");
  }
  return rows;
}

std::string equivalenceOf(const Planted &mutant, const std::string &kernelCode, const std::vector<ByHand> &byHand) {
  const ByHand *said = nullptr;
  for (const ByHand &row : byHand)
    if (row.mutant == mutant.kernel + "/" + mutant.operation && row.was == mutant.was &&
        (row.places.empty() || std::find(row.places.begin(), row.places.end(), mutant.place) != row.places.end()))
      said = &row;
  if (said && said->kind == ByHand::Kind::Undefined) return {};
  auto code = codeHash(mutant.sources);
  if (code && *code == kernelCode) return "same code";
  if (!said) return {};
  return (said->kind == ByHand::Kind::BeyondInstances ? "beyond the instances: " : "by hand: ") + said->why;
}

} // namespace klineage
