// What the parts of Corpus share: the open database, transactions, and how a failure of SQLite becomes an Error.
#pragma once
#include "lineage_db/blobs.h"
#include "lineage_db/corpus.h"
#include "lineage_db/schema.h"

namespace klineage {

struct Corpus::Impl {
  std::unique_ptr<sql::Database> database;
  std::filesystem::path file;
  Corpus::Options options;
  int depth = 0; ///< Of nested transactions.

  sql::Database &db() { return *database; }
  int64_t now() const;
  Error explain(const sql::SqlFailure &failure) const;
  Status transact(const std::function<Status()> &body);

  /// A writing call: one transaction, or a part of the one that is open.
  template <typename Body> Status write(Body body) {
    return transact([&]() -> Status {
      body();
      return Done{};
    });
  }

  /// A reading call.
  template <typename Body> auto read(Body body) -> Result<decltype(body())> {
    try {
      return body();
    } catch (const sql::SqlFailure &failure) {
      return explain(failure);
    }
  }

  void addEffects(const char *ownerKind, int64_t owner, const std::vector<EffectPoint> &points, const std::string &family);
  std::vector<EffectPoint> effectsOf(const char *ownerKind, int64_t owner);
  void dropEffects(const char *ownerKind, int64_t owner);
  int64_t skillId(const std::string &key); ///< Row id, or 0.
  void log(int64_t skill, int64_t time, const std::string &event, const std::string &detail);
  Skill loadSkill(sql::Statement &row);
  void indexSkill(int64_t id, const Skill &skill);
};

} // namespace klineage
