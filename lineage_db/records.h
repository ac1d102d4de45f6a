// The rows of a corpus as plain structs. JSON fields are text that the corpus keeps and never interprets.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace klineage {

/// A kernel folder as it was mined.
struct KernelRow {
  std::string name;         ///< The folder's name; the key.
  std::string family;       ///< Of the closed list (docs/families.md); "unknown" where nobody said.
  std::string entry;        ///< The launcher.
  std::string workloadHash; ///< Workload::hash.
  std::string origin;       ///< Where the code comes from, one line of its ORIGIN.md.
  std::string oracle = "reference"; ///< "reference", or "self" where the expert version is its own oracle.
  std::string expertVersion; ///< Hash of the version that the walk started from.
};

/// One state of a kernel's sources. Paths are relative to the kernel folder where they lie in it, else absolute.
struct VersionRow {
  std::string hash;                         ///< versionHash of the sources; the key.
  std::string kernel;
  std::string mainFile;
  std::map<std::string, std::string> files; ///< Path to text. Equal texts are stored once, compressed.
  int complexity = 0;                       ///< The engine's complexity measure; 0: not taken.
};

/// An optimization present in a version.
struct FeatureRow {
  std::string step;
  std::string locusKind, locusLabel, file;
  unsigned offset = 0;      ///< Bytes into `file`.
  std::string parameters = "{}"; ///< JSON object of integers.
};

/// One profile point of a pair. "Before" and "after" follow the direction of the row that holds it: a transition going back has
/// the more expert version before; a skill always has the plain version before.
struct EffectPoint {
  std::string device;       ///< Device::id.
  bool measured = false;    ///< Otherwise modelled. The two are never mixed.
  std::string instance;
  double beforeSeconds = 0, afterSeconds = 0;
  std::map<std::string, double> beforeCounters, afterCounters; ///< Empty: unavailable, never zeros.
  double speedup() const { return afterSeconds > 0 ? beforeSeconds / afterSeconds : 0; }
};
/// The same points seen in the other direction.
std::vector<EffectPoint> reversed(std::vector<EffectPoint> points);

/// One try of one step at one place of a version, kept whether it was accepted or not.
struct TransitionRow {
  int64_t id = 0;           ///< Given by the corpus.
  std::string kernel;
  std::string from, to;     ///< Version hashes; `to` is empty where no version came to be.
  std::string step;
  int stepRevision = 1;
  std::string direction = "simplify"; ///< "simplify" or "materialize".
  std::string locusKind, locusLabel, file;
  unsigned offset = 0, line = 0;
  std::string parameters = "{}";
  int order = 0;            ///< Position in the walk of this kernel, from 1, refused tries counted too.
  std::string outcome;      ///< "accepted", "refused", "undecided".
  std::string reason;       ///< A gate reason, a decline, or an engine reason such as changed_more_than_one; empty when accepted.
  std::string detail;
  std::string runKey;       ///< Of the gate's kept record.
  std::string verdict = "{}"; ///< JSON of the whole verdict.
  std::string codegen;      ///< "changed", "inert" (identical machine code: never a skill), or "unknown".
  std::string codegenDetail = "{}"; ///< JSON: compiler, opcode counts of both sides.
  std::string rederived;    ///< "reproduced", or why not (`features_differ`, `slower`, ...); empty: not tried yet.
  std::string rederivedDetail;
  std::string carrierBefore, carrierAfter; ///< Text around the place in `from` and in `to`.
  std::vector<EffectPoint> effects;
};

enum class SkillStatus { Candidate, Reproduced, Admitted, Stale, Rejected };
const char *name(SkillStatus status);
std::optional<SkillStatus> skillStatusNamed(std::string_view name);

/// What probing a condition showed. Proved: a static proof, no probe needed.
enum class ConditionEvidence { Unproved, Needed, NotNeeded, Proved };
const char *name(ConditionEvidence evidence);
std::optional<ConditionEvidence> conditionEvidenceNamed(std::string_view name);

struct SkillCondition {
  std::string name, text;
  std::string kind = "soundness";  ///< "soundness" or "profit".
  std::string truth;               ///< On the kernel it was mined from: "holds", "violated", "unknown".
  std::string why;                 ///< The sentence with the numbers.
  ConditionEvidence evidence = ConditionEvidence::Unproved;
  std::string evidenceDetail;      ///< What the probe changed and what both forms answered, or the proof.
};

/// What goes wrong when a condition fails, as a probe saw it.
struct SkillRisk {
  std::string condition;
  std::string failure;             ///< A gate reason: wrong_value, misaligned, ...
  std::string detail;
};

