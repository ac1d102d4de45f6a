// Draft: a version under rewriting. A step's edit is often several small rewrites, each of which is only right on the
// text that the one before it left; a draft applies them, parses again, and in the end answers with one set of edits.
#pragma once
#include "step/step.h"

namespace klineage {

class Draft {
public:
  explicit Draft(const Version &version);

  /// The version as it stands now.
  Version view() const { return {*current, *models, environment}; }
  const Unit &unit() const { return *current; }

  /// The kernel that stands where `original` stood in the first version (same name, same template arguments), or null.
  const KernelModel *kernel(const KernelModel &original) const;

  /// Applies the edits and parses again. A text that does not parse is our fault: the rewriter made it.
  Status apply(const Edits &edits);

  /// What leads from the first version to this one, token by token, so that untouched places can be followed.
  Edits finish() const;

private:
  const Unit *current;
  const std::vector<KernelModel> *models;
  Environment environment;
  SourceSet first;
  std::unique_ptr<Unit> ownUnit;
  std::unique_ptr<std::vector<KernelModel>> ownModels;
};

/// The kernel's name with its template arguments.
std::string kernelName(const KernelModel &kernel);

/// Edits that turn one text into the other; tokens that both share, in order, stay untouched.
Edits differenceOf(const std::string &file, const std::string &before, const std::string &after);

} // namespace klineage
