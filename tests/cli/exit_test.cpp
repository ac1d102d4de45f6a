// Exit codes of the gate (docs/cli/README.md), and its answer as JSON in each of them.
#include "tool_run.h"

namespace klineage::testing {
namespace {
using Exit = ToolRun;
} // namespace

TEST_F(Exit, OfTheGateFollowsItsVerdict) {
  std::string kernel = expertOf("launch_bounds");
  fs::path wrong = folder() / "wrong.cu", open = folder() / "open.cu";
  fs::copy_file(kernel + "/expert.cu", wrong);
  fs::copy_file(kernel + "/expert.cu", open);
  replace(wrong, "1.0f /", "2.0f /");
  replace(open, "  y[i] = sum;", "  asm volatile(\"discard.global.L2 [%0], 128;\" ::\"l\"(y));\n  y[i] = sum;");

  Finished accepted = run("gate", {kernel, "--json"});
  EXPECT_EQ(accepted.exitCode, ExitDone) << accepted.out << accepted.err;
  EXPECT_EQ(json(accepted, "verdict")["outcome"], "accepted");
  Finished refused = run("gate", {kernel, "--source", wrong.string(), "--json"});
  EXPECT_EQ(refused.exitCode, ExitRefused);
  EXPECT_EQ(json(refused, "verdict")["reason"], "wrong_value");
  Finished undecided = run("gate", {kernel, "--source", open.string(), "--json"});
  EXPECT_EQ(undecided.exitCode, ExitUndecided);
  EXPECT_EQ(json(undecided, "verdict")["reason"], "unsupported");
  for (const Finished *said : {&accepted, &refused, &undecided}) EXPECT_EQ(said->err, "");
  // The same questions from the kept record.
  EXPECT_EQ(run("gate", {kernel}).exitCode, ExitDone);
  EXPECT_EQ(run("gate", {kernel, "--source", wrong.string()}).exitCode, ExitRefused);
}

TEST_F(Exit, IsOurOwnFaultWhereAPartOfKlineageIsMissing) {
  std::string kernel = expertOf("launch_bounds");
  fs::path alone = folder() / "klineage-gate"; // no worker beside it
  fs::copy_file(program("gate"), alone);
  Command asked = command("gate", {kernel, "--json"});
  asked.argv[0] = alone.string();
  auto said = klineage::run(asked);
  ASSERT_TRUE(said);
  EXPECT_EQ(said->exitCode, ExitOurFault) << said->out << said->err;
  EXPECT_EQ(json(*said, "verdict")["reason"], "internal");
  EXPECT_EQ(run("gate", {kernel}).exitCode, ExitDone) << "the fault is not remembered as an answer";
}

} // namespace klineage::testing
