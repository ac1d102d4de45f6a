// klineage gate: one verdict on one kernel.
#include "gate/gate.h"
#include "gate_help.h"
#include "support/files.h"
#include "support/tool.h"
#include <CLI/CLI.hpp>
#include <cstdio>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

struct Asked {
  std::string folder, source, baseline, policy = "simplify", device = "emulated", record;
  unsigned sm = 90, seeds = 2;
  bool noProfile = false, noCache = false, json = false, help = false;
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
  std::printf("\n");
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

int judge(const Asked &asked) {
  auto workload = loadWorkload(asked.folder);
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
  auto device = makeEmulatedDevice(asked.sm);
  Gate gate(*device, asked.record.empty() ? cacheFolder() / "gate" : fs::path(asked.record));
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
  app.add_option("folder", asked.folder);
  app.add_option("--source", asked.source);
  app.add_option("--baseline", asked.baseline);
  app.add_option("--policy", asked.policy)->check(CLI::IsMember({"simplify", "materialize"}));
  app.add_option("--device", asked.device);
  app.add_option("--sm", asked.sm)->check(CLI::Range(70, 121));
  app.add_option("--seeds", asked.seeds)->check(CLI::Range(1, 64));
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
  if (asked.folder.empty()) return fail("gate", userError("no kernel folder is named", {}, "klineage gate --help"));
  if (asked.device != "emulated") return fail("gate", userError("there is no device '" + asked.device + "'", {}, "the device of this build is emulated"));
  return judge(asked);
}
