#include "lineage_db/corpus_impl.h"
#include "lineage_db/shape.h"
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sqlite3.h>

namespace klineage {

using sql::Database;
using sql::SqlFailure;
using sql::Statement;

namespace {

// A file larger than this is not read through when it is opened; damage in it is then found by the query that meets it.
constexpr uintmax_t checkedBytes = 256u << 20;

Error notACorpus(const std::filesystem::path &file, const std::string &why) {
  return userError(why, file.string(), "the file was left as it is; name another one, or restore it from a copy");
}

/// The first bytes decide before SQLite is asked, because SQLite would take a short foreign file for an empty database.
std::optional<Error> foreignBytes(const std::filesystem::path &file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) return notACorpus(file, "this is a folder, not a corpus");
  auto size = std::filesystem::file_size(file, error);
  if (error || size == 0) return std::nullopt;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return userError("the corpus cannot be read", file.string(), "check its permissions");
  std::string head(16, '\0');
  stream.read(head.data(), 16);
  if (head != std::string("SQLite format 3\0", 16)) return notACorpus(file, "this file is no corpus: it does not begin like an SQLite database");
  return std::nullopt;
}

void useWriteAheadLog(Database &db) {
  // Changing the journal mode needs the file alone for a moment, and SQLite does not wait for it by itself.
  for (int attempt = 0;; ++attempt) {
    try {
      db.pragma("journal_mode = WAL");
      return;
    } catch (const SqlFailure &failure) {
      if ((failure.code & 0xff) != SQLITE_BUSY || attempt == 200) throw;
      sqlite3_sleep(25);
    }
  }
}

} // namespace

Corpus::Corpus() : impl(std::make_unique<Impl>()) {}
Corpus::Corpus(Corpus &&) noexcept = default;
Corpus &Corpus::operator=(Corpus &&) noexcept = default;
Corpus::~Corpus() = default;
const std::filesystem::path &Corpus::file() const { return impl->file; }

std::filesystem::path Corpus::defaultFile() {
  if (const char *set = std::getenv("KLINEAGE_CORPUS"); set && *set) return set;
  if (const char *data = std::getenv("XDG_DATA_HOME"); data && *data) return std::filesystem::path(data) / "klineage" / "corpus.db";
  const char *home = std::getenv("HOME");
  return std::filesystem::path(home && *home ? home : ".") / ".local" / "share" / "klineage" / "corpus.db";
}

Result<Corpus> Corpus::openReadOnly(const std::filesystem::path &file) {
  Options options;
  options.create = false;
  options.readOnly = true;
  return open(file, options);
}

Result<Corpus> Corpus::open(const std::filesystem::path &file, Options options) {
  const bool memory = file == ":memory:";
  std::error_code error;
  const bool exists = !memory && std::filesystem::exists(file, error);
  if (!memory && !exists) {
    if (!options.create)
      return userError("there is no corpus here", file.string(), "mine a kernel first: klineage mine <folder> --corpus " + file.string());
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), error);
    if (error) return userError("the corpus's folder cannot be made: " + error.message(), file.string());
  }
  if (exists)
    if (auto foreign = foreignBytes(file)) return *foreign;

  Corpus corpus;
  corpus.impl->file = file;
  corpus.impl->options = options;
  try {
    int flags = SQLITE_OPEN_FULLMUTEX | (options.readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    corpus.impl->database = std::make_unique<Database>(file.string(), flags, options.busyMilliseconds);
    Database &db = *corpus.impl->database;
    int schema = 0;
    switch (sql::inspect(db, schema)) {
    case sql::StoreKind::Foreign:
      return notACorpus(file, "this is an SQLite database, but no corpus of klineage");
    case sql::StoreKind::Newer:
      return userError("this corpus has schema " + std::to_string(schema) + ", and this klineage knows schemas up to " +
                           std::to_string(sql::migrations().size()),
                       file.string(), "use a newer klineage; the file was left as it is");
    case sql::StoreKind::Empty:
      if (options.readOnly) return userError("this corpus is empty", file.string(), "mine a kernel into it first");
      break;
    case sql::StoreKind::Corpus:
      if (options.readOnly && schema < int(sql::migrations().size()))
        return userError("this corpus has the older schema " + std::to_string(schema), file.string(),
                         "open it once for writing, for example with: klineage corpus stats --upgrade");
      if (std::filesystem::file_size(file, error) <= checkedBytes && !error) {
        Statement check(db, "PRAGMA quick_check(1)");
        if (check.step() && check.text(0) != "ok") return notACorpus(file, "this corpus is damaged: " + check.text(0));
      }
      break;
    }
    if (!options.readOnly) {
      if (!memory) useWriteAheadLog(db);
      // A power cut may cost the last transactions, never the file's wholeness; a killed process costs nothing.
      db.execute("PRAGMA synchronous = NORMAL");
      sql::migrate(db);
      if (Status indexed = corpus.reindexShapes(); !indexed) return indexed.error();
    }
    db.execute("PRAGMA foreign_keys = ON");
  } catch (const SqlFailure &failure) {
    return corpus.impl->explain(failure);
  }
  return corpus;
}

