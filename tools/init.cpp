// klineage-init: a kernel folder from a CUDA file. The work is lib/init's; this reads arguments and prints.
#include "init/init.h"
#include "init_help.h"
#include "support/tool.h"
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace klineage;

namespace {

void printJson(const InitReport &report) {
  nlohmann::ordered_json guesses = nlohmann::ordered_json::array();
  for (const Guess &guess : report.guesses) guesses.push_back({{"pointer", guess.pointer}, {"text", guess.text}, {"must_fill", guess.mustFill}});
  nlohmann::ordered_json made = {{"schema", "klineage.init/1"}, {"folder", report.folder.string()}, {"entry", report.entry},
                                 {"wrote_launcher", report.wroteLauncher}, {"files", report.files}, {"guesses", guesses},
                                 {"reference_signature", report.referenceSignature}};
  std::printf("%s\n", made.dump(2).c_str());
}

void printText(const InitReport &report) {
  std::printf("%s: wrote", report.folder.string().c_str());
  for (const std::string &file : report.files) std::printf(" %s", file.c_str());
  std::printf("\nentry: %s%s\n", report.entry.c_str(), report.wroteLauncher ? " (written: the file had no launcher)" : "");
  bool fill = false;
  for (const Guess &guess : report.guesses) fill |= guess.mustFill;
  if (fill) {
    std::printf("to fill before it can be used:\n");
    for (const Guess &guess : report.guesses)
      if (guess.mustFill) std::printf("  %-24s %s\n", guess.pointer.c_str(), guess.text.c_str());
  }
  std::printf("guessed, to be checked, then removed from \"guessed\":\n");
  for (const Guess &guess : report.guesses)
    if (!guess.mustFill) std::printf("  %-24s %s\n", guess.pointer.c_str(), guess.text.c_str());
  std::printf("no reference: the kernel itself is the oracle. A reference.cpp (then named under \"reference\") would define\n  %s\n",
              report.referenceSignature.c_str());
}

} // namespace

int main(int argc, char **argv) {
  InitRequest request;
  bool json = false;
  CLI::App app;
  app.set_help_flag();
  bool help = false;
  app.add_flag("--help,-h", help);
  std::string file, out;
  app.add_option("file", file);
  app.add_option("--kernel", request.kernel);
  app.add_option("--out", out);
  app.add_flag("--json", json);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return fail("init", userError(error.what(), {}, "klineage init --help"));
  }
  if (help) {
    std::fputs(helpText, stdout);
    return ExitDone;
  }
  if (file.empty()) return fail("init", userError("no file is named", {}, "klineage init FILE.cu"));
  request.file = file;
  request.out = out;
  auto report = initKernel(request);
  if (!report) return fail("init", report.error());
  json ? printJson(*report) : printText(*report);
  return ExitDone;
}
