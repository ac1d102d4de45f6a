// klineage-mine: walk expert kernels backward. Help: docs/cli/mine.md.
#include "mine_help.h"
#include "source/unit.h"
#include "support/files.h"
#include "support/tool.h"
#include "walk/walk.h"
#include <CLI/CLI.hpp>
#include <csignal>
#include <nlohmann/json.hpp>

using namespace klineage;
using nlohmann::json;

namespace {

volatile std::sig_atomic_t interrupted = 0;

json toJson(const WalkReport &report) {
  json left = json::array();
  for (const auto &one : report.left)
    left.push_back({{"step", one.feature.step}, {"at", one.feature.locus.label}, {"reason", one.reason}, {"detail", one.detail}});
  return {{"kernel", report.kernel}, {"status", report.status}, {"accepted", report.accepted}, {"refused", report.refused}, {"undecided", report.undecided},
          {"reproduced", report.reproduced}, {"inert", report.inert}, {"skills", report.skills}, {"resumed", report.resumed}, {"seconds", report.seconds}, {"left", left}};
}

void print(const WalkReport &report) {
  std::printf("%-16s %-13s %2d accepted (%d re-derived, %d inert), %2d refused, %d undecided, %d skills, %.1f s%s\n", report.kernel.c_str(), report.status.c_str(),
              report.accepted, report.reproduced, report.inert, report.refused, report.undecided, report.skills, report.seconds, report.resumed ? ", resumed" : "");
  for (const auto &one : report.left)
    std::printf("    left: %s at %s: %s%s%s\n", one.feature.step.c_str(), one.feature.locus.label.c_str(), one.reason.c_str(), one.detail.empty() ? "" : ": ", one.detail.substr(0, 200).c_str());
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app;
  std::vector<std::string> folders;
  std::string corpusFile = Corpus::defaultFile().string(), deviceName = "emulated", plainFolder;
  WalkOptions options;
  bool asJson = false, quiet = false, noProbe = false, help = false;
  app.set_help_flag();
  app.add_flag("-h,--help", help);
  app.add_option("folders", folders);
  app.add_option("--corpus", corpusFile);
  app.add_option("--device", deviceName);
  app.add_option("--sm", options.sm);
  app.add_option("--step-limit", options.stepLimit);
  app.add_option("--refusal-limit", options.refusalLimit);
  app.add_option("--plain", plainFolder);
  app.add_flag("--no-probe", noProbe);
  app.add_flag("--json", asJson);
  app.add_flag("--quiet", quiet);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return fail("mine", userError(error.what(), {}, "klineage mine --help"));
  }
  if (help) {
    std::fputs(helpText, stdout);
    return ExitDone;
  }
  if (folders.empty()) return fail("mine", userError("no kernel folder was named", {}, "klineage mine --help"));
  auto made = deviceNamed(deviceName, options.sm);
  if (!made) return fail("mine", made.error());
  Device &device = **made;
  options.sm = device.architecture();

  std::signal(SIGINT, [](int) { interrupted = 1; });
  std::signal(SIGTERM, [](int) { interrupted = 1; });
  ProgressLines progress(quiet);
  options.probe = !noProbe;
  options.progress = [&](const std::string &line) { progress(line); };
  options.stop = [] { return interrupted != 0; };
  if (auto probe = probeFrontEnd(); !probe) return fail("mine", probe.error());
  // A mistake in the last folder is found before the first one is walked.
  std::vector<std::pair<Workload, SourceSet>> kernels;
  for (const auto &folder : folders) {
    auto workload = loadWorkload(folder);
    if (!workload) return fail("mine", workload.error());
    auto sources = loadSources(*workload);
    if (!sources) return fail("mine", sources.error());
    kernels.emplace_back(std::move(*workload), std::move(*sources));
  }
  auto verifier = makeEmulatedDevice(options.sm);
  Gate gate(device, cacheFolder() / "gate");
  gate.setVerifier(*verifier);
  // No corpus is made for a kernel that cannot be walked; the walk finds the gate's answer in its record.
  if (!std::filesystem::exists(corpusFile))
    if (Status passes = expertPasses(kernels.front().first, kernels.front().second, gate); !passes) return fail("mine", passes.error());
  auto corpus = Corpus::open(corpusFile);
  if (!corpus) return fail("mine", corpus.error());

  int code = ExitDone;
  json reports = json::array();
  for (const auto &[workload, sources] : kernels) {
    auto report = walk(workload, sources, gate, *corpus, device.id(), options);
    if (!report) return fail("mine", report.error());
    if (report->status != "complete") code = ExitUndecided;
    if (!plainFolder.empty())
      if (auto written = writeFile(std::filesystem::path(plainFolder) / (workload.name + ".cu"), report->plain.mainText()); !written) return fail("mine", written.error());
    if (asJson) reports.push_back(toJson(*report));
    else print(*report);
    if (report->status == "stopped") {
      std::fprintf(stderr, "klineage-mine: stopped; the same command goes on from here\n");
      break;
    }
  }
  if (asJson) std::printf("%s\n", json{{"schema", "klineage.mine/1"}, {"corpus", corpusFile}, {"device", device.id()}, {"walks", reports}}.dump(2).c_str());
  return code;
}
