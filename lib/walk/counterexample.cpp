#include "walk/counterexample.h"
#include "gate/environment_of.h"
#include "step/engine.h"
#include "support/files.h"
#include "support/hash.h"
#include <algorithm>

namespace klineage {
namespace {
namespace fs = std::filesystem;

struct Loaded {
  Workload workload;
  std::unique_ptr<LoadedVersion> version;
};

/// Its files in a folder that is the same in every run, so that the gate's record answers the second time.
Result<Loaded> load(const Counterexample &example) {
  fs::path folder = cacheFolder() / "counterexamples" / example.step / example.condition;
  std::error_code failed;
  fs::create_directories(folder, failed);
  fs::path kernel = folder / "kernel.cu";
  if (auto wrote = writeFile(kernel, example.kernel); !wrote) return wrote.error();
  if (auto wrote = writeFile(folder / "workload.json", example.workload); !wrote) return wrote.error();
  if (*example.referenceFile)
    if (auto wrote = writeFile(folder / example.referenceFile, example.reference); !wrote) return wrote.error();
  auto workload = loadWorkload(folder);
  if (!workload) return workload.error();
  // Without a reference the kernel is its own oracle, so it is a part of what the workload means.
  workload->hash = Hasher().add("workload", workload->hash).add("kernel", example.kernel).hex();
  SourceSet sources;
  sources.mainFile = kernel.string();
  sources.files[sources.mainFile] = example.kernel;
  auto version = LoadedVersion::load(formatted(sources), environmentOf(*workload), {}, workload->entry);
  if (!version) return version.error();
  return Loaded{std::move(*workload), std::move(*version)};
}

ProbeRow unproved(ProbeRow row, std::string why) {
  row.evidence = ConditionEvidence::Unproved;
  row.detail = std::move(why);
  return row;
}

std::string said(const Verdict &verdict) { return verdict.accepted() ? "accepted" : name(verdict.reason); }

ProbeRow run(const Counterexample &example, Gate &gate) {
  ProbeRow row;
  row.condition = example.condition;
  row.change = "counterexample: tests/steps/" + std::string(example.step) + "/fail_" + example.condition + ".cu, the condition waived";
  row.expertAnswer = row.plainAnswer = "not_run";
  auto loaded = load(example);
  if (!loaded) return unproved(row, loaded.error().message());
  const LoadedVersion &plain = *loaded->version;
  GateOptions options{.policy = Policy::Simplify, .seeds = 1, .profile = false};
  Verdict before = gate.judge(loaded->workload, plain.sources(), nullptr, options);
  row.plainAnswer = said(before);
  if (!before.accepted()) return unproved(row, "the counterexample itself does not pass here: " + before.detail);
  auto found = survey(plain, Direction::Materialize, example.step);
  auto broken = std::find_if(found.candidates.begin(), found.candidates.end(), [&](const Candidate &one) { return one.firstUnsound() == example.condition; });
  if (broken == found.candidates.end()) return unproved(row, "no site of the counterexample breaks the condition");
  auto applied = apply(plain, Direction::Materialize, *broken, {}, /*waive=*/true);
  if (!applied) return unproved(row, applied.error().message());
  Verdict after = gate.judge(loaded->workload, applied->sources, nullptr, options);
  row.expertAnswer = said(after);
  row.detail = after.detail;
  row.evidence = after.outcome == Outcome::Undecided ? ConditionEvidence::Unproved : after.accepted() ? ConditionEvidence::NotNeeded : ConditionEvidence::Needed;
  return row;
}

} // namespace

const ProbeRow &CounterexampleRuns::of(const std::string &step, const std::string &condition) {
  auto [place, isNew] = known.try_emplace({step, condition});
  if (!isNew) return place->second;
  auto all = counterexamples();
  auto example = std::find_if(all.begin(), all.end(), [&](const Counterexample &one) { return step == one.step && condition == one.condition; });
  if (example != all.end()) return place->second = run(*example, gate);
  ProbeRow none;
  none.condition = condition;
  none.expertAnswer = none.plainAnswer = "not_run";
  return place->second = unproved(none, "the step has no counterexample of this condition");
}

} // namespace klineage
