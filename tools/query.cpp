// klineage query: skills and steps by code or by words.
#include "lineage_db/corpus.h"
#include "query_help.h"
#include "retrieve/load.h"
#include "retrieve/query.h"
#include "retrieve/show.h"
#include "support/tool.h"
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace klineage;
using nlohmann::json;

namespace {

struct Options {
  std::string words, code, corpus;
  std::optional<unsigned> line;
  SkillFilter filter;
  size_t limit = 5;
  unsigned sm = 90;
  bool json = false;
};

Error usage(const std::string &what) { return userError(what, "", "klineage query --help shows how"); }

Result<Options> parse(int argc, char **argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto number = [&](auto &target) -> Status {
      std::string text = i + 1 < argc ? argv[++i] : "";
      if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != std::string::npos || text == "0") return usage(word + " needs a number above 0");
      target = unsigned(std::stoul(text));
      return Done{};
    };
    std::string *text = word == "--code" ? &o.code : word == "--corpus" ? &o.corpus : word == "--family" ? &o.filter.family : word == "--not-family" ? &o.filter.notFamily : word == "--step" ? &o.filter.step : nullptr;
    if (word == "--json") o.json = true;
    else if (word == "--at" || word == "--limit" || word == "--sm") {
      Status status = word == "--at" ? number(o.line) : word == "--limit" ? number(o.limit) : number(o.sm);
      if (!status) return status.error();
    } else if (text) {
      if (i + 1 >= argc) return usage(word + " needs a value");
      *text = argv[++i];
    } else if (word == "--") {
      while (++i < argc) o.words += (o.words.empty() ? "" : " ") + std::string(argv[i]);
    } else if (word.rfind("--", 0) == 0 && word.size() > 2) return usage("there is no option " + word);
    else o.words += (o.words.empty() ? "" : " ") + word;
  }
  if (o.words.empty() && o.code.empty()) return usage("say what you look for: words, or --code FILE");
  if (o.line && o.code.empty()) return usage("--at needs --code");
  return o;
}

/// The lines around one line: what --at means for the shape.
std::string around(const std::string &text, unsigned line) {
  std::string result;
  unsigned at = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    if (at + 6 >= line && at <= line + 12) result += text[i];
    if (text[i] == '\n') ++at;
  }
  return result;
}

std::string percent(double value) { return std::to_string(int(value * 100 + 0.5)) + " %"; }

void printSite(const SiteView &site, bool whole) {
  std::cout << "     " << site.where << " " << site.locus;
  for (const auto &[name, value] : site.parameters) std::cout << ", " << name << " " << value;
  std::cout << "\n";
  if (!whole) return;
  for (const ConditionView &c : site.conditions) std::cout << "       " << c.truth << "  " << c.name << ": " << c.text << (c.why.empty() ? "" : " (" + c.why + ")") << "\n";
}

