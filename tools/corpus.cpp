// klineage corpus: list, show, stats, merge, note, reject.
#include "corpus_help.h"
#include "lineage_db/corpus.h"
#include "retrieve/show.h"
#include "support/tool.h"
#include <iostream>
#include <nlohmann/json.hpp>

using namespace klineage;
using nlohmann::json;

namespace {

struct Options {
  std::vector<std::string> words;              ///< Without options; the first is the sub-command.
  std::map<std::string, std::string> values;   ///< --name VALUE
  bool json = false, upgrade = false;
};

Error usage(const std::string &what) { return userError(what, "", "klineage corpus --help shows how"); }

Result<Options> parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "--json") options.json = true;
    else if (word == "--upgrade") options.upgrade = true;
    else if (word == "--corpus" || word == "--step" || word == "--kernel" || word == "--family" || word == "--status" || word == "--lineage" || word == "--source" || word == "--by") {
      if (i + 1 >= argc) return usage(word + " needs a value");
      options.values[word.substr(2)] = argv[++i];
    } else if (word.rfind("--", 0) == 0) return usage("there is no option " + word);
    else options.words.push_back(word);
  }
  return options;
}

void print(const json &object) { std::cout << object.dump(2, ' ', false, json::error_handler_t::replace) << "\n"; }

Status list(const Corpus &corpus, const Options &options) {
  SkillFilter filter;
  auto value = [&](const char *name) { return options.values.count(name) ? options.values.at(name) : std::string(); };
  filter.step = value("step");
  filter.kernel = value("kernel");
  filter.family = value("family");
  if (!value("status").empty()) {
    auto status = skillStatusNamed(value("status"));
    if (!status) return usage("there is no status " + value("status") + "; there are candidate, reproduced, admitted, stale and rejected");
    filter.statuses = {*status};
  }
  auto skills = corpus.skills(filter);
  if (!skills) return skills.error();
  if (options.json) {
    json rows = json::array();
    for (const Skill &s : *skills)
      rows.push_back({{"key", s.key}, {"step", s.step}, {"kernel", s.kernel}, {"family", s.family}, {"status", name(s.status)}, {"summary", s.summary},
                      {"gain_modelled", gain(s.effects, false) ? json(*gain(s.effects, false)) : json()}, {"gain_measured", gain(s.effects, true) ? json(*gain(s.effects, true)) : json()}});
    print({{"schema", "klineage.skill_list/1"}, {"skills", rows}});
    return Done{};
  }
  for (const Skill &skill : *skills) std::cout << skillLine(skill) << "\n";
  std::cout << skills->size() << (skills->size() == 1 ? " skill" : " skills") << "\n";
  return Done{};
}

Status showLineage(const Corpus &corpus, const std::string &name, bool asJson) {
  auto kernel = corpus.kernel(name);
  if (!kernel) return kernel.error();
  if (!*kernel) {
    std::string known;
    if (auto all = corpus.kernels()) for (const KernelRow &row : *all) known += (known.empty() ? "" : ", ") + row.name;
    return userError("there is no kernel " + name + " in this corpus", "", known.empty() ? "mine one first" : "there are " + known);
  }
  auto walk = corpus.walk(name);
  auto transitions = corpus.transitions(name);
  if (!walk) return walk.error();
  if (!transitions) return transitions.error();
  std::vector<FeatureRow> left;
  if (*walk)
    if (auto features = corpus.features((*walk)->current)) left = *features;
  if (asJson) {
    json object = lineageJson(**kernel, *walk, *transitions, left);
    object["schema"] = "klineage.lineage/1";
    print(object);
  } else {
    std::cout << describeLineage(**kernel, *walk, *transitions, left);
  }
  return Done{};
}

Status showSource(const Corpus &corpus, const std::string &prefix) {
  auto full = corpus.versionNamed(prefix);
  if (!full) return full.error();
  auto version = corpus.version(*full);
  if (!version) return version.error();
  for (const auto &[path, text] : (*version)->files) {
    if ((*version)->files.size() > 1) std::cout << "// " << path << "\n";
    std::cout << text;
  }
  return Done{};
}

Status show(const Corpus &corpus, const Options &options) {
  if (options.values.count("lineage")) return showLineage(corpus, options.values.at("lineage"), options.json);
  if (options.values.count("source")) return showSource(corpus, options.values.at("source"));
  if (options.words.size() != 2) return usage("show needs one skill, or --lineage KERNEL, or --source HASH");
  auto skill = corpus.skill(options.words[1]);
  if (!skill) return skill.error();
  if (!*skill) return userError("there is no skill " + options.words[1], "", "klineage corpus list shows the skills that there are");
  auto probes = corpus.probesOfSkill((*skill)->key);
  auto notes = corpus.annotations("skill", (*skill)->key);
  if (!probes) return probes.error();
  if (!notes) return notes.error();
  if (options.json) {
    json object = skillJson(**skill, *probes, *notes);
    object["schema"] = "klineage.skill/1";
    print(object);
  } else {
    std::cout << describeSkill(**skill, *probes, *notes);
  }
  return Done{};
}

