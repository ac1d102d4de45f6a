// klineage gate: one verdict on one kernel.
#include "device/bottleneck.h"
#include "gate/gate.h"
#include "gate/self_test.h"
#include "gate_help.h"
#include "planted/table.h"
#include "support/files.h"
#include "support/tool.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

struct Asked {
  std::vector<std::string> folders;
  std::string source, baseline, planted = "tests/gate", kind, policy = "simplify", device = "emulated", record;
  std::string instance;
  unsigned sm = 90, seeds = 2, againstItself = 0, sample = 0;
  bool selfTest = false, noProfile = false, noCache = false, json = false, help = false;
};

/// The folder's version with another main file. Its own folder stays on the include path, so that headers are found from anywhere.
Result<SourceSet> withMain(SourceSet set, const std::string &file, const Workload &workload) {
  auto text = readFile(file);
  if (!text) return text.error();
  set.files.erase(set.mainFile);
  set.mainFile = fs::absolute(file).lexically_normal().string();
  set.files[set.mainFile] = std::move(*text);
  set.includeFolders.push_back(fs::absolute(workload.folder).lexically_normal().string());
  return set;
}

void printTime(const ProfilePoint &point) {
  const char *kind = point.measured ? "measured" : "modelled";
  std::printf("  %s on %s: %.3f us", kind, point.instance.c_str(), point.candidateSeconds * 1e6);
  if (point.baselineSeconds > 0)
    std::printf(", baseline %.3f us, speedup %.3f", point.baselineSeconds * 1e6, point.speedup());
  if (point.ratio > 0)
    std::printf(" (%.4f to %.4f, %u blocks; differences below %.2f %% are none)", point.low, point.high, point.blocks, 100 * point.smallestDifference);
  std::printf("\n");
  if (point.measured) std::printf("  bottleneck: %s\n", bottleneckOf(point.candidateCounters).text().c_str());
}

void print(const Verdict &verdict) {
  std::printf("%s", name(verdict.outcome));
  if (verdict.reason != Reason::None) std::printf(": %s", name(verdict.reason));
  std::printf("\n");
  if (!verdict.detail.empty()) std::printf("  %s\n", verdict.detail.c_str());
  std::map<std::string, std::pair<unsigned, double>> byInstance;
  for (const auto &result : verdict.instances)
    if (result.reason == Reason::None) {
      auto &[calls, worst] = byInstance[result.instance];
      ++calls;
      worst = std::max(worst, result.worstError);
    }
  for (const auto &[instance, calls] : byInstance) std::printf("  right on %s, %u calls, largest error %.2g\n", instance.c_str(), calls.first, calls.second);
  if (verdict.oracle == "self") std::printf("  the oracle is the kernel's own expert version\n");
  if (verdict.nondeterministic) std::printf("  outputs differ bitwise between runs, within the bounds\n");
  for (const auto &point : verdict.profile) printTime(point);
  for (const auto &note : verdict.notes) std::printf("  note: %s\n", note.c_str());
  std::printf("  %s in %.2f s, record %s\n", verdict.fromCache ? "answered from the kept record" : "asked", verdict.seconds, verdict.runKey.c_str());
}

int exitCode(const Verdict &verdict) {
  if (verdict.reason == Reason::Internal) return ExitOurFault;
  return verdict.outcome == Outcome::Accepted ? ExitDone : verdict.outcome == Outcome::Refused ? ExitRefused : ExitUndecided;
}

/// Equal builds against each other: how often does the gate see a difference where there is none?
int timedAgainstItself(const Asked &asked, Device &device, const Workload &workload, const SourceSet &sources) {
  const Instance *instance = nullptr;
  for (const Instance &one : workload.instances)
    if (asked.instance.empty() ? one.profile && (one.devices.empty() || one.devices.front() == "cuda") && !instance : one.name == asked.instance) instance = &one;
  if (!instance) return fail("gate", userError("the workload has no such profile instance", {}, "--instance NAME"));
  SelfTest test = againstItself(device, workload, sources, *instance, asked.againstItself, 10000);
  if (asked.json) {
    std::fputs(toJson(test).c_str(), stdout);
  } else {
    std::printf("%s on %s, %.3f us: %u of %u equal builds called different (at most %.3f %% with 95 %% confidence); resampled %u of %u (at most %.3f %%)\n",
                workload.name.c_str(), instance->name.c_str(), test.medianSeconds * 1e6, test.wrong, test.verdicts, 100 * upperBound(test.wrong, test.verdicts),
                test.resampledWrong, test.resampled, 100 * upperBound(test.resampledWrong, test.resampled));
    std::printf("  smallest difference %.3f %% (median), %u blocks a verdict, SM clock %.0f to %.0f MHz\n", 100 * test.medianSmallest, test.blocksAVerdict,
                test.clocks["clock_sm_mhz_low"], test.clocks["clock_sm_mhz_high"]);
  }
  if (test.reason == Reason::None) return ExitDone;
  std::fprintf(stderr, "klineage-gate: %s: %s\n", name(test.reason), test.detail.c_str());
  return ExitUndecided;
}

/// The kernel folders right below a folder, by name.
void addKernels(std::vector<fs::path> &folders, const fs::path &below) {
  size_t before = folders.size();
  std::error_code none;
  for (const auto &entry : fs::directory_iterator(below, none))
    if (fs::exists(entry.path() / "workload.json")) folders.push_back(entry.path());
  std::sort(folders.begin() + before, folders.end());
}

