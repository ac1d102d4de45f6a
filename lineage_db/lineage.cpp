// The lineage part of Corpus: transitions, effects, walks, runs, probes, attempts, notes.
#include "lineage_db/corpus_impl.h"

namespace klineage {

using sql::Database;
using sql::Statement;

std::vector<EffectPoint> reversed(std::vector<EffectPoint> points) {
  for (EffectPoint &point : points) {
    std::swap(point.beforeSeconds, point.afterSeconds);
    std::swap(point.beforeCounters, point.afterCounters);
  }
  return points;
}

void Corpus::Impl::addEffects(const char *ownerKind, int64_t owner, const std::vector<EffectPoint> &points, const std::string &family) {
  for (const EffectPoint &point : points) {
    Statement(db(), "INSERT INTO effects (owner_kind, owner, device, measured, instance, before_seconds, after_seconds, source_family) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(ownerKind, owner, point.device, point.measured, point.instance, point.beforeSeconds, point.afterSeconds, family)
        .run();
    int64_t effect = db().lastId();
    for (auto [side, counters] : {std::pair("before", &point.beforeCounters), std::pair("after", &point.afterCounters)})
      for (const auto &[name, value] : *counters)
        Statement(db(), "INSERT INTO counters (effect, side, name, value) VALUES (?, ?, ?, ?)").bind(effect, side, name, value).run();
  }
}

std::vector<EffectPoint> Corpus::Impl::effectsOf(const char *ownerKind, int64_t owner) {
  std::vector<EffectPoint> points;
  Statement all(db(), "SELECT id, device, measured, instance, before_seconds, after_seconds FROM effects WHERE owner_kind = ? AND owner = ? ORDER BY id");
  all.bind(ownerKind, owner);
  while (all.step()) {
    EffectPoint point{all.text(1), all.integer(2) != 0, all.text(3), all.real(4), all.real(5), {}, {}};
    Statement counters(db(), "SELECT side, name, value FROM counters WHERE effect = ?");
    counters.bind(all.integer(0));
    while (counters.step()) (counters.text(0) == "before" ? point.beforeCounters : point.afterCounters)[counters.text(1)] = counters.real(2);
    points.push_back(std::move(point));
  }
  return points;
}

void Corpus::Impl::dropEffects(const char *ownerKind, int64_t owner) {
  Statement(db(), "DELETE FROM counters WHERE effect IN (SELECT id FROM effects WHERE owner_kind = ? AND owner = ?)").bind(ownerKind, owner).run();
  Statement(db(), "DELETE FROM effects WHERE owner_kind = ? AND owner = ?").bind(ownerKind, owner).run();
}

namespace {

const char *transitionColumns =
    "SELECT id, kernel, from_version, to_version, step, step_revision, direction, locus_kind, locus_label, file, offset, line, parameters, "
    "ordinal, outcome, reason, detail, run_key, verdict, codegen, codegen_detail, rederived, rederived_detail, carrier_before, "
    "carrier_after FROM transitions ";

TransitionRow transitionOf(const Statement &row) {
  TransitionRow t;
  int column = 0;
  t.id = row.integer(column++);
  for (std::string *text : {&t.kernel, &t.from, &t.to, &t.step}) *text = row.text(column++);
  t.stepRevision = int(row.integer(column++));
  for (std::string *text : {&t.direction, &t.locusKind, &t.locusLabel, &t.file}) *text = row.text(column++);
  t.offset = unsigned(row.integer(column++));
  t.line = unsigned(row.integer(column++));
  t.parameters = row.text(column++);
  t.order = int(row.integer(column++));
  for (std::string *text : {&t.outcome, &t.reason, &t.detail, &t.runKey, &t.verdict, &t.codegen, &t.codegenDetail, &t.rederived,
                            &t.rederivedDetail, &t.carrierBefore, &t.carrierAfter})
    *text = row.text(column++);
  return t;
}

} // namespace

Result<int64_t> Corpus::addTransition(const TransitionRow &t) {
  int64_t id = 0;
  Status status = impl->write([&] {
    Statement(impl->db(), "INSERT INTO transitions (kernel, from_version, to_version, step, step_revision, direction, locus_kind, locus_label, "
                          "file, offset, line, parameters, ordinal, outcome, reason, detail, run_key, verdict, codegen, codegen_detail, "
                          "rederived, rederived_detail, carrier_before, carrier_after) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(t.kernel, t.from, t.to, t.step, t.stepRevision, t.direction, t.locusKind, t.locusLabel, t.file, t.offset, t.line, t.parameters,
              t.order, t.outcome, t.reason, t.detail, t.runKey, t.verdict, t.codegen, t.codegenDetail, t.rederived, t.rederivedDetail,
              t.carrierBefore, t.carrierAfter)
        .run();
    id = impl->db().lastId();
    impl->addEffects("transition", id, t.effects, "");
  });
  if (!status) return status.error();
  return id;
}

Status Corpus::updateTransition(const TransitionRow &t) {
  return impl->write([&] {
    Statement(impl->db(), "UPDATE transitions SET codegen = ?, codegen_detail = ?, rederived = ?, rederived_detail = ? WHERE id = ?")
        .bind(t.codegen, t.codegenDetail, t.rederived, t.rederivedDetail, t.id)
        .run();
    impl->dropEffects("transition", t.id);
    impl->addEffects("transition", t.id, t.effects, "");
  });
}

Result<std::vector<TransitionRow>> Corpus::transitions(const std::string &kernel) const {
  return impl->read([&] {
    std::vector<TransitionRow> rows;
    Statement all(impl->db(), std::string(transitionColumns) + "WHERE kernel = ? ORDER BY ordinal, id");
    all.bind(kernel);
    while (all.step()) rows.push_back(transitionOf(all));
    for (TransitionRow &row : rows) row.effects = impl->effectsOf("transition", row.id);
    return rows;
  });
}

Result<std::optional<TransitionRow>> Corpus::transition(int64_t id) const {
  return impl->read([&]() -> std::optional<TransitionRow> {
    Statement find(impl->db(), std::string(transitionColumns) + "WHERE id = ?");
    if (!find.bind(id).step()) return std::nullopt;
    TransitionRow row = transitionOf(find);
    row.effects = impl->effectsOf("transition", row.id);
    return row;
  });
}

Status Corpus::saveWalk(const WalkState &state) {
  return impl->write([&] {
    Statement(impl->db(), "INSERT OR REPLACE INTO walks (kernel, status, current, ordinal, queue, updated) VALUES (?, ?, ?, ?, ?, ?)")
        .bind(state.kernel, state.status, state.current, state.order, state.queue, impl->now())
        .run();
  });
}

namespace {
const char *walkColumns = "SELECT kernel, status, current, ordinal, queue, updated FROM walks ";
WalkState walkOf(const Statement &row) {
  return {row.text(0), row.text(1), row.text(2), int(row.integer(3)), row.text(4), row.integer(5)};
}
} // namespace

Result<std::optional<WalkState>> Corpus::walk(const std::string &kernel) const {
  return impl->read([&]() -> std::optional<WalkState> {
    Statement find(impl->db(), std::string(walkColumns) + "WHERE kernel = ?");
    if (!find.bind(kernel).step()) return std::nullopt;
    return walkOf(find);
  });
}

Result<std::vector<WalkState>> Corpus::walks() const {
  return impl->read([&] {
    std::vector<WalkState> rows;
    Statement all(impl->db(), std::string(walkColumns) + "ORDER BY kernel");
    while (all.step()) rows.push_back(walkOf(all));
    return rows;
  });
}

Status Corpus::forgetKernel(const std::string &name) {
  return impl->write([&] {
    Database &db = impl->db();
    Statement(db, "DELETE FROM counters WHERE effect IN (SELECT e.id FROM effects e JOIN transitions t ON e.owner = t.id "
                  "WHERE e.owner_kind = 'transition' AND t.kernel = ?)").bind(name).run();
    Statement(db, "DELETE FROM effects WHERE owner_kind = 'transition' AND owner IN (SELECT id FROM transitions WHERE kernel = ?)").bind(name).run();
    Statement(db, "DELETE FROM counters WHERE effect IN (SELECT e.id FROM effects e JOIN skills s ON e.owner = s.id "
                  "WHERE e.owner_kind = 'skill' AND s.kernel = ?)").bind(name).run();
    Statement(db, "DELETE FROM effects WHERE owner_kind = 'skill' AND owner IN (SELECT id FROM skills WHERE kernel = ?)").bind(name).run();
    Statement(db, "DELETE FROM probes WHERE transition_id IN (SELECT id FROM transitions WHERE kernel = ?)").bind(name).run();
    Statement(db, "DELETE FROM skill_words WHERE rowid IN (SELECT id FROM skills WHERE kernel = ?)").bind(name).run();
    Statement(db, "DELETE FROM skills WHERE kernel = ?").bind(name).run();
    Statement(db, "DELETE FROM transitions WHERE kernel = ?").bind(name).run();
    Statement(db, "DELETE FROM walks WHERE kernel = ?").bind(name).run();
    Statement(db, "DELETE FROM versions WHERE kernel = ? AND hash NOT IN (SELECT from_version FROM transitions) AND hash NOT IN "
                  "(SELECT to_version FROM transitions) AND hash NOT IN (SELECT from_version FROM attempts) AND hash NOT IN "
                  "(SELECT to_version FROM attempts)").bind(name).run();
    Statement(db, "DELETE FROM kernels WHERE name = ?").bind(name).run();
  });
}

Status Corpus::addProbe(const ProbeRow &probe) {
  return impl->write([&] {
    Statement(impl->db(), "INSERT INTO probes (transition_id, skill, condition, change, expert_answer, plain_answer, evidence, detail) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(probe.transition, probe.skill, probe.condition, probe.change, probe.expertAnswer, probe.plainAnswer, name(probe.evidence), probe.detail)
        .run();
  });
}

namespace {
std::vector<ProbeRow> probeRows(Statement &all) {
  std::vector<ProbeRow> rows;
  while (all.step())
    rows.push_back({all.integer(0), all.text(1), all.text(2), all.text(3), all.text(4), all.text(5),
                    conditionEvidenceNamed(all.text(6)).value_or(ConditionEvidence::Unproved), all.text(7)});
  return rows;
}
const char *probeColumns = "SELECT transition_id, skill, condition, change, expert_answer, plain_answer, evidence, detail FROM probes ";
} // namespace

Result<std::vector<ProbeRow>> Corpus::probes(int64_t transition) const {
  return impl->read([&] {
    Statement all(impl->db(), std::string(probeColumns) + "WHERE transition_id = ? ORDER BY id");
    all.bind(transition);
    return probeRows(all);
  });
}

Result<std::vector<ProbeRow>> Corpus::probesOfSkill(const std::string &key) const {
  return impl->read([&] {
    Statement all(impl->db(), std::string(probeColumns) + "WHERE skill = ? ORDER BY id");
    all.bind(key);
    return probeRows(all);
  });
}

Status Corpus::saveRun(const RunRow &run) {
  return impl->write([&] {
    Statement(impl->db(), "INSERT OR IGNORE INTO runs (key, kernel, version, baseline, device, compiler, gate_revision, outcome, reason, record) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(run.key, run.kernel, run.version, run.baseline, run.device, run.compiler, run.gateRevision, run.outcome, run.reason, run.record)
        .run();
  });
}

Result<std::optional<RunRow>> Corpus::gateRun(const std::string &key) const {
  return impl->read([&]() -> std::optional<RunRow> {
    Statement find(impl->db(), "SELECT kernel, version, baseline, device, compiler, gate_revision, outcome, reason, record FROM runs WHERE key = ?");
    if (!find.bind(key).step()) return std::nullopt;
    return RunRow{key, find.text(0), find.text(1), find.text(2), find.text(3), find.text(4), int(find.integer(5)), find.text(6), find.text(7), find.text(8)};
  });
}

Result<int64_t> Corpus::addAttempt(const AttemptRow &a) {
  int64_t id = 0;
  Status status = impl->write([&] {
    Statement(impl->db(), "INSERT INTO attempts (search, target, target_family, from_version, to_version, skill, step, parameters, locus, ordinal, "
                          "outcome, reason, detail, run_key, kept) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(a.search, a.target, a.targetFamily, a.from, a.to, a.skill, a.step, a.parameters, a.locus, a.order, a.outcome, a.reason, a.detail,
              a.runKey, a.kept)
        .run();
    id = impl->db().lastId();
    impl->addEffects("attempt", id, a.effects, a.targetFamily);
  });
  if (!status) return status.error();
  return id;
}

Status Corpus::keepAttempt(int64_t id) {
  return impl->write([&] { Statement(impl->db(), "UPDATE attempts SET kept = 1 WHERE id = ?").bind(id).run(); });
}

Result<std::vector<AttemptRow>> Corpus::attempts(const std::string &target) const {
  return impl->read([&] {
    std::vector<AttemptRow> rows;
    Statement all(impl->db(), "SELECT id, search, target, target_family, from_version, to_version, skill, step, parameters, locus, ordinal, outcome, "
                              "reason, detail, run_key, kept FROM attempts WHERE ?1 = '' OR target = ?1 ORDER BY id");
    all.bind(target);
    while (all.step()) {
      AttemptRow a;
      a.id = all.integer(0);
      int column = 1;
      for (std::string *text : {&a.search, &a.target, &a.targetFamily, &a.from, &a.to, &a.skill, &a.step, &a.parameters, &a.locus}) *text = all.text(column++);
      a.order = int(all.integer(column++));
      for (std::string *text : {&a.outcome, &a.reason, &a.detail, &a.runKey}) *text = all.text(column++);
      a.kept = all.integer(column) != 0;
      rows.push_back(std::move(a));
    }
    for (AttemptRow &row : rows) row.effects = impl->effectsOf("attempt", row.id);
    return rows;
  });
}

Status Corpus::annotate(const Annotation &note) {
  return impl->write([&] {
    Statement(impl->db(), "INSERT INTO annotations (subject_kind, subject, author, text, time) VALUES (?, ?, ?, ?, ?)")
        .bind(note.subjectKind, note.subject, note.author, note.text, note.time ? note.time : impl->now())
        .run();
  });
}

Result<std::vector<Annotation>> Corpus::annotations(const std::string &subjectKind, const std::string &subject) const {
  return impl->read([&] {
    std::vector<Annotation> rows;
    Statement all(impl->db(), "SELECT author, text, time FROM annotations WHERE subject_kind = ? AND subject = ? ORDER BY id");
    all.bind(subjectKind, subject);
    while (all.step()) rows.push_back({subjectKind, subject, all.text(0), all.text(1), all.integer(2)});
    return rows;
  });
}

Status Corpus::addArtifact(const Artifact &artifact) {
  return impl->write([&] {
    Statement(impl->db(), "INSERT INTO artifacts (subject_kind, subject, kind, blob) VALUES (?, ?, ?, ?)")
        .bind(artifact.subjectKind, artifact.subject, artifact.kind, sql::putBlob(impl->db(), artifact.bytes))
        .run();
  });
}

Result<std::vector<Artifact>> Corpus::artifacts(const std::string &subjectKind, const std::string &subject) const {
  return impl->read([&] {
    std::vector<Artifact> rows;
    Statement all(impl->db(), "SELECT kind, blob FROM artifacts WHERE subject_kind = ? AND subject = ? ORDER BY id");
    all.bind(subjectKind, subject);
    while (all.step()) rows.push_back({subjectKind, subject, all.text(0), sql::getBlob(impl->db(), all.text(1))});
    return rows;
  });
}

} // namespace klineage
