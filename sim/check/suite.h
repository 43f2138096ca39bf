#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/check/row.h"
#include "sim/check/summary.h"

namespace sgsim::check {

/// What a set of rows must keep to. Shares of one: 0.05 is 5 %.
struct Tolerances {
  std::optional<double> mean, median, worst;           // step time, absolute errors
  std::optional<double> memory_mean, memory_worst;
  std::optional<double> pairs;                          // least share of pairs ordered rightly
  std::optional<double> coverage_low;                   // least share of rows inside their 90 % interval
  std::optional<double> skipped;                        // largest share of rows without a prediction
  std::optional<double> got_worse;                      // a row's absolute error above its baseline's by this much
};

struct SuiteEntry {
  std::string file;         // of records, as Row::file; "*": every file without an entry of its own
  Tolerances tolerances;
  bool report_only = false; // broken tolerances are printed and do not fail the check
};

/// A suite file (docs/check.md): which tolerances hold for which records, and what the rows' errors were when the suite was
/// last accepted.
struct Suite {
  std::string file;
  std::vector<SuiteEntry> entries;
  std::map<std::string, double> baseline;  // row id -> error then
};
[[nodiscard]] Suite read_suite(const std::string& path);
[[nodiscard]] Suite suite_from_text(std::string_view text, const std::string& path);

struct Breach {
  std::string file, id;   // id: the row at fault; empty where the whole file is
  std::string what;       // "mean absolute error 7.1 %, at most 5.0 %"
  bool blocks = true;
};
/// `asked_for`: whether a row of that id was to be checked at all (all, where it is empty). A row of the baseline that was
/// to be checked and is not compared now is a breach, whose file is kBaselineFile where there is no such row any more.
[[nodiscard]] std::vector<Breach> breaches_of(const Suite& suite, const std::vector<Row>& rows, const std::function<bool(const std::string&)>& asked_for = {});
inline constexpr const char* kBaselineFile = "baseline";

/// Throws InputError where an entry names none of `files`, or a row of the baseline stands for several of `rows`.
void check_names(const Suite& suite, const std::set<std::string>& files, const std::vector<Row>& rows);

}  // namespace sgsim::check