struct LogEntry {
  int64_t time = 0;                ///< Unix seconds; 0: the corpus fills in its clock.
  std::string event;               ///< mined, reproduced, probed, admitted, stale, rejected, reviewed, ...
  std::string detail;
};

/// A reversed step with its evidence. The nine fields are marked.
struct Skill {
  int64_t id = 0;                  ///< Given by the corpus.
  std::string key;                 ///< "<step>/<kernel>/<order>": stable, printable; the handle of every command.
  std::string step;
  int stepRevision = 1;
  std::string stage;
  std::string kernel, family;      ///< Source kernel and its family: held-out evaluation filters on them.
  SkillStatus status = SkillStatus::Candidate;

  std::string summary;             ///< One line.
  std::string intent;              ///< 1 Intent: what to do and why it pays.
  struct {
    std::string before, after;     ///< 2 Anchor: the code at the carrier, plain and expert. Their shapes are indexed by the corpus.
    std::string locusKind, locusLabel;
  } anchor;
  struct {
    std::string parameters = "{}"; ///< 3 Carrier: the step with its parameters re-derives the code.
    std::string code;              ///< For an uncatalogued skill: the diff. Else empty.
  } carrier;
  std::vector<SkillCondition> conditions; ///< 4 Preconditions.
  std::vector<EffectPoint> effects;       ///< 5 Effects, plain before, expert after.
  struct {
    std::vector<int64_t> transitions;     ///< 6 Evidence.
    std::vector<std::string> runKeys;
    int gateRevision = 0;
    std::vector<std::string> families;    ///< Families in which it brought its effect; the source family first.
  } evidence;
  std::vector<SkillRisk> risks;           ///< 7 Risks.
  struct {
    std::vector<std::string> archs, dtypes, families, shapes; ///< 8 Scope; empty: not limited as far as is known.
  } scope;
  std::vector<LogEntry> log;              ///< 9 Verification log, oldest first.

  std::string provenance;          ///< Who brought it: "walk", "curator", "agent:<name>". Never mixed with merit or review.
  std::optional<double> merit;     ///< Geometric mean of its speedups on the best-evidenced device kind; absent without points.
  std::string review;              ///< A curator's word, or empty.
};

/// A probe: one change that breaks one condition, and what both forms then answered.
struct ProbeRow {
  int64_t transition = 0;          ///< The accepted transition whose step was probed.
  std::string skill;               ///< Skill::key, once there is one.
  std::string condition;
  std::string change;              ///< What was changed, for people.
  std::string expertAnswer, plainAnswer; ///< "accepted", or the gate's reason; "not_run".
  ConditionEvidence evidence = ConditionEvidence::Unproved;
  std::string detail;
};

/// One try of the materializer.
struct AttemptRow {
  int64_t id = 0;
  std::string search;              ///< Key of the search that it belongs to.
  std::string target, targetFamily;
  std::string from, to;            ///< Version hashes; `to` empty where no version came to be.
  std::string skill;               ///< Skill::key, or empty for a step tried without a skill.
  std::string step, parameters = "{}", locus;
  int order = 0;
  std::string outcome, reason, detail, runKey;
  bool kept = false;               ///< The search went on from `to`.
  std::vector<EffectPoint> effects;
};

/// How far the walk of one kernel has come, so that a killed one resumes.
struct WalkState {
  std::string kernel;
  std::string status = "running";  ///< "running", "complete", "step_limit", "refusal_limit".
  std::string current;             ///< Hash of the version it stands on.
  int order = 0;                   ///< Of the last transition.
  std::string queue = "{}";        ///< JSON that only the walk reads: what is left to try, what was refused here.
  int64_t updated = 0;             ///< Unix seconds; filled in by the corpus.
};

/// One kept gate run.
struct RunRow {
  std::string key;                 ///< Verdict::runKey.
  std::string kernel, version, baseline, device, compiler;
  int gateRevision = 0;
  std::string outcome, reason;
  std::string record = "{}";       ///< JSON: options, samples, counters, hashes.
};

/// A curator's or an agent's note on anything.
struct Annotation {
  std::string subjectKind, subject; ///< "skill", "kernel", "version", "transition" and its key.
  std::string author, text;
  int64_t time = 0;
};

/// Bytes worth keeping beside the rows: PTX, SASS, a report.
struct Artifact {
  std::string subjectKind, subject, kind;
  std::string bytes;               ///< Stored compressed, equal bytes once.
};

} // namespace klineage
