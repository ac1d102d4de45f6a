#include "lineage_db/sqlite.h"
#include <sqlite3.h>

namespace klineage::sql {

Database::Database(const std::string &name, int flags, int busyMilliseconds) {
  int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  if (code != SQLITE_OK) {
    SqlFailure failure{code, handle ? sqlite3_errmsg(handle) : sqlite3_errstr(code)};
    sqlite3_close_v2(handle);
    throw failure;
  }
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, busyMilliseconds);
}

Database::~Database() { sqlite3_close_v2(handle); }

void Database::fail(int code, std::string_view where) const {
  throw SqlFailure{code, std::string(sqlite3_errmsg(handle)) + (where.empty() ? "" : " in: " + std::string(where))};
}

void Database::execute(const std::string &script) {
  int code = sqlite3_exec(handle, script.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code, script.substr(0, 80));
}

int64_t Database::lastId() const { return sqlite3_last_insert_rowid(handle); }

int64_t Database::pragma(const std::string &name) {
  Statement statement(*this, "PRAGMA " + name);
  return statement.step() ? statement.integer(0) : 0;
}

Statement::Statement(Database &owner, std::string_view text) : database(owner) {
  int code = sqlite3_prepare_v2(owner.raw(), text.data(), int(text.size()), &handle, nullptr);
  if (code != SQLITE_OK) owner.fail(code, text);
}

Statement::~Statement() { sqlite3_finalize(handle); }

bool Statement::step() {
  int code = sqlite3_step(handle);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const char *text = sqlite3_sql(handle);
  database.fail(code, text ? text : "");
}

void Statement::run() {
  while (step()) {
  }
}

void Statement::reset() {
  sqlite3_reset(handle);
  sqlite3_clear_bindings(handle);
  next = 1;
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle, column); }
double Statement::real(int column) const { return sqlite3_column_double(handle, column); }
bool Statement::isNull(int column) const { return sqlite3_column_type(handle, column) == SQLITE_NULL; }

std::string Statement::text(int column) const {
  const void *bytes = sqlite3_column_blob(handle, column);
  int size = sqlite3_column_bytes(handle, column);
  return bytes ? std::string(static_cast<const char *>(bytes), size_t(size)) : std::string();
}

void Statement::bindNext(int64_t value) {
  int code = sqlite3_bind_int64(handle, next++, value);
  if (code != SQLITE_OK) database.fail(code, "bind");
}
void Statement::bindNext(double value) {
  int code = sqlite3_bind_double(handle, next++, value);
  if (code != SQLITE_OK) database.fail(code, "bind");
}
void Statement::bindNext(const std::string &value) {
  int code = sqlite3_bind_text64(handle, next++, value.data(), value.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) database.fail(code, "bind");
}
void Statement::bindBlob(std::string_view bytes) {
  int code = sqlite3_bind_blob64(handle, next++, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_TRANSIENT);
  if (code != SQLITE_OK) database.fail(code, "bind");
}
void Statement::bindNull() {
  int code = sqlite3_bind_null(handle, next++);
  if (code != SQLITE_OK) database.fail(code, "bind");
}

} // namespace klineage::sql