/// Faults that were planted, cheats that were written, variants that are right: does the gate tell them apart?
int selfTest(const Asked &asked) {
  std::vector<fs::path> folders(asked.folders.begin(), asked.folders.end());
  if (folders.empty()) {
    addKernels(folders, "expert_kernels");
    addKernels(folders, fs::path(asked.planted) / "bases");
  }
  if (folders.empty()) return fail("gate", userError("there is nothing to plant faults in", {}, "name kernel folders, or call it where expert_kernels/ is"));
  std::vector<PlantedKernel> kernels;
  for (const auto &folder : folders) {
    auto kernel = plantedIn(folder, asked.planted);
    if (!kernel) return fail("gate", kernel.error());
    kernels.push_back(std::move(*kernel));
  }
  if (!asked.kind.empty())
    for (auto &kernel : kernels) std::erase_if(kernel.planted, [&](const Planted &planted) { return asked.kind != name(planted.kind); });
  if (asked.sample) sample(kernels, asked.sample);
  auto byHand = readByHand(fs::path(asked.planted) / "equivalent.json");
  if (!byHand) return fail("gate", byHand.error());
  Trial trial(asked.record.empty() ? cacheFolder() / "gate" : fs::path(asked.record), std::move(*byHand));
  ProgressLines progress;
  std::vector<Tried> all;
  size_t planted = 0;
  for (const auto &kernel : kernels) planted += kernel.planted.size();
  for (const auto &kernel : kernels)
    for (const auto &one : kernel.planted) {
      all.push_back(trial.ask(kernel, one));
      const Tried &tried = all.back();
      progress(std::to_string(all.size()) + "/" + std::to_string(planted) + " " + tried.id + ": " + name(tried.outcome) + " " + name(tried.reason) +
               (tried.isRight() ? "" : " WRONG"));
    }
  PlantedTable table = count(all);
  std::fputs(asked.json ? toJson(table, all).c_str() : toText(table).c_str(), stdout);
  return table.isClean() ? ExitDone : table.falseAccepts.empty() && table.falseRefusals.empty() ? ExitUndecided : ExitRefused;
}

int judge(const Asked &asked) {
  auto workload = loadWorkload(asked.folders.front());
  if (!workload) return fail("gate", workload.error());
  auto own = loadSources(*workload);
  if (!own) return fail("gate", own.error());
  auto candidate = asked.source.empty() ? own : withMain(*own, asked.source, *workload);
  if (!candidate) return fail("gate", candidate.error());
  bool hasBaseline = !asked.baseline.empty() || !asked.source.empty();
  auto baseline = asked.baseline.empty() ? own : withMain(*own, asked.baseline, *workload);
  if (!baseline) return fail("gate", baseline.error());

  GateOptions options;
  options.policy = asked.policy == "materialize" ? Policy::Materialize : Policy::Simplify;
  options.seeds = asked.seeds;
  options.profile = !asked.noProfile;
  options.useCache = !asked.noCache;
  options.instance = asked.instance;
  auto device = deviceNamed(asked.device, asked.sm);
  if (!device) return fail("gate", device.error());
  if (asked.againstItself) return timedAgainstItself(asked, **device, *workload, *candidate);
  auto verifier = makeEmulatedDevice((*device)->architecture());
  Gate gate(**device, asked.record.empty() ? cacheFolder() / "gate" : fs::path(asked.record));
  gate.setVerifier(*verifier);
  Verdict verdict = gate.judge(*workload, *candidate, hasBaseline ? &*baseline : nullptr, options);
  if (asked.json) std::fputs(toJson(verdict).c_str(), stdout);
  else print(verdict);
  return exitCode(verdict);
}

} // namespace

int main(int argc, char **argv) {
  Asked asked;
  CLI::App app;
  app.set_help_flag();
  app.add_flag("--help,-h", asked.help);
  app.add_option("folder", asked.folders);
  app.add_flag("--selftest", asked.selfTest);
  app.add_option("--planted", asked.planted);
  app.add_option("--kind", asked.kind)->check(CLI::IsMember({"mutant", "cheat", "variant"}));
  app.add_option("--sample", asked.sample)->check(CLI::Range(1, 1000000));
  app.add_option("--source", asked.source);
  app.add_option("--baseline", asked.baseline);
  app.add_option("--policy", asked.policy)->check(CLI::IsMember({"simplify", "materialize"}));
  app.add_option("--device", asked.device);
  app.add_option("--sm", asked.sm)->check(CLI::Range(70, 121));
  app.add_option("--seeds", asked.seeds)->check(CLI::Range(1, 64));
  app.add_option("--instance", asked.instance);
  app.add_option("--against-itself", asked.againstItself)->check(CLI::Range(1, 1000));
  app.add_option("--record", asked.record);
  app.add_flag("--no-profile", asked.noProfile);
  app.add_flag("--no-cache", asked.noCache);
  app.add_flag("--json", asked.json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return fail("gate", userError(error.what(), {}, "klineage gate --help"));
  }
  if (asked.help) {
    std::fputs(helpText, stdout);
    return ExitDone;
  }
  if (asked.selfTest) return selfTest(asked);
  if (asked.folders.empty()) return fail("gate", userError("no kernel folder is named", {}, "klineage gate --help"));
  if (asked.folders.size() > 1) return fail("gate", userError("more than one kernel folder is named", {}, "klineage gate --help"));
  return judge(asked);
}
