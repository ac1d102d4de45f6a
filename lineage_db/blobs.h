// Content-addressed bytes: equal texts are stored once, compressed with zstd.
#pragma once
#include "lineage_db/sqlite.h"

namespace klineage::sql {

/// Stores the bytes if they are new; answers with their hash.
std::string putBlob(Database &database, const std::string &bytes);
/// The bytes of a hash. Bytes that no longer hash to their name are a failure (SQLITE_CORRUPT), never returned.
std::string getBlob(Database &database, const std::string &hash);

} // namespace klineage::sql