void print(const std::vector<Found> &all, const std::string &notAsked) {
  int number = 0;
  for (const Found &f : all) {
    std::cout << ++number << ". " << f.step << " [" << f.stage << "]: " << f.summary << "\n";
    if (f.applies == "yes" || f.applies == "conditions") {
      std::cout << "   " << (f.applies == "yes" ? "applies here" : "would apply here, but " + f.sites.front().unsound + " does not hold") << ", sites: " << f.sites.size() << "\n";
      for (size_t i = 0; i < f.sites.size() && i < 3; ++i) printSite(f.sites[i], i == 0);
    } else if (f.applies == "no") {
      std::cout << "   no site in this code (klineage step explain " << f.step << " FILE says why)\n";
    }
    if (!f.present.empty()) {
      std::cout << "   present already, sites: " << f.present.size() << "\n";
      for (size_t i = 0; i < f.present.size() && i < 2; ++i) printSite(f.present[i], false);
    }
    if (f.shape > 0) {
      std::cout << "   looks like the " << (f.looksExpert ? "expert" : "plain") << " form in " << f.nearest << ", likeness " << percent(f.shape) << ":";
      for (const std::string &token : f.because) std::cout << " " << token;
      std::cout << "\n";
    }
    if (f.words > 0) std::cout << "   words fit " << percent(f.words) << " of the best\n";
    if (f.gainModelled || f.gainMeasured) {
      char text[64] = "";
      std::cout << "   brought";
      if (f.gainModelled) std::snprintf(text, sizeof text, " %.2fx modelled", *f.gainModelled), std::cout << text;
      if (f.gainMeasured) std::snprintf(text, sizeof text, "%s %.2fx measured", f.gainModelled ? "," : "", *f.gainMeasured), std::cout << text;
      std::cout << "\n";
    }
    for (size_t i = 0; i < f.skills.size() && i < 3; ++i) {
      const Skill &s = f.skills[i];
      std::cout << "   skill " << s.key << " (" << name(s.status) << ", from " << s.kernel << ")";
      for (const SkillCondition &c : s.conditions)
        if (c.kind == "soundness") std::cout << (&c == &s.conditions.front() ? "; needs " : ", ") << c.name << " " << name(c.evidence);
      std::cout << "\n";
    }
    if (f.skills.empty()) std::cout << "   no skill of it in this corpus; the catalogue knows the step\n";
  }
  if (!notAsked.empty()) std::cout << "The steps were not asked for sites: " << notAsked << "\n";
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

void printJson(const std::vector<Found> &all, const std::string &notAsked) {
  json rows = json::array();
  for (const Found &f : all) {
    json skills = json::array();
    for (const Skill &s : f.skills) skills.push_back(skillJson(s, {}, {}));
    rows.push_back({{"step", f.step}, {"summary", f.summary}, {"stage", f.stage}, {"score", f.score}, {"applies", f.applies}, {"sites", sitesJson(f.sites)}, {"present", sitesJson(f.present)},
                    {"shape", {{"likeness", f.shape}, {"side", f.looksExpert ? "expert" : "plain"}, {"nearest", f.nearest}, {"because", f.because}}}, {"words", f.words},
                    {"gain_modelled", f.gainModelled ? json(*f.gainModelled) : json()}, {"gain_measured", f.gainMeasured ? json(*f.gainMeasured) : json()}, {"skills", skills}});
  }
  json object = {{"schema", "klineage.query/1"}, {"not_asked", notAsked}, {"found", rows}};
  std::cout << object.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

Result<int> act(const Options &o) {
  std::optional<Corpus> corpus;
  std::filesystem::path file = o.corpus.empty() ? Corpus::defaultFile() : std::filesystem::path(o.corpus);
  if (!o.corpus.empty() || std::filesystem::exists(file)) {
    auto opened = Corpus::openReadOnly(file);
    if (!opened) return opened.error();
    corpus = std::move(*opened);
  }
  Question question;
  question.words = o.words;
  question.filter = o.filter;
  question.limit = o.limit;
  std::string notAsked;
  std::optional<StepSites> sites;
  if (!o.code.empty()) {
    auto code = loadCode(o.code, o.sm);
    if (!code) return code.error();
    const std::string &text = code->sources.mainText();
    question.code = o.line ? around(text, *o.line) : text;
    if (o.line && question.code.empty()) return userError("the file has no line " + std::to_string(*o.line), o.code);
    if (text.find("__global__") == std::string::npos) {
      notAsked = "there is no __global__ function in this code";
    } else if (auto found = findSites(code->sources, code->environment, o.sm, o.filter.step, o.line)) {
      sites = *std::move(found);
      question.sites = &*sites;
    } else if (found.error().fault == Fault::Ours) {
      return found.error();
    } else {
      notAsked = "the code does not parse: " + found.error().message().substr(0, 300);
    }
  }
  auto found = answer(corpus ? &*corpus : nullptr, question);
  if (!found) return found.error();
  if (o.json) printJson(*found, notAsked);
  else print(*found, notAsked);
  if (found->empty() && !o.json) std::cout << "Nothing in the catalogue" << (corpus ? " or in " + file.string() : "") << " fits.\n";
  return found->empty() ? ExitRefused : ExitDone;
}

} // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string(argv[i]) == "--help" || std::string(argv[i]) == "-h") {
      std::cout << helpText;
      return ExitDone;
    }
  auto options = parse(argc, argv);
  if (!options) return fail("query", options.error());
  auto code = act(*options);
  return code ? *code : fail("query", code.error());
}
