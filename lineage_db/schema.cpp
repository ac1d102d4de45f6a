#include "lineage_db/schema.h"

namespace klineage::sql {

// The number of the last migration is SQLite's own user_version, which is written in the migration's transaction: a table of applied
// migrations was rejected, because the list can be longer than the number and then neither is believed. Down-migrations were rejected
// too: nobody tests them, and a corpus is copied with one file copy before an upgrade.

StoreKind inspect(Database &database, int &schemaVersion) {
  schemaVersion = int(database.pragma("user_version"));
  int64_t id = database.pragma("application_id");
  Statement count(database, "SELECT count(*) FROM sqlite_schema");
  count.step();
  if (count.integer(0) == 0 && id == 0 && schemaVersion == 0) return StoreKind::Empty;
  if (id != applicationId) return StoreKind::Foreign;
  return schemaVersion > int(migrations().size()) ? StoreKind::Newer : StoreKind::Corpus;
}

void migrate(Database &database) {
  for (const Migration &migration : migrations()) {
    if (database.pragma("user_version") >= migration.number) continue;
    database.execute("BEGIN IMMEDIATE");
    try {
      // Another process may have been first while this one waited for the lock.
      if (database.pragma("user_version") < migration.number) {
        database.execute(migration.text);
        database.execute("PRAGMA application_id = " + std::to_string(applicationId));
        database.execute("PRAGMA user_version = " + std::to_string(migration.number));
      }
      database.execute("COMMIT");
    } catch (const SqlFailure &) {
      try {
        database.execute("ROLLBACK");
      } catch (const SqlFailure &) {
      }
      throw;
    }
  }
}

} // namespace klineage::sql
