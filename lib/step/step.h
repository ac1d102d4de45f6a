// Step: a rule with two directions, named after what the expert added. How to write one: CONTRIBUTING.md.
#pragma once
#include "facts/condition.h"

namespace klineage {

enum class Stage { Structure, Mapping, Memory, Compute, Tuning };
const char *name(Stage stage);

enum class Direction { Simplify, Materialize };
const char *name(Direction direction);

/// Soundness: without it the result is wrong. Profit: without it the step does not pay.
enum ConditionKind { Soundness, Profit };
const char *name(ConditionKind kind);

struct ConditionDecl {
  std::string name; ///< snake_case; the file tests/steps/<id>/fail_<name>.cu breaks exactly it.
  std::string text; ///< Over the site's bindings; see facts/condition.h.
  ConditionKind kind = Soundness;
};

/// A parameter that a site binds when simplifying and that materialize is given.
struct ParameterDecl {
  std::string name;
  std::vector<int64_t> choices; ///< In the order in which a search tries them.
  std::string meaning;          ///< With its unit.
};
inline std::vector<int64_t> oneOf(std::initializer_list<int64_t> choices) { return choices; }

using Parameters = std::map<std::string, int64_t>;

/// What is being rewritten: a buffer, a loop, a statement, the launch. Identity is the place, never the name.
struct Locus {
  std::string kind;   ///< "buffer", "loop", "statement", "launch", "kernel".
  std::string label;  ///< For people: the name of the buffer or the loop's variable.
  std::string file;   ///< With offset: where its declaration or statement begins in this version.
  unsigned offset = 0;
};

/// One parsed version with all that steps may ask.
struct Version {
  const Unit &unit;
  const std::vector<KernelModel> &kernels;
  const Environment &environment;
};

/// One place where one direction of a step can act.
struct Site {
  Locus locus;
  const KernelModel *kernel = nullptr;
  Parameters parameters;             ///< Simplify: what the expert chose. Materialize: empty, or what this site forces.
  FactBindings facts;                ///< Names that the step's conditions use.
  clang::SourceRange carrier;        ///< The code that carries the feature (device side), for people and for the shape index.
  std::shared_ptr<const void> own;   ///< What the step's `edit` needs; only the step knows its type.

  template <typename T> const T &as() const { return *static_cast<const T *>(own.get()); }
  template <typename T> void keep(T value) { own = std::make_shared<const T>(std::move(value)); }
};

/// A place that looks like a site but is none, with the reason's name. Never silent: users ask "why not here?".
struct Decline {
  std::string reason; ///< A condition's name, or one of: unsupported_form, held_by, macro, not_rewritable, no_launch, opaque_index.
  std::string where;  ///< file:line:column
  std::string text;   ///< One sentence.
};

struct Detection {
  std::vector<Site> sites;
  std::vector<Decline> declines;
};

struct StepDirection {
  Detection (*detect)(const Version &) = nullptr;                                  ///< Const and cheap; conditions are not checked here.
  Result<Edits> (*edit)(const Version &, const Site &, const Parameters &) = nullptr; ///< May cost; answers edits as data, or a refusal.
};

/// What must show in nvcc's PTX or SASS: opcode prefixes such as "ld.global.v4" or "shfl.sync".
struct Codegen {
  std::vector<std::string> added;   ///< More of these in the expert form.
  std::vector<std::string> removed; ///< Fewer of these in the expert form.
};

struct Step {
  std::string summary;      ///< One line, lower case, what the expert form does.
  Stage stage = Stage::Memory;
  int revision = 1;         ///< Raised when the step's meaning changes.
  std::vector<ParameterDecl> params;
  std::vector<ConditionDecl> conditions;
  Codegen codegen;
  std::string intent;       ///< Two sentences for the skill: what to do and why it pays, with the hardware reason.
  StepDirection simplify, materialize;
};

} // namespace klineage
