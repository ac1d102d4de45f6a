// klineage-materialize: apply a corpus's skills to a kernel. Help: docs/cli/materialize.md.
#include "materialize/materialize.h"
#include "materialize_help.h"
#include "source/unit.h"
#include "support/files.h"
#include "support/tool.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace klineage;
using nlohmann::json;

namespace {

double speedupOf(const Verdict &verdict) { return verdict.profile.empty() ? 0 : verdict.profile.front().speedup(); }
const char *evidenceOf(const Verdict &verdict) { return verdict.profile.empty() ? "none" : verdict.profile.front().measured ? "measured" : "modelled"; }

json toJson(const Try &one) {
  return {{"skill", one.skill}, {"step", one.step}, {"place", one.place}, {"parameters", one.parameters}, {"outcome", name(one.verdict.outcome)},
          {"reason", one.verdict.reason == Reason::None ? "" : name(one.verdict.reason)}, {"speedup", speedupOf(one.verdict)}, {"evidence", evidenceOf(one.verdict)},
          {"kept", one.kept}, {"note", one.note}};
}

json toJson(const MaterializeReport &report, const Workload &workload, const std::string &corpus) {
  json tries = json::array(), missing = json::array();
  for (const auto &one : report.tries) tries.push_back(toJson(one));
  for (const auto &one : report.notApplied) missing.push_back({{"step", one.step}, {"reason", one.reason}, {"where", one.where}, {"detail", one.detail}});
  return {{"schema", "klineage.materialize/1"}, {"kernel", workload.name}, {"corpus", corpus}, {"kept", report.kept()}, {"gate_calls", report.gateCalls},
          {"budget_spent", report.budgetSpent}, {"speedup", speedupOf(report.whole)}, {"evidence", evidenceOf(report.whole)}, {"outcome", name(report.whole.outcome)},
          {"seconds", report.seconds}, {"tries", tries}, {"not_applied", missing}};
}

void print(const MaterializeReport &report, const Workload &workload) {
  std::printf("%s: %d skill applications kept after %d gate calls, %.1f s\n", workload.name.c_str(), report.kept(), report.gateCalls, report.seconds);
  for (const auto &one : report.tries)
    std::printf("  %s %-60s %s%s%s%s\n", one.kept ? "+" : "-", one.place.c_str(), name(one.verdict.outcome), one.verdict.reason == Reason::None ? "" : " ",
                one.verdict.reason == Reason::None ? "" : name(one.verdict.reason),
                one.verdict.profile.empty() ? "" : (", " + std::to_string(speedupOf(one.verdict)) + " x, " + evidenceOf(one.verdict)).c_str());
  if (!report.notApplied.empty()) std::printf("did not apply:\n");
  for (const auto &one : report.notApplied)
    std::printf("    %-20s %s %s%s%s\n", one.step.c_str(), one.reason.c_str(), one.where.c_str(), one.detail.empty() ? "" : ": ", one.detail.substr(0, 160).c_str());
  if (report.kept())
    std::printf("whole: %s, %.3f x the speed of the kernel as given (%s)\n", name(report.whole.outcome), speedupOf(report.whole), evidenceOf(report.whole));
  if (report.budgetSpent) std::printf("the budget of gate calls ended before the search did: --budget N\n");
}

/// The kernel folder again, with the output kernel in place of the main source.
Status writeFolder(const std::filesystem::path &out, const Workload &workload, const MaterializeReport &report, const json &chain) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(out) && fs::equivalent(out, workload.folder, error)) return userError("--out is the kernel's own folder", out.string(), "name another folder");
  fs::create_directories(out, error);
  for (const char *file : {"workload.json"})
    if (auto text = readFile(workload.folder / file))
      if (auto written = writeFile(out / file, *text); !written) return written;
  if (!workload.reference.empty())
    if (auto text = readFile(workload.folder / workload.reference))
      if (auto written = writeFile(out / workload.reference, *text); !written) return written;
  for (const auto &[path, text] : report.output.files)
    if (auto written = writeFile(out / fs::path(path).lexically_relative(workload.folder), text); !written) return written;
  return writeFile(out / "chain.json", chain.dump(2) + "\n");
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app;
  std::string folder, corpusFile = Corpus::defaultFile().string(), deviceName = "emulated", out;
  MaterializeOptions options;
  bool asJson = false, quiet = false, help = false;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  app.add_option("folder", folder);
  app.add_option("--corpus", corpusFile);
  app.add_option("--out", out);
  app.add_option("--budget", options.budget);
  app.add_option("--step", options.onlyStep);
  app.add_option("--device", deviceName);
  app.add_option("--sm", options.sm);
  app.add_flag("--json", asJson);
  app.add_flag("--quiet", quiet);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return fail("materialize", userError(error.what(), {}, "klineage materialize --help"));
  }
  if (help) {
    std::fputs(helpText, stdout);
    return ExitDone;
  }
  if (folder.empty()) return fail("materialize", userError("no kernel folder was named", {}, "klineage materialize --help"));
  auto made = deviceNamed(deviceName, options.sm);
  if (!made) return fail("materialize", made.error());
  Device &device = **made;
  options.sm = device.architecture();
  ProgressLines progress(quiet);
  options.progress = [&](const std::string &line) { progress(line); };
  if (auto probe = probeFrontEnd(); !probe) return fail("materialize", probe.error());
  auto workload = loadWorkload(folder);
  if (!workload) return fail("materialize", workload.error());
  auto sources = loadSources(*workload);
  if (!sources) return fail("materialize", sources.error());
  if (!std::filesystem::exists(corpusFile)) return fail("materialize", userError("there is no corpus", corpusFile, "klineage mine FOLDER --corpus " + corpusFile));
  auto corpus = Corpus::open(corpusFile);
  if (!corpus) return fail("materialize", corpus.error());
  auto verifier = makeEmulatedDevice(options.sm);
  Gate gate(device, cacheFolder() / "gate");
  gate.setVerifier(*verifier);
  auto report = materialize(*workload, *sources, gate, *corpus, device.id(), options);
  if (!report) return fail("materialize", report.error());
  json chain = toJson(*report, *workload, corpusFile);
  if (!out.empty())
    if (auto written = writeFolder(out, *workload, *report, chain); !written) return fail("materialize", written.error());
  if (asJson) std::printf("%s\n", chain.dump(2).c_str());
  else print(*report, *workload);
  if (report->kept()) return ExitDone;
  return report->budgetSpent ? ExitUndecided : ExitRefused;
}
