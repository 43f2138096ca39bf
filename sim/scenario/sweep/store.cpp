#include "sim/scenario/sweep/store.h"

#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/scenario/sweep/columns.h"

namespace sgsim::scenario {
namespace {

[[noreturn]] void fail(sqlite3* database, const std::string& path) {
  const int code = sqlite3_errcode(database);
  std::string what = "the result store " + path + ": " + sqlite3_errmsg(database);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) what += "; another sweep is writing it";
  throw EnvironmentError(what);
}

/// A prepared statement: bind in order, then step.
class Statement {
 public:
  Statement(sqlite3* database, const std::string& path, const std::string& sql) : database_(database), path_(path) {
    if (sqlite3_prepare_v2(database, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) fail(database, path);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    check(sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  Statement& bind(std::int64_t value) {
    check(sqlite3_bind_int64(statement_, ++bound_, value));
    return *this;
  }
  Statement& bind(std::optional<double> value) {
    check(value ? sqlite3_bind_double(statement_, ++bound_, *value) : sqlite3_bind_null(statement_, ++bound_));
    return *this;
  }
  /// True while there is a row.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) fail(database_, path_);
    return code == SQLITE_ROW;
  }
  void reset() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) fail(database_, path_);
  }
  sqlite3* database_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

std::string result_table() {
  std::string sql = "CREATE TABLE IF NOT EXISTS result (key TEXT PRIMARY KEY, inputs TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL";
  for (const char* column : kFigureColumns) sql += std::string(", ") + column + " REAL";
  return sql + ")";
}

}  // namespace

ResultStore::ResultStore(const std::string& path) : path_(path) {
  const int opened = sqlite3_open(path.c_str(), &database_);
  try {
    if (opened != SQLITE_OK) fail(database_, path_);
    run("PRAGMA locking_mode = EXCLUSIVE");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("CREATE TABLE IF NOT EXISTS point (number INTEGER PRIMARY KEY, settings TEXT NOT NULL, key TEXT NOT NULL)");
    run(result_table().c_str());
  } catch (...) {
    sqlite3_close(database_);
    throw;
  }
}

ResultStore::~ResultStore() { sqlite3_close(database_); }

void ResultStore::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail(database_, path_);
}

void ResultStore::set_points(const std::vector<std::string>& settings, const std::vector<PointKeys::Key>& keys) {
  run("BEGIN");
  run("DELETE FROM point");
  Statement insert(database_, path_, "INSERT INTO point VALUES (?, ?, ?)");
  for (std::size_t i = 0; i < keys.size(); ++i) {
    insert.bind(static_cast<std::int64_t>(i)).bind(settings[i]).bind(keys[i].hash);
    (void)insert.step();
    insert.reset();
  }
  run("COMMIT");
}

std::optional<PointOutcome> ResultStore::find(const PointKeys::Key& key) {
  Statement select(database_, path_, "SELECT status, reason, report FROM result WHERE key = ? AND inputs = ?");
  select.bind(key.hash).bind(key.effective);
  if (!select.step()) return std::nullopt;
  return PointOutcome{.status = status_from(select.text(0)), .reason = select.text(1), .report = select.text(2)};
}

void ResultStore::put(const PointKeys::Key& key, const PointOutcome& outcome) {
  std::string marks = "?, ?, ?, ?, ?";
  for (std::size_t i = 0; i < std::size(kFigureColumns); ++i) marks += ", ?";
  Statement insert(database_, path_, "INSERT OR REPLACE INTO result VALUES (" + marks + ")");
  insert.bind(key.hash).bind(key.effective).bind(std::string(label(outcome.status))).bind(outcome.reason).bind(outcome.report);
  for (const std::optional<double>& figure : figures_of(outcome.report)) insert.bind(figure);
  (void)insert.step();
}

void ResultStore::forget(const PointKeys::Key& key) {
  Statement remove(database_, path_, "DELETE FROM result WHERE key = ?");
  (void)remove.bind(key.hash).step();
}

}  // namespace sgsim::scenario
