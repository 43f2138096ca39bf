#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace sgsim::scenario {

/// Lines of cells in aligned columns, two spaces apart. ASCII in, ASCII out.
class TextTable {
 public:
  enum class Align : char { left = 'l', right = 'r' };
  /// `aligns`: one letter a column, 'l' or 'r'. Rows may be shorter than that, not longer.
  explicit TextTable(std::string aligns, int indent = 2) : aligns_(std::move(aligns)), indent_(indent) {}

  void row(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::string text() const;

 private:
  std::string aligns_;
  int indent_;
  std::vector<std::vector<std::string>> rows_;
};

/// "1,234,567".
[[nodiscard]] std::string grouped(std::int64_t number);
/// "43.2 %".
[[nodiscard]] std::string percent(double fraction);

}  // namespace sgsim::scenario
