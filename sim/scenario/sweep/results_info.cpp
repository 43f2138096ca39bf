#include "sim/scenario/sweep/results_info.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {
namespace {

using Handle = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

[[noreturn]] void fail(sqlite3* database, const std::string& path) {
  const int code = sqlite3_errcode(database);
  throw InputError({.file = path, .where = "", .found = sqlite3_errmsg(database), .expected = "results of sgsim sweep",
                    .hint = code == SQLITE_BUSY || code == SQLITE_LOCKED ? "a sweep is writing it: wait for its end" : ""});
}

/// Rows of a query, every value as text; empty text for none.
std::vector<std::vector<std::string>> rows_of(sqlite3* database, const std::string& path, const char* sql) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database, sql, -1, &raw, nullptr) != SQLITE_OK) fail(database, path);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  std::vector<std::vector<std::string>> rows;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    rows.emplace_back();
    for (int c = 0; c < sqlite3_column_count(raw); ++c) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, c));
      rows.back().emplace_back(text == nullptr ? "" : text);
    }
  }
  if (code != SQLITE_DONE) fail(database, path);
  return rows;
}

}  // namespace

bool is_result_store(std::string_view head) {
  return head.starts_with("SQLite format 3") && head.find("CREATE TABLE point (number INTEGER PRIMARY KEY") != std::string_view::npos && head.find("CREATE TABLE result (key") != std::string_view::npos;
}

std::string results_text(const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READONLY, nullptr);
  const Handle database(raw, sqlite3_close);
  if (opened != SQLITE_OK) fail(raw, path);
  const auto one = [&](const char* sql) { return rows_of(raw, path, sql).at(0).at(0); };
  TextTable table("lr");
  table.row({"points of the last sweep", one("SELECT count(*) FROM point")});
  table.row({"of these with a result", one("SELECT count(*) FROM point JOIN result ON point.key = result.key")});
  for (const auto& row : rows_of(raw, path, "SELECT status, count(*) FROM result GROUP BY status ORDER BY status")) table.row({"results: " + row[0], row[1]});
  std::string text = fmt::format("{}: results of sgsim sweep\n", path) + table.text();
  for (const auto& row : rows_of(raw, path, "SELECT step_time_s, settings FROM point JOIN result ON point.key = result.key WHERE step_time_s > 0 AND status = 'ok' ORDER BY step_time_s, number LIMIT 1")) {
    text += fmt::format("  shortest step: {} with {}\n", to_text(Seconds(std::stod(row[0]))), row[1]);
  }
  return text;
}

}  // namespace sgsim::scenario
