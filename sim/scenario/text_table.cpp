#include "sim/scenario/text_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/error.h"

namespace sgsim::scenario {

void TextTable::row(std::vector<std::string> cells) {
  SGSIM_CHECK(cells.size() <= aligns_.size(), "a row has more cells than the table has columns");
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> width(aligns_.size());
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line(static_cast<std::size_t>(indent_), ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) line += "  ";
      line += aligns_[c] == 'r' ? fmt::format("{:>{}}", row[c], width[c]) : fmt::format("{:<{}}", row[c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number < 0 ? -number : number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return number < 0 ? "-" + digits : digits;
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", 100.0 * fraction); }

}  // namespace sgsim::scenario
