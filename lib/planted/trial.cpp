#include "planted/trial.h"
#include "device/emulated/bounds.h"
#include "device/emulated/code_hash.h"
#include "gate/correctness.h"
#include "planted/usual_check.h"
#include "support/files.h"
#include "support/hash.h"
#include <algorithm>

namespace klineage {
namespace fs = std::filesystem;

bool Tried::isRight() const { return (outcome == Outcome::Accepted) == (kind == PlantedKind::Variant || !equivalent.empty()) && outcome != Outcome::Undecided; }

bool Tried::hasExpectedReason() const {
  return expected.empty() || std::find(expected.begin(), expected.end(), name(reason)) != expected.end();
}

namespace {

/// A planted loop without end is to cost seconds, not a minute. Sound versions of these kernels take well below one.
constexpr emulated::Bounds trialBounds = {.seconds = 10, .secondsARequest = 0, .vendor = emulated::AskVendor::WhenPassing};
constexpr emulated::Bounds usualBounds = {.seconds = 3, .secondsARequest = 0, .vendor = emulated::AskVendor::Never};

} // namespace

struct Trial::Impl {
  std::unique_ptr<Device> device = makeEmulatedDevice(90, trialBounds), usualDevice = makeEmulatedDevice(90, usualBounds);
  fs::path record;
  std::vector<ByHand> byHand;
  Gate gate;
  bool compareUsual = true;
  std::map<std::string, std::string> kernelCode;              ///< By workload hash.
  std::map<std::string, std::unique_ptr<UsualCheck>> usual;   ///< By workload hash.

  Impl(fs::path folder, std::vector<ByHand> rows) : record(std::move(folder)), byHand(std::move(rows)), gate(*device, record) {}

  std::string usualAnswer(const PlantedKernel &kernel, const Planted &planted) {
    Hasher hasher;
    hasher.add("version", versionHash(planted.sources)).add("question", questionHash(kernel.workload)).add("device", device->revision()).add("form", UsualCheck::form);
    fs::path kept = record / "usual" / (hasher.hex().substr(0, 40) + ".txt");
    if (auto text = readFile(kept)) return *text;
    auto &check = usual[kernel.workload.hash];
    if (!check) check = std::make_unique<UsualCheck>(*usualDevice, kernel.workload);
    std::string answer = check->ask(planted.sources);
    std::error_code ignored;
    fs::create_directories(kept.parent_path(), ignored);
    (void)writeFile(kept, answer); // not kept: asked again
    return answer;
  }
};

Trial::Trial(fs::path record, std::vector<ByHand> byHand) : impl(std::make_unique<Impl>(std::move(record), std::move(byHand))) {}
Trial::~Trial() = default;

void Trial::compareWithUsualCheck(bool compare) { impl->compareUsual = compare; }

Tried Trial::ask(const PlantedKernel &kernel, const Planted &planted) {
  GateOptions options;
  options.profile = false;
  Verdict verdict = impl->gate.judge(kernel.workload, planted.sources, nullptr, options);
  Tried tried;
  tried.kind = planted.kind;
  tried.id = planted.id();
  tried.operation = planted.operation;
  tried.was = planted.was;
  tried.expected = planted.expected;
  tried.outcome = verdict.outcome;
  tried.reason = verdict.reason;
  tried.detail = verdict.detail;
  tried.fromCache = verdict.fromCache;
  if (planted.kind == PlantedKind::Mutant && verdict.accepted()) {
    std::string &code = impl->kernelCode[kernel.workload.hash];
    if (code.empty())
      if (auto hash = codeHash(kernel.sources)) code = *hash;
    tried.equivalent = equivalenceOf(planted, code, impl->byHand);
  }
  if (impl->compareUsual) tried.usual = impl->usualAnswer(kernel, planted);
  return tried;
}

} // namespace klineage
