// The schema's migrations: numbered SQL files, forward only, each applied in one transaction together with its number.
#pragma once
#include "lineage_db/sqlite.h"
#include <span>

namespace klineage::sql {

struct Migration {
  int number;        ///< From 1, without gaps.
  const char *name;  ///< The file's stem.
  const char *text;
};

/// Written by CMake from lineage_db/migrations/NNN_name.sql, by number.
std::span<const Migration> migrations();

/// Marks a file as a corpus; the four bytes are "klng".
constexpr int64_t applicationId = 0x6b6c6e67;

/// What is known of a file before anything is written to it.
enum class StoreKind { Empty, Corpus, Foreign, Newer };
StoreKind inspect(Database &database, int &schemaVersion);

/// Brings the schema to the newest number. Safe when two processes do it at once.
void migrate(Database &database);

} // namespace klineage::sql
