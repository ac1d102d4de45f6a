// klineage step: list, describe, explain, facts.
#include "facts/condition.h"
#include "retrieve/load.h"
#include "retrieve/sites.h"
#include "step/describe.h"
#include "step/registry.h"
#include "step_help.h"
#include "support/tool.h"
#include <iostream>
#include <nlohmann/json.hpp>

using namespace klineage;
using nlohmann::json;

namespace {

Error usage(const std::string &what) { return userError(what, "", "klineage step --help shows how"); }

Error unknownStep(const std::string &id) {
  std::string known;
  for (const RegisteredStep &registered : registeredSteps()) known += (known.empty() ? "" : ", ") + std::string(registered.id);
  return userError("there is no step " + id, "", "there are " + known);
}

void print(const json &object) { std::cout << object.dump(2, ' ', false, json::error_handler_t::replace) << "\n"; }

void list(bool asJson) {
  json rows = json::array();
  for (const RegisteredStep &registered : registeredSteps()) {
    const Step &step = *registered.step;
    if (!asJson) {
      std::string id = registered.id;
      std::cout << id << std::string(id.size() < 24 ? 24 - id.size() : 1, ' ') << name(step.stage) << std::string(11 - std::string(name(step.stage)).size(), ' ') << step.summary << "\n";
      continue;
    }
    json conditions = json::array(), parameters = json::array();
    for (const ConditionDecl &c : step.conditions) conditions.push_back({{"name", c.name}, {"text", c.text}, {"kind", name(c.kind)}});
    for (const ParameterDecl &p : step.params) parameters.push_back({{"name", p.name}, {"choices", p.choices}, {"meaning", p.meaning}});
    rows.push_back({{"id", registered.id}, {"stage", name(step.stage)}, {"revision", step.revision}, {"summary", step.summary}, {"intent", step.intent}, {"conditions", conditions}, {"parameters", parameters}});
  }
  if (asJson) print({{"schema", "klineage.step_list/1"}, {"steps", rows}});
}

void printSites(const char *title, const std::vector<SiteView> &sites) {
  if (sites.empty()) return;
  std::cout << title << "\n";
  for (const SiteView &site : sites) {
    std::cout << "  " << site.where << " " << site.locus;
    for (const auto &[name, value] : site.parameters) std::cout << ", " << name << " " << value;
    std::cout << (site.unsound.empty() ? "" : "  NOT SOUND: " + site.unsound) << "\n";
    for (const ConditionView &c : site.conditions)
      std::cout << "    " << c.truth << std::string(c.truth.size() < 9 ? 9 - c.truth.size() : 1, ' ') << c.kind << " " << c.name << ": " << c.text << (c.why.empty() ? "" : " (" + c.why + ")") << "\n";
  }
}

void printDeclines(const char *title, const std::vector<DeclineView> &declines) {
  if (declines.empty()) return;
  std::cout << title << "\n";
  for (const DeclineView &d : declines) std::cout << "  " << d.where << "  " << d.reason << ": " << d.text << "\n";
}

json sitesJson(const std::vector<SiteView> &sites) {
  json rows = json::array();
  for (const SiteView &s : sites) {
    json conditions = json::array();
    for (const ConditionView &c : s.conditions) conditions.push_back({{"name", c.name}, {"text", c.text}, {"kind", c.kind}, {"truth", c.truth}, {"why", c.why}});
    rows.push_back({{"where", s.where}, {"locus", s.locus}, {"parameters", s.parameters}, {"conditions", conditions}, {"unsound", s.unsound}});
  }
  return rows;
}

json declinesJson(const std::vector<DeclineView> &declines) {
  json rows = json::array();
  for (const DeclineView &d : declines) rows.push_back({{"where", d.where}, {"reason", d.reason}, {"text", d.text}});
  return rows;
}

Result<int> explain(const std::string &id, std::string file, unsigned sm, bool asJson) {
  if (!findStep(id)) return unknownStep(id);
  std::optional<unsigned> line;
  if (size_t colon = file.rfind(':'); colon != std::string::npos && colon + 1 < file.size() && file.size() - colon < 8 && file.find_first_not_of("0123456789", colon + 1) == std::string::npos) {
    line = unsigned(std::stoul(file.substr(colon + 1)));
    file.resize(colon);
  }
  auto code = loadCode(file, sm);
  if (!code) return code.error();
  auto sites = findSites(code->sources, code->environment, sm, id, line);
  if (!sites) return sites.error();
  bool applies = false;
  for (const SiteView &site : sites->canAdd) applies |= site.unsound.empty();
  if (asJson) {
    print({{"schema", "klineage.step_explain/1"}, {"step", id}, {"applies", applies}, {"workload", code->hasWorkload}, {"sites", sitesJson(sites->canAdd)}, {"present", sitesJson(sites->present)},
           {"declines", declinesJson(sites->declinesToAdd)}, {"declines_to_remove", declinesJson(sites->declinesToRemove)}});
    return applies ? ExitDone : ExitRefused;
  }
  printSites(("Can be added (" + id + "):").c_str(), sites->canAdd);
  printSites("Is present, and can be taken out:", sites->present);
  printDeclines("Looks like a place for it, but is none:", sites->declinesToAdd);
  printDeclines("Looks like it, but cannot be taken out:", sites->declinesToRemove);
  if (sites->canAdd.empty() && sites->present.empty() && sites->declinesToAdd.empty() && sites->declinesToRemove.empty())
    std::cout << "Nothing " << (line ? "on this line" : "in this file") << " looks like a place for " << id << ": " << findStep(id)->summary << ".\n";
  if (!code->hasWorkload) std::cout << "No workload.json beside the file calls its launcher, so what depends on shapes and alignments is unknown.\n";
  return applies ? ExitDone : ExitRefused;
}

Result<int> act(const std::vector<std::string> &words, unsigned sm, bool asJson) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "list" && words.size() == 1) {
    list(asJson);
    return ExitDone;
  }
  if (command == "facts" && words.size() == 1) {
    json rows = json::array();
    for (const FactDescription &fact : describeFacts()) {
      if (asJson) rows.push_back({{"name", fact.name}, {"signature", fact.signature}, {"meaning", fact.meaning}});
      else std::cout << fact.signature << "\n    " << fact.meaning << "\n";
    }
    if (asJson) print({{"schema", "klineage.facts/1"}, {"facts", rows}});
    return ExitDone;
  }
  if (command == "describe" && words.size() == 2) {
    const Step *step = findStep(words[1]);
    if (!step) return unknownStep(words[1]);
    std::cout << describeStep(words[1], *step);
    return ExitDone;
  }
  if (command == "explain" && words.size() == 3) return explain(words[1], words[2], sm, asJson);
  return usage(command.empty() ? "say what: list, describe, explain or facts" : "this is no use of klineage step: " + command);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> words;
  bool asJson = false;
  unsigned sm = 90;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::cout << helpText;
      return ExitDone;
    }
    if (word == "--json") asJson = true;
    else if (word == "--sm" && i + 1 < argc && std::string(argv[i + 1]).find_first_not_of("0123456789") == std::string::npos && std::string(argv[i + 1]).size() < 4) sm = unsigned(std::stoul(std::string("0") + argv[++i]));
    else if (word.rfind("--", 0) == 0) return fail("step", usage("there is no option " + word));
    else words.push_back(word);
  }
  auto code = act(words, sm, asJson);
  return code ? *code : fail("step", code.error());
}