int64_t Corpus::Impl::now() const {
  if (options.now) return options.now();
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

Error Corpus::Impl::explain(const SqlFailure &failure) const {
  switch (failure.code & 0xff) {
  case SQLITE_CORRUPT:
  case SQLITE_NOTADB:
    return notACorpus(file, "this corpus is damaged: " + failure.text);
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return userError("another program held the corpus locked for more than " + std::to_string(options.busyMilliseconds / 1000) + " s",
                     file.string(), "wait for it to end, or end it");
  case SQLITE_FULL:
    return userError("the disk is full", file.string(), "make room and run the same command again; what was accepted is kept");
  case SQLITE_READONLY:
  case SQLITE_CANTOPEN:
  case SQLITE_PERM:
  case SQLITE_IOERR:
    return userError("the corpus cannot be opened or written: " + failure.text, file.string(), "check the path, its permissions and its disk");
  default:
    return ourFault("SQLite: " + failure.text, file.string());
  }
}

Status Corpus::Impl::transact(const std::function<Status()> &body) {
  const bool outermost = depth == 0;
  const char *undo = outermost ? "ROLLBACK" : "ROLLBACK TO inner; RELEASE inner";
  try {
    // Taking the write lock at the start: a transaction that reads first and writes later can fail for no fault of its own.
    db().execute(outermost ? "BEGIN IMMEDIATE" : "SAVEPOINT inner");
  } catch (const SqlFailure &failure) {
    return explain(failure);
  }
  ++depth;
  std::optional<Error> error;
  try {
    if (Status status = body(); !status) error = status.error();
    else db().execute(outermost ? "COMMIT" : "RELEASE inner");
  } catch (const SqlFailure &failure) {
    error = explain(failure);
  }
  --depth;
  if (!error) return Done{};
  try {
    db().execute(undo);
  } catch (const SqlFailure &) {
    // SQLite has already rolled back by itself (disk full, for one); the first error is the one to tell.
  }
  return *error;
}

Status Corpus::transact(const std::function<Status()> &body) { return impl->transact(body); }

Status Corpus::saveKernel(const KernelRow &kernel) {
  return impl->write([&] {
    Statement(impl->db(), "INSERT OR REPLACE INTO kernels (name, family, entry, workload_hash, origin, oracle, expert_version) "
                          "VALUES (?, ?, ?, ?, ?, ?, ?)")
        .bind(kernel.name, kernel.family, kernel.entry, kernel.workloadHash, kernel.origin, kernel.oracle, kernel.expertVersion)
        .run();
  });
}

namespace {
const char *kernelColumns = "SELECT name, family, entry, workload_hash, origin, oracle, expert_version FROM kernels ";
KernelRow kernelOf(const Statement &row) {
  return {row.text(0), row.text(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6)};
}
} // namespace

Result<std::optional<KernelRow>> Corpus::kernel(const std::string &name) const {
  return impl->read([&]() -> std::optional<KernelRow> {
    Statement find(impl->db(), std::string(kernelColumns) + "WHERE name = ?");
    if (!find.bind(name).step()) return std::nullopt;
    return kernelOf(find);
  });
}

Result<std::vector<KernelRow>> Corpus::kernels() const {
  return impl->read([&] {
    std::vector<KernelRow> rows;
    Statement all(impl->db(), std::string(kernelColumns) + "ORDER BY name");
    while (all.step()) rows.push_back(kernelOf(all));
    return rows;
  });
}

Status Corpus::saveVersion(const VersionRow &version, const std::vector<FeatureRow> &features) {
  return impl->write([&] {
    Database &db = impl->db();
    Statement find(db, "SELECT 1 FROM versions WHERE hash = ?");
    if (!find.bind(version.hash).step()) {
      Statement(db, "INSERT INTO versions (hash, kernel, main_file, complexity) VALUES (?, ?, ?, ?)")
          .bind(version.hash, version.kernel, version.mainFile, version.complexity)
          .run();
      for (const auto &[path, text] : version.files)
        Statement(db, "INSERT INTO version_files (version, path, blob) VALUES (?, ?, ?)").bind(version.hash, path, sql::putBlob(db, text)).run();
    }
    // Features are what today's steps see in the text, so a later look replaces an earlier one.
    Statement(db, "DELETE FROM features WHERE version = ?").bind(version.hash).run();
    for (const FeatureRow &feature : features)
      Statement(db, "INSERT INTO features (version, step, locus_kind, locus_label, file, offset, parameters) VALUES (?, ?, ?, ?, ?, ?, ?)")
          .bind(version.hash, feature.step, feature.locusKind, feature.locusLabel, feature.file, feature.offset, feature.parameters)
          .run();
  });
}

Result<std::optional<VersionRow>> Corpus::version(const std::string &hash) const {
  return impl->read([&]() -> std::optional<VersionRow> {
    Statement find(impl->db(), "SELECT kernel, main_file, complexity FROM versions WHERE hash = ?");
    if (!find.bind(hash).step()) return std::nullopt;
    VersionRow version{hash, find.text(0), find.text(1), {}, int(find.integer(2))};
    Statement files(impl->db(), "SELECT path, blob FROM version_files WHERE version = ?");
    files.bind(hash);
    while (files.step()) version.files[files.text(0)] = sql::getBlob(impl->db(), files.text(1));
    return version;
  });
}

Result<std::string> Corpus::versionNamed(const std::string &prefix) const {
  auto hashes = impl->read([&] {
    std::vector<std::string> found;
    Statement all(impl->db(), "SELECT hash FROM versions WHERE substr(hash, 1, length(?1)) = ?1 LIMIT 2");
    all.bind(prefix);
    while (all.step()) found.push_back(all.text(0));
    return found;
  });
  if (!hashes) return hashes.error();
  if (hashes->empty()) return userError("there is no version " + prefix + " in this corpus", file().string());
  if (hashes->size() > 1) return userError("several versions begin with " + prefix, file().string(), "give more digits");
  return hashes->front();
}

Result<std::vector<FeatureRow>> Corpus::features(const std::string &version) const {
  return impl->read([&] {
    std::vector<FeatureRow> rows;
    Statement all(impl->db(), "SELECT step, locus_kind, locus_label, file, offset, parameters FROM features WHERE version = ? ORDER BY id");
    all.bind(version);
    while (all.step()) rows.push_back({all.text(0), all.text(1), all.text(2), all.text(3), unsigned(all.integer(4)), all.text(5)});
    return rows;
  });
}

} // namespace klineage
