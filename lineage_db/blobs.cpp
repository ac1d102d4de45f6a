#include "lineage_db/blobs.h"
#include "support/hash.h"
#include <sqlite3.h>
#include <zstd.h>

namespace klineage::sql {

std::string putBlob(Database &database, const std::string &bytes) {
  std::string hash = sha256(bytes);
  Statement find(database, "SELECT 1 FROM blobs WHERE hash = ?");
  if (find.bind(hash).step()) return hash;
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  size_t size = ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 9);
  if (ZSTD_isError(size)) throw SqlFailure{SQLITE_ERROR, std::string("zstd: ") + ZSTD_getErrorName(size)};
  packed.resize(size);
  Statement insert(database, "INSERT OR IGNORE INTO blobs (hash, size, bytes) VALUES (?, ?, ?)");
  insert.bind(hash, int64_t(bytes.size()));
  insert.bindBlob(packed);
  insert.run();
  return hash;
}

std::string getBlob(Database &database, const std::string &hash) {
  Statement find(database, "SELECT size, bytes FROM blobs WHERE hash = ?");
  if (!find.bind(hash).step()) throw SqlFailure{SQLITE_CORRUPT, "the text " + hash + " is missing"};
  std::string packed = find.text(1);
  std::string bytes(size_t(find.integer(0)), '\0');
  size_t size = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) || size != bytes.size() || sha256(bytes) != hash)
    throw SqlFailure{SQLITE_CORRUPT, "the text " + hash + " is damaged"};
  return bytes;
}

} // namespace klineage::sql
