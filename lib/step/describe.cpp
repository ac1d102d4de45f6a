#include "step/describe.h"

namespace klineage {

std::string describeStep(const std::string &id, const Step &step) {
  std::string text = "**" + id + "**: " + step.summary + " · stage " + name(step.stage) + " · revision " + std::to_string(step.revision) + "\n\n";
  text += "## Conditions\n\n";
  if (step.conditions.empty()) text += "None.\n";
  else text += "| condition | for | holds when |\n|---|---|---|\n";
  for (const auto &condition : step.conditions) text += "| `" + condition.name + "` | " + name(condition.kind) + " | `" + condition.text + "` |\n";
  text += "\n## Parameters\n\n";
  if (step.params.empty()) text += "None.\n";
  else text += "| parameter | choices | meaning |\n|---|---|---|\n";
  for (const auto &parameter : step.params) {
    std::string choices;
    for (int64_t choice : parameter.choices) choices += (choices.empty() ? "" : ", ") + std::to_string(choice);
    text += "| `" + parameter.name + "` | " + choices + " | " + parameter.meaning + " |\n";
  }
  text += "\n## In the machine code\n\n";
  auto list = [&](const char *title, const std::vector<std::string> &opcodes) {
    if (opcodes.empty()) return;
    text += title;
    for (size_t i = 0; i < opcodes.size(); ++i) text += (i ? ", `" : " `") + opcodes[i] + "`";
    text += ".\n";
  };
  if (step.codegen.added.empty() && step.codegen.removed.empty()) text += "Any difference.\n";
  list("More in the expert form:", step.codegen.added);
  list("Fewer in the expert form:", step.codegen.removed);
  return text;
}

} // namespace klineage
