// The generated block of a step's page: what `klineage step describe <id>` prints.
#pragma once
#include "step/step.h"

namespace klineage {

/// Markdown: summary, stage, revision, conditions, parameters, what must show in the machine code.
std::string describeStep(const std::string &id, const Step &step);

} // namespace klineage
