// The steps that exist: the files of lib/steps, by their stems.
#pragma once
#include "step/step.h"
#include <span>

namespace klineage {

struct RegisteredStep {
  const char *id;
  const Step *step;
};

/// Sorted by id. The table is written by CMake; nobody edits it.
std::span<const RegisteredStep> registeredSteps();

/// The step of that id, or null.
const Step *findStep(std::string_view id);

} // namespace klineage