Status stats(const Corpus &corpus, const Options &options) {
  auto result = corpus.stats();
  if (!result) return result.error();
  const CorpusStats &s = *result;
  if (options.json) {
    print({{"schema", "klineage.stats/1"}, {"file", corpus.file().string()}, {"schema_version", s.schemaVersion}, {"kernels", s.kernels}, {"versions", s.versions},
           {"sources", {{"texts", s.sources}, {"bytes", s.sourceBytes}, {"stored_bytes", s.storedBytes}}},
           {"transitions", {{"accepted", s.transitionsAccepted}, {"refused", s.transitionsRefused}, {"undecided", s.transitionsUndecided}}},
           {"refusals_by_reason", s.refusalsByReason}, {"probes", s.probes}, {"runs", s.runs}, {"attempts", s.attempts}, {"attempts_kept", s.attemptsKept},
           {"skills_by_status", s.skillsByStatus}, {"skills_by_step", s.skillsByStep}, {"effects", {{"modelled", s.effectsModelled}, {"measured", s.effectsMeasured}}}});
    return Done{};
  }
  std::cout << corpus.file().string() << ", schema " << s.schemaVersion << "\n"
            << "  kernels      " << s.kernels << " with " << s.versions << " versions; " << s.sources << " texts, " << s.sourceBytes << " bytes in " << s.storedBytes << "\n"
            << "  transitions  " << s.transitionsAccepted << " accepted, " << s.transitionsRefused << " refused, " << s.transitionsUndecided << " undecided\n";
  for (const auto &[reason, count] : s.refusalsByReason) std::cout << "                 " << count << " " << reason << "\n";
  std::cout << "  probes       " << s.probes << "\n  gate runs    " << s.runs << "\n  attempts     " << s.attempts << ", kept " << s.attemptsKept << "\n  skills\n";
  for (const auto &[status, count] : s.skillsByStatus) std::cout << "                 " << count << " " << status << "\n";
  for (const auto &[step, count] : s.skillsByStep) std::cout << "                 " << count << " of " << step << "\n";
  std::cout << "  effects      " << s.effectsModelled << " modelled, " << s.effectsMeasured << " measured\n";
  return Done{};
}

Status act(const Options &options) {
  const std::string command = options.words.empty() ? "" : options.words[0];
  const bool writes = command == "merge" || command == "note" || command == "reject" || options.upgrade;
  if (command != "list" && command != "show" && command != "stats" && command != "merge" && command != "note" && command != "reject")
    return usage(command.empty() ? "name what to do: list, show, stats, merge, note or reject" : "there is no sub-command " + command);
  std::filesystem::path file = options.values.count("corpus") ? std::filesystem::path(options.values.at("corpus")) : Corpus::defaultFile();
  Corpus::Options open;
  open.create = command == "merge";
  if (command == "merge") { // nothing is made or added unless every source can be read
    if (options.words.size() < 2) return usage("merge needs the corpora to add");
    for (size_t i = 1; i < options.words.size(); ++i)
      if (auto other = Corpus::openReadOnly(options.words[i]); !other) return other.error();
  }
  auto corpus = writes ? Corpus::open(file, open) : Corpus::openReadOnly(file);
  if (!corpus) return corpus.error();
  if (command == "list") return list(*corpus, options);
  if (command == "show") return show(*corpus, options);
  if (command == "stats") return stats(*corpus, options);
  if (command == "merge") {
    for (size_t i = 1; i < options.words.size(); ++i)
      if (Status merged = corpus->merge(options.words[i]); !merged) return merged;
    return stats(*corpus, options);
  }
  if (options.words.size() != 3) return usage(command + " needs a skill and a text");
  if (command == "reject") return corpus->setSkillStatus(options.words[1], SkillStatus::Rejected, options.words[2]);
  if (!options.values.count("by")) return usage("a note needs its author: --by NAME");
  auto skill = corpus->skill(options.words[1]);
  if (!skill) return skill.error();
  if (!*skill) return userError("there is no skill " + options.words[1], "", "klineage corpus list shows the skills that there are");
  return corpus->annotate({"skill", (*skill)->key, options.values.at("by"), options.words[2], 0});
}

} // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--help" || std::string(argv[i]) == "-h") {
      std::cout << helpText;
      return ExitDone;
    }
  auto options = parse(argc, argv);
  if (!options) return fail("corpus", options.error());
  Status status = act(*options);
  return status ? ExitDone : fail("corpus", status.error());
}
