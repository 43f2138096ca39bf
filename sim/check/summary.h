#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/check/row.h"

namespace sgsim::check {

/// Errors of a set of rows: means and so on of |predicted / measured - 1|.
struct ErrorSummary {
  int count = 0;
  double mean = 0.0, median = 0.0, worst = 0.0;  // of absolute errors
  double bias = 0.0;                             // mean of signed errors
  std::string worst_id;
};

struct Summary {
  int rows = 0, skipped = 0;
  ErrorSummary time, memory;
  std::map<std::string, int> skip_reasons;
  int pairs = 0, pairs_right = 0;      // pairs of plans of one model whose measured times differ by at least kPairMargin
  int intervals = 0, inside = 0;       // rows whose measured time lies in the 90 % interval
  int fit_both = 0, fit_predicted = 0, fit_measured = 0;  // "does not fit": predicted and true, predicted, true

  [[nodiscard]] double pairs_share() const { return pairs == 0 ? 1.0 : static_cast<double>(pairs_right) / pairs; }
  [[nodiscard]] double coverage() const { return intervals == 0 ? 1.0 : static_cast<double>(inside) / intervals; }
};

/// Runs of one machine differ by 1 to 2 % from clock changes alone: closer pairs have no right order.
inline constexpr double kPairMargin = 0.02;

[[nodiscard]] Summary summarize(const std::vector<const Row*>& rows);
/// By file, in order of first appearance; and all of them.
[[nodiscard]] std::vector<std::pair<std::string, Summary>> summaries_by_file(const std::vector<Row>& rows);
[[nodiscard]] Summary summarize_all(const std::vector<Row>& rows);

}  // namespace sgsim::check
