// Corpus: the database of kernels, lineages, skills, evidence and attempts. The only door to it; nobody else speaks SQL.
#pragma once
#include "lineage_db/records.h"
#include "support/result.h"
#include <filesystem>
#include <functional>
#include <memory>

namespace klineage {

/// Which skills; empty fields do not limit.
struct SkillFilter {
  std::string step, kernel, family;
  std::string notFamily;           ///< Held-out: no skill whose source family is this one.
  std::string notKernel;
  std::vector<SkillStatus> statuses;
};

/// How often a structural token occurs in one indexed side of one skill. Made by lineage_db/shape.h.
struct ShapeDocument {
  std::string skill;               ///< Skill::key.
  bool expert = false;             ///< Otherwise the plain side.
  std::map<std::string, int> tokens;
};

/// A hit of the words index. Higher is better.
struct WordHit {
  std::string skill;
  double score = 0;
};

struct CorpusStats {
  int64_t kernels = 0, versions = 0, sources = 0, sourceBytes = 0, storedBytes = 0;
  int64_t transitionsAccepted = 0, transitionsRefused = 0, transitionsUndecided = 0;
  int64_t probes = 0, runs = 0, attempts = 0, attemptsKept = 0;
  std::map<std::string, int64_t> skillsByStatus, skillsByStep, refusalsByReason;
  int64_t effectsModelled = 0, effectsMeasured = 0;
  int schemaVersion = 0;
};

/// One open database. Many processes may hold one file open: readers never block, writers queue (begin immediate, with a
/// busy timeout). Every writing call is one transaction, unless it runs inside `transact`, which makes many calls one.
/// A killed process leaves whole transactions only. One object belongs to one thread at a time. The name ":memory:" gives a
/// corpus that ends with the object.
///
/// Errors: a file that is damaged, is no corpus, or was written by a newer klineage is a user error that names it, and the file is
/// left as it is. An SQLite failure that is not about the file's content (disk full, locked too long) is a user error too, with its text.
class Corpus {
public:
  struct Options {
    bool create = true;            ///< Make the file (and its folder) when it is missing, and bring an old schema up to date.
    bool readOnly = false;         ///< Never writes; an old schema is then a user error.
    int busyMilliseconds = 20'000;
    std::function<int64_t()> now;  ///< Unix seconds; the system's clock when empty.
  };
  static Result<Corpus> open(const std::filesystem::path &file, Options options);
  static Result<Corpus> open(const std::filesystem::path &file) { return open(file, Options()); }
  static Result<Corpus> openReadOnly(const std::filesystem::path &file);
  /// $KLINEAGE_CORPUS, else $XDG_DATA_HOME/klineage/corpus.db, else ~/.local/share/klineage/corpus.db.
  static std::filesystem::path defaultFile();

  Corpus(Corpus &&) noexcept;
  Corpus &operator=(Corpus &&) noexcept;
  ~Corpus();
  const std::filesystem::path &file() const;

  /// Runs `body` in one transaction: all of it is kept, or, when it answers with an error, none. Calls nest into the outermost one.
  Status transact(const std::function<Status()> &body);

  // Kernels and versions. Saving what exists already replaces the row (kernels) or keeps it (versions are content-addressed).
  Status saveKernel(const KernelRow &kernel);
  Result<std::optional<KernelRow>> kernel(const std::string &name) const;
  Result<std::vector<KernelRow>> kernels() const;                       ///< By name.
  Status saveVersion(const VersionRow &version, const std::vector<FeatureRow> &features);
  Result<std::optional<VersionRow>> version(const std::string &hash) const; ///< With its files.
  Result<std::string> versionNamed(const std::string &prefix) const;        ///< The one hash that begins so, else a user error.
  Result<std::vector<FeatureRow>> features(const std::string &version) const;

  // The lineage.
  Result<int64_t> addTransition(const TransitionRow &transition);       ///< Its id.
  /// Replaces codegen, codegenDetail, rederived, rederivedDetail and effects of the row with this id.
  Status updateTransition(const TransitionRow &transition);
  Result<std::vector<TransitionRow>> transitions(const std::string &kernel) const; ///< By order.
  Result<std::optional<TransitionRow>> transition(int64_t id) const;
  Status saveWalk(const WalkState &state);
  Result<std::optional<WalkState>> walk(const std::string &kernel) const;
  Result<std::vector<WalkState>> walks() const;
  /// Forgets the lineage, the walk and the skills of a kernel, so that it can be mined anew. Evidence of other kernels stays.
  Status forgetKernel(const std::string &name);

  // Skills. Saving a key that exists replaces it and appends the log entries that are new.
  Result<int64_t> saveSkill(const Skill &skill);
  Result<std::optional<Skill>> skill(const std::string &key) const;     ///< By key, or by id written as digits.
  Result<std::vector<Skill>> skills(const SkillFilter &filter = {}) const; ///< By key.
  Status setSkillStatus(const std::string &key, SkillStatus status, const std::string &why); ///< Logged.
  Status addEffect(const std::string &key, const EffectPoint &point, const std::string &family); ///< Evidence from another kernel.

  Status addProbe(const ProbeRow &probe);
  Result<std::vector<ProbeRow>> probes(int64_t transition) const;
  Result<std::vector<ProbeRow>> probesOfSkill(const std::string &key) const;

  Status saveRun(const RunRow &run);                                    ///< Keeps the first row of a key.
  Result<std::optional<RunRow>> gateRun(const std::string &key) const;
  Result<int64_t> addAttempt(const AttemptRow &attempt);
  Status keepAttempt(int64_t id);                                       ///< The search went on from the attempt's version.
  Result<std::vector<AttemptRow>> attempts(const std::string &target) const; ///< All, when empty; oldest first.

  Status annotate(const Annotation &note);
  Result<std::vector<Annotation>> annotations(const std::string &subjectKind, const std::string &subject) const;
  Status addArtifact(const Artifact &artifact);
  Result<std::vector<Artifact>> artifacts(const std::string &subjectKind, const std::string &subject) const;

  // Indexes, kept up to date by saveSkill.
  /// BM25 over summary, intent and the code of both sides. Any text is a legal question: each token is quoted and bound.
  Result<std::vector<WordHit>> searchWords(const std::string &words, size_t limit = 50) const;
  Result<std::vector<ShapeDocument>> shapeIndex() const;

  Result<CorpusStats> stats() const;
  /// Adds everything of another corpus that this one lacks; skills of equal key keep the better status and the union of evidence.
  Status merge(const std::filesystem::path &other);

private:
  Corpus();
  Status reindexShapes(); ///< Where the stored tokens are of another revision of shape.h.
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace klineage
