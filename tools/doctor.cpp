// klineage doctor: tries each part that the tools rest on, and says what to do about those that fail.
#include "device/device.h"
#include "device/isolation.h"
#include "doctor_help.h"
#include "gate/gate.h"
#include "source/toolchain.h"
#include "source/unit.h"
#include "support/files.h"
#include "support/tool.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <unistd.h>

using namespace klineage;
namespace fs = std::filesystem;

namespace {

struct Check {
  std::string name;
  enum class State { Ok, Weaker, Missing } state = State::Ok;
  bool needed = true;
  std::string found, remedy;
};

const char *word(Check::State state) {
  return state == Check::State::Ok ? "ok" : state == Check::State::Weaker ? "weaker" : "missing";
}

Check missing(std::string name, bool needed, std::string found, std::string remedy) {
  return {std::move(name), Check::State::Missing, needed, std::move(found), std::move(remedy)};
}

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

/// First line of what a program says of itself; empty when it cannot be run.
std::string versionOf(const std::string &program, const std::string &flag = "--version") {
  Command command;
  command.argv = {program, flag};
  command.limit = std::chrono::seconds(20);
  auto finished = run(command);
  return finished && finished->ok() ? firstLine(finished->out) : std::string();
}

void frontEnd(std::vector<Check> &checks) {
  auto facts = probeFrontEnd();
  if (!facts) {
    checks.push_back(missing("front end", true, facts.error().what, facts.error().mend));
    return;
  }
  checks.push_back({"clang", Check::State::Ok, true, facts->clangVersion + ", headers at " + facts->resourceFolder, ""});
  checks.push_back({"CUDA headers", Check::State::Ok, true, "CUDA " + facts->cudaVersion + " at " + facts->cudaFolder, ""});
  std::string nvcc = versionOf(facts->cudaFolder + "/bin/nvcc");
  if (nvcc.empty())
    checks.push_back(missing("nvcc", false, "none at " + facts->cudaFolder + "/bin", "install the toolkit's compiler: without it the lineage has no PTX evidence"));
  else checks.push_back({"nvcc", Check::State::Ok, false, facts->cudaFolder + "/bin/nvcc", ""});
}

Check referenceCompiler() {
  for (const char *compiler : {"g++", "clang++-22"})
    if (std::string version = versionOf(compiler); !version.empty()) return {"reference compiler", Check::State::Ok, true, version, ""};
  return missing("reference compiler", true, "neither g++ nor clang++-22 can be run", "install g++");
}

Check isolation() {
  const auto &facts = isolationFacts();
  if (facts.level == IsolationLevel::Bubblewrap) return {"isolation", Check::State::Ok, true, "bubblewrap: no network, private files, unprivileged user", ""};
  return {"isolation", Check::State::Weaker, true, std::string(name(facts.level)) + ", because: " + facts.why, facts.remedy};
}

const char *const probeKernel = "__global__ void twice(const float *x, float *y, int n) {\n"
                                "  __shared__ float tile[64];\n"
                                "  int i = blockIdx.x * 64 + threadIdx.x;\n"
                                "  if (i < n) tile[threadIdx.x] = x[i];\n"
                                "  __syncthreads();\n"
                                "  if (i < n) y[i] = 2 * tile[threadIdx.x];\n"
                                "}\n"
                                "extern \"C\" void launch(const float *x, float *y, int n, cudaStream_t stream) {\n"
                                "  twice<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);\n"
                                "}\n";
const char *const probeWorkload = R"({"schema": "klineage.workload/1", "name": "doctor", "entry": "launch", "family": "elementwise",
  "sources": ["kernel.cu"], "axes": ["n"], "reference": "reference.cpp",
  "arguments": [{"name": "x", "kind": "input", "type": "f32", "shape": ["n"]}, {"name": "y", "kind": "output", "type": "f32", "shape": ["n"]},
                {"name": "n", "kind": "scalar", "type": "i32", "value": "n"}],
  "instances": [{"name": "ragged", "axes": {"n": 131}, "role": "both"}]})";
const char *const probeReference = "extern \"C\" void reference(const double *x, double *y, long long n) { for (long long i = 0; i < n; ++i) y[i] = 2 * x[i]; }\n";

