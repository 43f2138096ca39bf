#include "sim/import/nsys/database.h"

#include <sqlite3.h>

#include <cstring>
#include <fstream>

#include "sim/core/error.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::nsys {
namespace {

bool is_packed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[2] = {};
  file.read(magic, 2);
  return magic[0] == '\x1f' && magic[1] == '\x8b';
}

}  // namespace

bool Row::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
std::int64_t Row::integer(int column) const { return sqlite3_column_int64(statement_, column); }
std::string_view Row::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

Database::Database(const std::string& path, Diagnostics& report) : path_(path), handle_(nullptr, sqlite3_close) {
  if (is_packed(path)) {
    content_ = read_whole(path, "nsys", report);
    open_content();
  } else {
    sqlite3* raw = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
    handle_.reset(raw);
    if (opened != SQLITE_OK) fail(sqlite3_errmsg(raw));
  }
  read_tables();
}

Database::Database(const std::string& path, std::string content) : path_(path), content_(std::move(content)), handle_(nullptr, sqlite3_close) {
  open_content();
  read_tables();
}

void Database::open_content() {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open(":memory:", &raw);
  handle_.reset(raw);
  if (opened != SQLITE_OK) fail("no memory");
  const auto size = static_cast<sqlite3_int64>(content_.size());
  if (sqlite3_deserialize(raw, "main", reinterpret_cast<unsigned char*>(content_.data()), size, size, SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) fail(sqlite3_errmsg(raw));
}

void Database::read_tables() {
  sqlite3_limit(handle_.get(), SQLITE_LIMIT_LENGTH, 1 << 30);
  (void)sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  (void)sqlite3_db_config(handle_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  select("select name from sqlite_master where type in ('table', 'view')", [&](const Row& row) { tables_.emplace(row.text(0)); });
}

void Database::fail(const std::string& what) const {
  throw InputError({.file = path_, .where = "", .found = "SQLite says: " + what, .expected = "a SQLite export of Nsight Systems", .hint = "export again: nsys export --type sqlite report.nsys-rep"});
}

void Database::select(const std::string& sql, const std::function<void(const Row&)>& visit) const {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.c_str(), -1, &raw, nullptr) != SQLITE_OK) fail(sqlite3_errmsg(handle_.get()));
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(raw)) == SQLITE_ROW) visit(Row(raw));
  if (step != SQLITE_DONE) fail(sqlite3_errmsg(handle_.get()));
}

bool Database::has_column(const std::string& table, const std::string& column) const {
  bool found = false;
  select("select name from pragma_table_info('" + table + "')", [&](const Row& row) { found = found || row.text(0) == column; });
  return found;
}

void Database::each(const std::string& table, const std::vector<std::string>& columns, const std::function<void(const Row&)>& visit) const {
  if (!has_table(table)) return;
  std::set<std::string> there;
  select("select name from pragma_table_info('" + table + "')", [&](const Row& row) { there.emplace(row.text(0)); });
  std::string sql = "select ";
  for (const std::string& column : columns) sql += (&column == &columns.front() ? "" : ", ") + (there.contains(column) ? "\"" + column + "\"" : "null");
  select(sql + " from " + table, visit);
}

std::int64_t Database::rows(const std::string& table) const {
  std::int64_t count = 0;
  if (has_table(table)) select("select count(*) from " + table, [&](const Row& row) { count = row.integer(0); });
  return count;
}

}  // namespace sgsim::import::nsys
