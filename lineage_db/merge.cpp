// corpus merge: how the shards of a batch become one corpus.
//
// The unit is one kernel's lineage: it is taken whole or not at all, because transitions of two walks put together would be a walk that
// nobody made. ATTACH with INSERT OR IGNORE was rejected: row ids of the two files mean different things.
#include "lineage_db/corpus_impl.h"
#include <algorithm>

namespace klineage {

using sql::Database;
using sql::Statement;

namespace {

template <typename T> T expect(Result<T> result) {
  if (!result) throw result.error();
  return *std::move(result);
}
void expect(Status status) {
  if (!status) throw status.error();
}

int rank(const std::string &walkStatus) { return walkStatus == "complete" ? 3 : walkStatus == "running" ? 1 : walkStatus.empty() ? 0 : 2; }

bool samePoint(const EffectPoint &a, const EffectPoint &b) {
  return a.device == b.device && a.measured == b.measured && a.instance == b.instance && a.beforeSeconds == b.beforeSeconds && a.afterSeconds == b.afterSeconds;
}

/// Rejected is a person's word and wins; else the status that needed more evidence.
SkillStatus better(SkillStatus a, SkillStatus b) {
  if (a == SkillStatus::Rejected || b == SkillStatus::Rejected) return SkillStatus::Rejected;
  auto order = [](SkillStatus s) { return s == SkillStatus::Stale ? -1 : int(s); };
  return order(a) >= order(b) ? a : b;
}

void takeVersions(Corpus &to, const Corpus &from, Database &fromDb, const std::string &query, const std::string &bound) {
  std::vector<std::string> hashes;
  Statement all(fromDb, query);
  all.bind(bound);
  while (all.step()) hashes.push_back(all.text(0));
  for (const std::string &hash : hashes)
    if (auto version = expect(from.version(hash)); version && !expect(to.version(hash))) expect(to.saveVersion(*version, expect(from.features(hash))));
}

/// Old transition id to new.
std::map<int64_t, int64_t> takeLineage(Corpus &to, const Corpus &from, const std::string &kernel) {
  std::map<int64_t, int64_t> ids;
  for (TransitionRow row : expect(from.transitions(kernel))) {
    int64_t old = row.id;
    ids[old] = expect(to.addTransition(row));
    for (ProbeRow probe : expect(from.probes(old))) {
      probe.transition = ids[old];
      expect(to.addProbe(probe));
    }
  }
  return ids;
}

} // namespace

Status Corpus::merge(const std::filesystem::path &otherFile) {
  auto opened = openReadOnly(otherFile);
  if (!opened) return opened.error();
  Corpus &other = *opened;
  auto body = [&]() -> Status {
    Database &theirs = other.impl->db();
    std::map<int64_t, int64_t> ids;
    for (const KernelRow &kernel : expect(other.kernels())) {
      auto ourWalk = expect(walk(kernel.name)), theirWalk = expect(other.walk(kernel.name));
      if (rank(ourWalk ? ourWalk->status : "") >= rank(theirWalk ? theirWalk->status : "") && expect(this->kernel(kernel.name))) continue;
      expect(forgetKernel(kernel.name));
      expect(saveKernel(kernel));
      takeVersions(*this, other, theirs, "SELECT hash FROM versions WHERE kernel = ?", kernel.name);
      // A version that two kernels share is filed under the first of them.
      takeVersions(*this, other, theirs, "SELECT to_version FROM transitions WHERE kernel = ?1 UNION SELECT from_version FROM transitions WHERE kernel = ?1", kernel.name);
      ids.merge(takeLineage(*this, other, kernel.name));
      if (theirWalk) expect(saveWalk(*theirWalk));
    }
    for (Skill skill : expect(other.skills())) {
      auto mine = expect(this->skill(skill.key));
      if (mine) {
        for (const EffectPoint &point : skill.effects)
          if (std::none_of(mine->effects.begin(), mine->effects.end(), [&](const EffectPoint &p) { return samePoint(p, point); })) mine->effects.push_back(point);
        for (const std::string &family : skill.evidence.families)
          if (std::find(mine->evidence.families.begin(), mine->evidence.families.end(), family) == mine->evidence.families.end()) mine->evidence.families.push_back(family);
        for (const LogEntry &entry : skill.log) mine->log.push_back(entry);
        mine->status = better(mine->status, skill.status);
        if (mine->review.empty()) mine->review = skill.review;
        expect(saveSkill(*mine));
        continue;
      }
      std::vector<int64_t> mapped;
      for (int64_t id : skill.evidence.transitions)
        if (auto found = ids.find(id); found != ids.end()) mapped.push_back(found->second);
      skill.evidence.transitions = mapped;
      expect(saveSkill(skill));
    }
    for (const AttemptRow &attempt : expect(other.attempts(""))) {
      Statement known(impl->db(), "SELECT 1 FROM attempts WHERE search = ? AND target = ? AND ordinal = ? AND from_version = ?");
      if (known.bind(attempt.search, attempt.target, attempt.order, attempt.from).step()) continue;
      takeVersions(*this, other, theirs, "SELECT ?", attempt.from);
      takeVersions(*this, other, theirs, "SELECT ?", attempt.to);
      expect(addAttempt(attempt));
    }
    Statement runs(theirs, "SELECT key FROM runs");
    while (runs.step())
      if (auto run = expect(other.gateRun(runs.text(0)))) expect(saveRun(*run));
    Statement notes(theirs, "SELECT subject_kind, subject, author, text, time FROM annotations");
    while (notes.step()) {
      Statement known(impl->db(), "SELECT 1 FROM annotations WHERE subject_kind = ? AND subject = ? AND author = ? AND text = ?");
      if (!known.bind(notes.text(0), notes.text(1), notes.text(2), notes.text(3)).step())
        expect(annotate({notes.text(0), notes.text(1), notes.text(2), notes.text(3), notes.integer(4)}));
    }
    Statement files(theirs, "SELECT DISTINCT subject_kind, subject FROM artifacts");
    while (files.step()) {
      if (!expect(artifacts(files.text(0), files.text(1))).empty()) continue;
      for (const Artifact &artifact : expect(other.artifacts(files.text(0), files.text(1)))) expect(addArtifact(artifact));
    }
    return Done{};
  };
  return transact([&]() -> Status {
    try {
      return body();
    } catch (const Error &error) {
      return error;
    } catch (const sql::SqlFailure &failure) {
      return other.impl->explain(failure);
    }
  });
}

} // namespace klineage
