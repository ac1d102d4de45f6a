// The skills part of Corpus.
#include "lineage_db/corpus_impl.h"
#include "lineage_db/shape.h"
#include <algorithm>

namespace klineage {

using sql::Database;
using sql::Statement;

namespace {
constexpr const char *statusNames[] = {"candidate", "reproduced", "admitted", "stale", "rejected"};
constexpr const char *evidenceNames[] = {"unproved", "needed", "not_needed", "proved"};
} // namespace

const char *name(SkillStatus status) { return statusNames[int(status)]; }
const char *name(ConditionEvidence evidence) { return evidenceNames[int(evidence)]; }
std::optional<SkillStatus> skillStatusNamed(std::string_view name) {
  for (int i = 0; i < int(std::size(statusNames)); ++i)
    if (name == statusNames[i]) return SkillStatus(i);
  return std::nullopt;
}
std::optional<ConditionEvidence> conditionEvidenceNamed(std::string_view name) {
  for (int i = 0; i < int(std::size(evidenceNames)); ++i)
    if (name == evidenceNames[i]) return ConditionEvidence(i);
  return std::nullopt;
}

int64_t Corpus::Impl::skillId(const std::string &key) {
  Statement find(db(), "SELECT id FROM skills WHERE key = ?");
  return find.bind(key).step() ? find.integer(0) : 0;
}

void Corpus::Impl::log(int64_t skill, int64_t time, const std::string &event, const std::string &detail) {
  // The same event told twice (a walk that resumes saves its skill again) is one entry.
  Statement same(db(), "SELECT 1 FROM skill_log WHERE skill = ? AND event = ? AND detail = ? AND (?4 = 0 OR time = ?4)");
  if (same.bind(skill, event, detail, time).step()) return;
  Statement(db(), "INSERT INTO skill_log (skill, time, event, detail) VALUES (?, ?, ?, ?)").bind(skill, time ? time : now(), event, detail).run();
}

void Corpus::Impl::indexSkill(int64_t id, const Skill &skill) {
  Statement(db(), "DELETE FROM skill_words WHERE rowid = ?").bind(id).run();
  Statement(db(), "INSERT INTO skill_words (rowid, step, summary, intent, code) VALUES (?, ?, ?, ?, ?)")
      .bind(id, skill.step, skill.summary, skill.intent, skill.anchor.before + "\n" + skill.anchor.after + "\n" + skill.carrier.code)
      .run();
  Statement(db(), "DELETE FROM skill_shapes WHERE skill = ?").bind(id).run();
  for (auto [side, code] : {std::pair("plain", &skill.anchor.before), std::pair("expert", &skill.anchor.after)})
    for (const auto &[token, count] : shapeOf(*code))
      Statement(db(), "INSERT INTO skill_shapes (skill, side, token, count) VALUES (?, ?, ?, ?)").bind(id, side, token, count).run();
}

Result<int64_t> Corpus::saveSkill(const Skill &s) {
  int64_t id = 0;
  Status status = impl->write([&] {
    Database &db = impl->db();
    Statement row(db, "INSERT INTO skills (key, step, step_revision, stage, kernel, family, status, summary, intent, anchor_before, anchor_after, "
                      "locus_kind, locus_label, parameters, carrier_code, gate_revision, provenance, review, merit) "
                      "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
                      "ON CONFLICT (key) DO UPDATE SET step = excluded.step, step_revision = excluded.step_revision, stage = excluded.stage, "
                      "kernel = excluded.kernel, family = excluded.family, status = excluded.status, summary = excluded.summary, "
                      "intent = excluded.intent, anchor_before = excluded.anchor_before, anchor_after = excluded.anchor_after, "
                      "locus_kind = excluded.locus_kind, locus_label = excluded.locus_label, parameters = excluded.parameters, "
                      "carrier_code = excluded.carrier_code, gate_revision = excluded.gate_revision, provenance = excluded.provenance, "
                      "review = excluded.review, merit = excluded.merit");
    row.bind(s.key, s.step, s.stepRevision, s.stage, s.kernel, s.family, name(s.status), s.summary, s.intent, s.anchor.before, s.anchor.after,
             s.anchor.locusKind, s.anchor.locusLabel, s.carrier.parameters, s.carrier.code, s.evidence.gateRevision, s.provenance, s.review);
    if (s.merit) row.bind(*s.merit);
    else row.bindNull();
    row.run();
    id = impl->skillId(s.key);
    for (const char *table : {"skill_conditions", "skill_risks", "skill_lists"})
      Statement(db, std::string("DELETE FROM ") + table + " WHERE skill = ?").bind(id).run();
    for (size_t i = 0; i < s.conditions.size(); ++i) {
      const SkillCondition &c = s.conditions[i];
      Statement(db, "INSERT INTO skill_conditions (skill, ordinal, name, text, kind, truth, why, evidence, evidence_detail) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
          .bind(id, int64_t(i), c.name, c.text, c.kind, c.truth, c.why, name(c.evidence), c.evidenceDetail)
          .run();
    }
    for (size_t i = 0; i < s.risks.size(); ++i)
      Statement(db, "INSERT INTO skill_risks (skill, ordinal, condition, failure, detail) VALUES (?, ?, ?, ?, ?)")
          .bind(id, int64_t(i), s.risks[i].condition, s.risks[i].failure, s.risks[i].detail)
          .run();
    auto list = [&](const char *kind, const std::vector<std::string> &values) {
      for (size_t i = 0; i < values.size(); ++i)
        Statement(db, "INSERT INTO skill_lists (skill, kind, ordinal, value) VALUES (?, ?, ?, ?)").bind(id, kind, int64_t(i), values[i]).run();
    };
    std::vector<std::string> ids;
    for (int64_t transition : s.evidence.transitions) ids.push_back(std::to_string(transition));
    list("transition", ids);
    list("run", s.evidence.runKeys);
    list("family", s.evidence.families);
    list("arch", s.scope.archs);
    list("dtype", s.scope.dtypes);
    list("scope_family", s.scope.families);
    list("shape", s.scope.shapes);
    impl->dropEffects("skill", id);
    impl->addEffects("skill", id, s.effects, s.family);
    for (const LogEntry &entry : s.log) impl->log(id, entry.time, entry.event, entry.detail);
    impl->indexSkill(id, s);
  });
  if (!status) return status.error();
  return id;
}

namespace {
const char *skillColumns = "SELECT id, key, step, step_revision, stage, kernel, family, status, summary, intent, anchor_before, anchor_after, "
                           "locus_kind, locus_label, parameters, carrier_code, gate_revision, provenance, review, merit FROM skills ";
}

Skill Corpus::Impl::loadSkill(Statement &row) {
  Skill s;
  s.id = row.integer(0);
  s.key = row.text(1);
  s.step = row.text(2);
  s.stepRevision = int(row.integer(3));
  int column = 4;
  for (std::string *text : {&s.stage, &s.kernel, &s.family}) *text = row.text(column++);
  s.status = skillStatusNamed(row.text(column++)).value_or(SkillStatus::Candidate);
  for (std::string *text : {&s.summary, &s.intent, &s.anchor.before, &s.anchor.after, &s.anchor.locusKind, &s.anchor.locusLabel,
                            &s.carrier.parameters, &s.carrier.code})
    *text = row.text(column++);
  s.evidence.gateRevision = int(row.integer(column++));
  s.provenance = row.text(column++);
  s.review = row.text(column++);
  if (!row.isNull(column)) s.merit = row.real(column);

  Statement conditions(db(), "SELECT name, text, kind, truth, why, evidence, evidence_detail FROM skill_conditions WHERE skill = ? ORDER BY ordinal");
  conditions.bind(s.id);
  while (conditions.step())
    s.conditions.push_back({conditions.text(0), conditions.text(1), conditions.text(2), conditions.text(3), conditions.text(4),
                            conditionEvidenceNamed(conditions.text(5)).value_or(ConditionEvidence::Unproved), conditions.text(6)});
  Statement risks(db(), "SELECT condition, failure, detail FROM skill_risks WHERE skill = ? ORDER BY ordinal");
  risks.bind(s.id);
  while (risks.step()) s.risks.push_back({risks.text(0), risks.text(1), risks.text(2)});
  Statement lists(db(), "SELECT kind, value FROM skill_lists WHERE skill = ? ORDER BY kind, ordinal");
  lists.bind(s.id);
  while (lists.step()) {
    std::string kind = lists.text(0), value = lists.text(1);
    if (kind == "transition") s.evidence.transitions.push_back(std::stoll(value));
    else if (kind == "run") s.evidence.runKeys.push_back(value);
    else if (kind == "family") s.evidence.families.push_back(value);
    else if (kind == "arch") s.scope.archs.push_back(value);
    else if (kind == "dtype") s.scope.dtypes.push_back(value);
    else if (kind == "scope_family") s.scope.families.push_back(value);
    else if (kind == "shape") s.scope.shapes.push_back(value);
  }
  Statement entries(db(), "SELECT time, event, detail FROM skill_log WHERE skill = ? ORDER BY id");
  entries.bind(s.id);
  while (entries.step()) s.log.push_back({entries.integer(0), entries.text(1), entries.text(2)});
  s.effects = effectsOf("skill", s.id);
  return s;
}

Result<std::optional<Skill>> Corpus::skill(const std::string &key) const {
  return impl->read([&]() -> std::optional<Skill> {
    bool digits = !key.empty() && key.size() < 18 && key.find_first_not_of("0123456789") == std::string::npos;
    Statement find(impl->db(), std::string(skillColumns) + (digits ? "WHERE id = ?" : "WHERE key = ?"));
    if (digits) find.bind(int64_t(std::stoll(key)));
    else find.bind(key);
    if (!find.step()) return std::nullopt;
    return impl->loadSkill(find);
  });
}

Result<std::vector<Skill>> Corpus::skills(const SkillFilter &filter) const {
  return impl->read([&] {
    std::vector<Skill> found;
    Statement all(impl->db(), std::string(skillColumns) + "WHERE (?1 = '' OR step = ?1) AND (?2 = '' OR kernel = ?2) AND (?3 = '' OR family = ?3) "
                                                          "AND (?4 = '' OR family <> ?4) AND (?5 = '' OR kernel <> ?5) ORDER BY key");
    all.bind(filter.step, filter.kernel, filter.family, filter.notFamily, filter.notKernel);
    while (all.step()) {
      Skill skill = impl->loadSkill(all);
      if (filter.statuses.empty() || std::find(filter.statuses.begin(), filter.statuses.end(), skill.status) != filter.statuses.end())
        found.push_back(std::move(skill));
    }
    return found;
  });
}

namespace {
Error noSuchSkill(const std::string &key) { return userError("there is no skill " + key, "", "klineage corpus list shows the skills that there are"); }
} // namespace

Status Corpus::setSkillStatus(const std::string &key, SkillStatus status, const std::string &why) {
  return impl->transact([&]() -> Status {
    int64_t id = impl->skillId(key);
    if (!id) return noSuchSkill(key);
    Statement(impl->db(), "UPDATE skills SET status = ? WHERE id = ?").bind(name(status), id).run();
    impl->log(id, 0, name(status), why);
    return Done{};
  });
}

Status Corpus::addEffect(const std::string &key, const EffectPoint &point, const std::string &family) {
  return impl->transact([&]() -> Status {
    int64_t id = impl->skillId(key);
    if (!id) return noSuchSkill(key);
    impl->addEffects("skill", id, {point}, family);
    Statement(impl->db(), "INSERT INTO skill_lists (skill, kind, ordinal, value) SELECT ?1, 'family', count(*), ?2 FROM skill_lists "
                          "WHERE skill = ?1 AND kind = 'family' HAVING sum(value = ?2) IS NULL OR sum(value = ?2) = 0")
        .bind(id, family)
        .run();
    return Done{};
  });
}

} // namespace klineage
