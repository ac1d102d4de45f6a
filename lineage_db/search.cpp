// The indexes of Corpus and its figures.
#include "lineage_db/corpus_impl.h"
#include "lineage_db/shape.h"

namespace klineage {

using sql::Database;
using sql::Statement;

Status Corpus::reindexShapes() {
  Statement revision(impl->db(), "SELECT revision FROM shape_revision");
  if (revision.step() && revision.integer(0) == shapeRevision) return Done{};
  revision.reset();
  return impl->write([&] {
    std::vector<std::pair<int64_t, Skill>> all;
    Statement rows(impl->db(), "SELECT id, step, summary, intent, anchor_before, anchor_after, carrier_code FROM skills");
    while (rows.step()) {
      Skill skill;
      skill.step = rows.text(1);
      skill.summary = rows.text(2);
      skill.intent = rows.text(3);
      skill.anchor.before = rows.text(4);
      skill.anchor.after = rows.text(5);
      skill.carrier.code = rows.text(6);
      all.emplace_back(rows.integer(0), std::move(skill));
    }
    for (const auto &[id, skill] : all) impl->indexSkill(id, skill);
    Statement(impl->db(), "UPDATE shape_revision SET revision = ?").bind(shapeRevision).run();
  });
}

namespace {

/// The words of a question as an FTS5 expression of quoted strings, so that no character of it is an operator. Empty: no word in it.
std::string quoted(const std::string &words) {
  std::string expression, word;
  auto flush = [&] {
    if (word.empty()) return;
    expression += (expression.empty() ? "\"" : " OR \"") + word + "\"";
    word.clear();
  };
  for (unsigned char c : words) {
    if (std::isalnum(c) || c >= 0x80) word += char(c);
    else flush();
  }
  flush();
  return expression;
}

} // namespace

Result<std::vector<WordHit>> Corpus::searchWords(const std::string &words, size_t limit) const {
  std::string expression = quoted(words);
  if (expression.empty()) return userError("there is no word to look for in: " + words, "", "name what you look for in letters or digits");
  return impl->read([&] {
    std::vector<WordHit> hits;
    // What the step is called and what it is for weigh more than the code that happened to carry it.
    Statement find(impl->db(), "SELECT s.key, -bm25(skill_words, 6.0, 5.0, 2.0, 1.0) AS score FROM skill_words JOIN skills s ON s.id = skill_words.rowid "
                               "WHERE skill_words MATCH ? ORDER BY score DESC, s.key LIMIT ?");
    find.bind(expression, int64_t(limit));
    while (find.step()) hits.push_back({find.text(0), find.real(1)});
    return hits;
  });
}

Result<std::vector<ShapeDocument>> Corpus::shapeIndex() const {
  return impl->read([&] {
    std::vector<ShapeDocument> documents;
    Statement all(impl->db(), "SELECT s.key, x.side, x.token, x.count FROM skill_shapes x JOIN skills s ON s.id = x.skill ORDER BY s.key, x.side, x.token");
    while (all.step()) {
      std::string key = all.text(0);
      bool expert = all.text(1) == "expert";
      if (documents.empty() || documents.back().skill != key || documents.back().expert != expert) documents.push_back({key, expert, {}});
      documents.back().tokens[all.text(2)] = int(all.integer(3));
    }
    return documents;
  });
}

Result<CorpusStats> Corpus::stats() const {
  return impl->read([&] {
    Database &db = impl->db();
    auto count = [&](const char *query) {
      Statement statement(db, query);
      return statement.step() ? statement.integer(0) : 0;
    };
    auto groups = [&](const char *query) {
      std::map<std::string, int64_t> result;
      Statement statement(db, query);
      while (statement.step()) result[statement.text(0)] = statement.integer(1);
      return result;
    };
    CorpusStats s;
    s.kernels = count("SELECT count(*) FROM kernels");
    s.versions = count("SELECT count(*) FROM versions");
    s.sources = count("SELECT count(*) FROM blobs");
    s.sourceBytes = count("SELECT coalesce(sum(size), 0) FROM blobs");
    s.storedBytes = count("SELECT coalesce(sum(length(bytes)), 0) FROM blobs");
    s.transitionsAccepted = count("SELECT count(*) FROM transitions WHERE outcome = 'accepted'");
    s.transitionsRefused = count("SELECT count(*) FROM transitions WHERE outcome = 'refused'");
    s.transitionsUndecided = count("SELECT count(*) FROM transitions WHERE outcome = 'undecided'");
    s.probes = count("SELECT count(*) FROM probes");
    s.runs = count("SELECT count(*) FROM runs");
    s.attempts = count("SELECT count(*) FROM attempts");
    s.attemptsKept = count("SELECT count(*) FROM attempts WHERE kept = 1");
    s.skillsByStatus = groups("SELECT status, count(*) FROM skills GROUP BY status");
    s.skillsByStep = groups("SELECT step, count(*) FROM skills GROUP BY step");
    s.refusalsByReason = groups("SELECT reason, count(*) FROM transitions WHERE outcome <> 'accepted' GROUP BY reason");
    s.effectsModelled = count("SELECT count(*) FROM effects WHERE owner_kind = 'skill' AND measured = 0");
    s.effectsMeasured = count("SELECT count(*) FROM effects WHERE owner_kind = 'skill' AND measured = 1");
    s.schemaVersion = int(db.pragma("user_version"));
    return s;
  });
}

} // namespace klineage
