#pragma once

#include <string>
#include <vector>

#include "sim/check/row.h"
#include "sim/check/suite.h"
#include "sim/check/summary.h"

namespace sgsim::check {

/// A finished check.
struct Report {
  std::vector<Row> rows;
  std::vector<Breach> breaches;       // of the suite's tolerances
  std::vector<std::pair<std::string, std::vector<Row>>> left_out;  // --leave-out: file, its rows predicted without it
  std::string title;
};

/// A line a row, then a table by file. `every_row`: rows that are skipped or inside their tolerance too.
[[nodiscard]] std::string text_report(const Report& report, bool every_row);
/// {"rows": [...], "summary": {...}} (docs/check.md).
[[nodiscard]] std::string json_report(const Report& report);
/// One test case a row; a broken tolerance is a failure.
[[nodiscard]] std::string junit_report(const Report& report);
[[nodiscard]] std::string html_report(const Report& report);
/// docs/accuracy.md: tables, and plots as SVG files of `folder` beside the page.
[[nodiscard]] std::string markdown_report(const Report& report, const std::string& plots);
/// A file of records as part of a file name.
[[nodiscard]] std::string plot_name(const std::string& file);
/// Predicted against measured, log-log, one file of records.
[[nodiscard]] std::string scatter_svg(const std::vector<Row>& rows, const std::string& file);

}  // namespace sgsim::check
