#include <fmt/format.h>

#include <cmath>

#include "sim/check/report.h"
#include "sim/scenario/text_table.h"

namespace sgsim::check {
namespace {

constexpr double kGiB = 1073741824.0;

std::string seconds_text(const std::optional<double>& s) {
  if (!s) return "-";
  return *s < 1.0 ? fmt::format("{:.4g} ms", 1e3 * *s) : fmt::format("{:.4g} s", *s);
}
std::string memory_text(const std::optional<double>& bytes) { return bytes ? fmt::format("{:.2f} GiB", *bytes / kGiB) : "-"; }
std::string percent(const std::optional<double>& share) { return share ? fmt::format("{:+.1f} %", 100.0 * *share) : "-"; }
std::string size_percent(int count, double share) { return count == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * share); }

std::string row_line(const Row& row) {
  if (!row.skipped.empty()) return fmt::format("{}: skipped: {}\n", row.id, row.skipped);
  std::string line = fmt::format("{}: predicted {} ({} to {}), measured {}, {}; {}", row.id, seconds_text(row.predicted_s), seconds_text(row.low_s),
                                 seconds_text(row.high_s), seconds_text(row.measured_s), percent(row.error()), row.dominates);
  if (row.measured_memory) {
    line += fmt::format("; {} {}, measured {}, {}", row.memory_kind == MemoryKind::reserved ? "reserved" : "allocated", memory_text(row.predicted_memory),
                        memory_text(row.measured_memory), percent(row.memory_error()));
  }
  if (row.measured_fits && !*row.measured_fits) line += fmt::format("; ran out of memory, predicted to {}", row.predicted_fits.value_or(true) ? "fit" : "run out");
  return line + "\n";
}

std::string summary_line(const std::string& name, const Summary& s) {
  return fmt::format("{:<30} {:>5} {:>5} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>8}\n", name, s.rows, s.skipped, size_percent(s.time.count, s.time.mean),
                     size_percent(s.time.count, s.time.median), s.time.count == 0 ? "-" : fmt::format("{:+.1f} %", 100.0 * s.time.bias),
                     size_percent(s.time.count, s.time.worst), size_percent(s.intervals, s.coverage()), size_percent(s.pairs, s.pairs_share()),
                     size_percent(s.memory.count, s.memory.mean));
}

std::string fits_line(const Summary& s) {
  if (s.fit_measured == 0 && s.fit_predicted == 0) return {};
  const auto share = [](int part, int whole) { return whole == 0 ? std::string("-") : fmt::format("{:.0f} %", 100.0 * part / whole); };
  return fmt::format("out of memory: {} measured, {} predicted, precision {}, recall {}\n", s.fit_measured, s.fit_predicted, share(s.fit_both, s.fit_predicted),
                     share(s.fit_both, s.fit_measured));
}

}  // namespace

std::string text_report(const Report& report, bool every_row) {
  std::string text;
  if (every_row) {
    for (const Row& row : report.rows) text += row_line(row);
    text += "\n";
  }
  text += fmt::format("{:<30} {:>5} {:>5} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7} {:>8}\n", "records", "rows", "skip", "mean", "median", "bias", "worst", "in 90%", "pairs", "memory");
  const auto by_file = summaries_by_file(report.rows);
  for (const auto& [file, summary] : by_file) text += summary_line(file, summary);
  const Summary all = summarize_all(report.rows);
  if (by_file.size() > 1) text += summary_line("all", all);
  text += fits_line(all);
  for (const auto& [file, rows] : report.left_out) text += summary_line("without " + file, summarize_all(rows));
  for (const Breach& breach : report.breaches) {
    text += fmt::format("{}: {}{}: {}\n", breach.blocks ? "BROKEN" : "report", breach.file, breach.id.empty() ? "" : " " + breach.id, breach.what);
  }
  return text;
}

}  // namespace sgsim::check
