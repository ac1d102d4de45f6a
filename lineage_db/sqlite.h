// A thin skin over SQLite for this room alone. Failures travel as SqlFailure and become Errors at the Corpus boundary.
#pragma once
#include "support/result.h"
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace klineage::sql {

/// Carries SQLite's result code; `text` names the statement's trouble.
struct SqlFailure {
  int code = 0;
  std::string text;
};

class Database;

/// A prepared statement. Values are bound in order, so no text of a caller ever becomes SQL.
class Statement {
public:
  Statement(Database &database, std::string_view text);
  ~Statement();
  Statement(const Statement &) = delete;
  Statement &operator=(const Statement &) = delete;

  template <typename... Values> Statement &bind(const Values &...values) {
    (bindNext(values), ...);
    return *this;
  }
  bool step();             ///< True while there is a row.
  void run();              ///< To the end; for statements without rows.
  void reset();            ///< Ready to bind and run again.

  int64_t integer(int column) const;
  double real(int column) const;
  std::string text(int column) const; ///< Also blobs.
  bool isNull(int column) const;

  void bindNext(int64_t value);
  void bindNext(int value) { bindNext(int64_t(value)); }
  void bindNext(unsigned value) { bindNext(int64_t(value)); }
  void bindNext(bool value) { bindNext(int64_t(value)); }
  void bindNext(double value);
  void bindNext(const std::string &value);
  void bindNext(const char *value) { bindNext(std::string(value)); }
  void bindBlob(std::string_view bytes);
  void bindNull();

private:
  Database &database;
  sqlite3_stmt *handle = nullptr;
  int next = 1;
};

class Database {
public:
  /// `flags` are SQLITE_OPEN_*; `name` may be a URI when SQLITE_OPEN_URI is among them.
  Database(const std::string &name, int flags, int busyMilliseconds);
  ~Database();
  Database(const Database &) = delete;
  Database &operator=(const Database &) = delete;

  void execute(const std::string &script); ///< Many statements, nothing to bind.
  int64_t lastId() const;
  int64_t pragma(const std::string &name); ///< An integer pragma.
  sqlite3 *raw() const { return handle; }
  [[noreturn]] void fail(int code, std::string_view where) const;

private:
  sqlite3 *handle = nullptr;
};

} // namespace klineage::sql
