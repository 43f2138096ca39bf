#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sgsim::import::nsys {

/// One row of a query; columns by position. Values of another kind are converted as SQLite does.
class Row {
 public:
  explicit Row(sqlite3_stmt* statement) : statement_(statement) {}
  [[nodiscard]] bool is_null(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;  // 0 for null
  [[nodiscard]] std::string_view text(int column) const;

 private:
  sqlite3_stmt* statement_;
};

/// A SQLite file opened for reading; a gzip-packed one is unpacked into memory. Every failure is an InputError with the file.
class Database {
 public:
  Database(const std::string& path, Diagnostics& report);
  /// From content in memory; `path` is for messages.
  Database(const std::string& path, std::string content);

  [[nodiscard]] bool has_table(const std::string& table) const { return tables_.contains(table); }
  [[nodiscard]] bool has_column(const std::string& table, const std::string& column) const;
  /// `columns` of a table in row order; a column that this version of the table lacks reads as null.
  void each(const std::string& table, const std::vector<std::string>& columns, const std::function<void(const Row&)>& visit) const;
  [[nodiscard]] std::int64_t rows(const std::string& table) const;

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void select(const std::string& sql, const std::function<void(const Row&)>& visit) const;

  void open_content();
  void read_tables();

  std::string path_, content_;
  std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_;
  std::set<std::string> tables_;
};

}  // namespace sgsim::import::nsys