/// The whole way once: a small kernel through the gate.
Check emulatedDevice() {
  ScratchFolder scratch;
  std::string remedy = "if isolation and the front end are ok, this is a fault of klineage: please report it";
  for (auto [file, text] : {std::pair{"kernel.cu", probeKernel}, {"workload.json", probeWorkload}, {"reference.cpp", probeReference}})
    if (auto status = writeFile(scratch.path() / file, text); !status) return missing("emulated device", true, status.error().message(), "free some space there");
  auto workload = loadWorkload(scratch.path());
  if (!workload) return missing("emulated device", true, workload.error().message(), remedy);
  auto sources = loadSources(*workload);
  if (!sources) return missing("emulated device", true, sources.error().message(), remedy);
  auto device = makeEmulatedDevice();
  GateOptions fresh;
  fresh.useCache = false;
  Verdict verdict = Gate(*device, scratch.path() / "records").judge(*workload, *sources, nullptr, fresh);
  if (!verdict.accepted()) return missing("emulated device", true, std::string("a right kernel was answered ") + name(verdict.reason) + ": " + verdict.detail, remedy);
  char text[96];
  std::snprintf(text, sizeof text, "%s; a small kernel passed the gate in %.2f s", device->id().c_str(), verdict.seconds);
  return {"emulated device", Check::State::Ok, true, text, ""};
}

Check machine() {
  double memory = double(::sysconf(_SC_PHYS_PAGES)) * double(::sysconf(_SC_PAGESIZE)) / (1u << 30);
  unsigned cores = std::thread::hardware_concurrency();
  char text[96];
  std::snprintf(text, sizeof text, "%u cores, %.1f GiB of memory", cores, memory);
  if (memory < 3.5) return {"machine", Check::State::Weaker, true, text, "4 GiB of memory are what the largest tool may take"};
  return {"machine", Check::State::Ok, true, text, ""};
}

Check cacheIsWritable() {
  fs::path probe = cacheFolder() / "doctor";
  auto status = writeFile(probe, "x");
  std::error_code ignored;
  fs::remove(probe, ignored);
  if (!status) return missing("cache", true, status.error().message(), "set KLINEAGE_CACHE to a folder that can be written");
  return {"cache", Check::State::Ok, true, cacheFolder().string(), ""};
}

/// What measuring needs: the driver, nvcc, CUPTI.
Check gpu() {
  auto device = makeCudaDevice(0);
  if (!device) return missing("GPU", false, device.error().what, "none is needed: the emulated device models times; measured ones need a GPU, its driver and nvcc");
  std::string found = (*device)->id() + ", sm_" + std::to_string((*device)->architecture());
  std::string cupti = cuptiLibrary();
  if (cupti.empty())
    return {"GPU", Check::State::Weaker, false, found + "; no CUPTI below " + cudaFolder(),
            "without it there are no measured times: install cuda-cupti of the toolkit or the wheel nvidia-cuda-cupti, or name libcupti.so in KLINEAGE_CUPTI"};
  return {"GPU", Check::State::Ok, false, found + ", CUPTI at " + cupti, ""};
}

int report(const std::vector<Check> &checks, bool asJson) {
  bool ready = std::none_of(checks.begin(), checks.end(), [](const Check &c) { return c.needed && c.state == Check::State::Missing; });
  if (asJson) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto &c : checks)
      rows.push_back({{"name", c.name}, {"state", word(c.state)}, {"needed", c.needed}, {"found", c.found}, {"remedy", c.remedy}});
    nlohmann::json value = {{"schema", "klineage.doctor/1"}, {"ready", ready}, {"checks", rows}};
    std::printf("%s\n", value.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (const auto &c : checks) {
      std::printf("%-8s %-20s %s\n", word(c.state), c.name.c_str(), c.found.c_str());
      if (!c.remedy.empty()) std::printf("%-8s %-20s -> %s\n", "", "", c.remedy.c_str());
    }
    std::printf("%s\n", ready ? "All that is needed is here." : "Something that is needed is missing.");
  }
  return ready ? ExitDone : ExitRefused;
}

} // namespace

int main(int argc, char **argv) {
  bool json = false, help = false;
  CLI::App app;
  app.set_help_flag();
  app.add_flag("--help,-h", help);
  app.add_flag("--json", json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return fail("doctor", userError(error.what(), {}, "klineage doctor --help"));
  }
  if (help) {
    std::fputs(helpText, stdout);
    return ExitDone;
  }
  std::vector<Check> checks{machine(), cacheIsWritable()};
  frontEnd(checks);
  checks.push_back(referenceCompiler());
  checks.push_back(isolation());
  checks.push_back(emulatedDevice());
  checks.push_back(gpu());
  return report(checks, json);
}
