// A device whose answers are scripted: for the decisions of the gate, which must not depend on what runs the code.
#pragma once
#include "device/device.h"
#include "gate/gate.h"
#include "support/files.h"
#include <functional>
#include <gtest/gtest.h>

namespace klineage::testing {

/// One request as the fake sees it, with what a right kernel would have answered.
struct FakeCall {
  const RunRequest &request;
  size_t index;             ///< Of the request in this run.
  RunOutcome outcome;       ///< Right outputs, unchanged inputs, one time. The script changes it.
};

class FakeDevice : public Device {
public:
  std::string id() const override { return deviceId; }
  bool measured() const override { return isMeasured; }
  Build build(const SourceSet &, const Workload &) override {
    ++builds;
    return scriptedBuild;
  }
  std::vector<RunOutcome> run(const SourceSet &sources, const std::vector<RunRequest> &requests) override {
    ++runs;
    std::vector<RunOutcome> outcomes;
    for (const auto &request : requests) {
      FakeCall call{request, outcomes.size(), right(request)};
      call.outcome.seconds = {seconds.count(sources.mainFile) ? seconds[sources.mainFile] : 1e-3};
      if (script && (onlyFor.empty() || onlyFor == sources.mainFile)) script(call);
      outcomes.push_back(std::move(call.outcome));
    }
    if (dropLast && !outcomes.empty()) outcomes.pop_back();
    return outcomes;
  }

  /// Blocks around each side's seconds, with a little even noise; a measured device only.
  PairOutcome timePair(const SourceSet &baseline, const SourceSet &candidate, const PairRequest &request) override {
    ++pairs;
    asked.push_back(request);
    auto secondsOf = [&](const SourceSet &set) { return seconds.count(set.mainFile) ? seconds[set.mainFile] : 1e-3; };
    auto blocks = [&](double a, double b) {
      std::vector<TimingBlock> made;
      for (int i = 0; i < 24; ++i) {
        double wave = 1 + 0.001 * ((i * 7 % 11) - 5) / 5.0;
        made.push_back({a * wave, b / wave, b * wave, a / wave});
      }
      return made;
    };
    PairOutcome outcome;
    if (request.self) outcome.self = blocks(secondsOf(baseline), secondsOf(baseline));
    outcome.pairs = {blocks(secondsOf(baseline), secondsOf(candidate))};
    outcome.stoppedBy = "narrow";
    outcome.baselineCounters = outcome.candidateCounters = {{"percent_dram", 80}};
    if (pairScript) pairScript(outcome);
    return outcome;
  }

  /// y[i] = 2 x[i] + 1, the workload of this fixture, in single precision.
  static RunOutcome right(const RunRequest &request) {
    RunOutcome outcome;
    auto inputs = makeInputs(*request.workload, *request.instance, request.seed);
    EXPECT_TRUE(inputs) << (inputs ? "" : inputs.error().message());
    for (const auto &argument : inputs->arguments) outcome.outputs.push_back(argument.bytes);
    const std::string &x = outcome.outputs[0];
    std::string y(x.size(), '\0');
    for (size_t i = 0; i < x.size() / 4; ++i)
      storeElement(ElementType::F32, y.data() + 4 * i, 2 * loadElement(ElementType::F32, x.data() + 4 * i) + 1);
    outcome.outputs[1] = y;
    outcome.outputs[2].clear();
    return outcome;
  }

  std::string deviceId = "emulated";
  bool isMeasured = false, dropLast = false;
  Build scriptedBuild;
  std::function<void(FakeCall &)> script;
  std::string onlyFor;                     ///< The main file that the script is for; empty: all.
  std::map<std::string, double> seconds;   ///< By main file.
  std::function<void(PairOutcome &)> pairScript;
  std::vector<PairRequest> asked;
  int builds = 0, runs = 0, pairs = 0;
};

inline const char *const goodLauncher = R"(
__global__ void affine(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * x[i] + 1;
}
extern "C" void launch(const float *x, float *y, int n, cudaStream_t stream) {
  affine<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
)";

inline const char *const affineWorkload = R"({
  "schema": "klineage.workload/1", "name": "affine", "entry": "launch", "family": "elementwise",
  "sources": ["kernel.cu"], "axes": ["n"],
  "arguments": [
    {"name": "x", "kind": "input", "type": "f32", "shape": ["n"], "fill": "normal"},
    {"name": "y", "kind": "output", "type": "f32", "shape": ["n"]},
    {"name": "n", "kind": "scalar", "type": "i32", "value": "n"}
  ],
  "instances": [
    {"name": "aligned", "axes": {"n": 256}, "role": "both"},
    {"name": "ragged", "axes": {"n": 131}, "role": "check"}
  ],
  "reference": "reference.cpp"
})";

inline const char *const affineReference = R"(
extern "C" void reference(const double *x, double *y, long long n) {
  for (long long i = 0; i < n; ++i) y[i] = 2 * x[i] + 1;
}
)";

/// A kernel folder on disk, a device and a gate that writes below a scratch folder.
class GateTest : public ::testing::Test {
protected:
  void SetUp() override {
    put("kernel.cu", goodLauncher);
    put("reference.cpp", affineReference);
    put("workload.json", affineWorkload);
    reload();
  }
  void put(const std::string &file, const std::string &text) { ASSERT_TRUE(writeFile(scratch.path() / "kernel" / file, text)); }
  void reload() {
    auto loaded = loadWorkload(scratch.path() / "kernel");
    ASSERT_TRUE(loaded) << loaded.error().message();
    workload = *loaded;
    auto sources = loadSources(workload);
    ASSERT_TRUE(sources) << sources.error().message();
    good = *sources;
  }
  /// Another version in a file of its own, so that the fake can tell it from the good one.
  SourceSet version(const std::string &file, const std::string &text) {
    SourceSet set = good;
    set.files.clear();
    set.mainFile = (scratch.path() / "kernel" / file).string();
    set.files[set.mainFile] = text;
    return set;
  }
  std::filesystem::path records() const { return scratch.path() / "records"; }
  Verdict judge(const SourceSet &candidate, const SourceSet *baseline = nullptr, GateOptions options = {}) {
    return Gate(device, records()).judge(workload, candidate, baseline, options);
  }

  ScratchFolder scratch;
  FakeDevice device;
  Workload workload;
  SourceSet good;
};

} // namespace klineage::testing
