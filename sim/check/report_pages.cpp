#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/check/report.h"
#include "sim/check/xml_text.h"

namespace sgsim::check {
namespace {

constexpr double kGiB = 1073741824.0;
constexpr std::size_t kWorstShown = 5;

std::string percent(int count, double share) { return count == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * share); }
std::string signed_percent(int count, double share) { return count == 0 ? "-" : fmt::format("{:+.1f} %", 100.0 * share); }

std::vector<std::string> cells_of(const std::string& name, const Summary& s) {
  return {name, std::to_string(s.rows), std::to_string(s.skipped), percent(s.time.count, s.time.mean), percent(s.time.count, s.time.median),
          signed_percent(s.time.count, s.time.bias), percent(s.time.count, s.time.worst), percent(s.intervals, s.coverage()),
          percent(s.pairs, s.pairs_share()), s.memory.count == 0 ? "-" : fmt::format("{} ({})", percent(s.memory.count, s.memory.mean), s.memory.count)};
}

const std::vector<std::string> kHead = {"records", "rows", "skipped", "mean", "median", "bias", "worst", "in the 90 % interval", "pairs ordered rightly", "memory, mean (rows)"};

std::string markdown_line(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string markdown_table(const Report& report) {
  std::string text = markdown_line(kHead);
  text += markdown_line(std::vector<std::string>(kHead.size(), "---"));
  for (const auto& [file, summary] : summaries_by_file(report.rows)) text += markdown_line(cells_of(file, summary));
  return text + markdown_line(cells_of("all", summarize_all(report.rows)));
}

std::vector<const Row*> worst_of(const std::vector<Row>& rows, const std::string& file) {
  std::vector<const Row*> shown;
  for (const Row& row : rows) {
    if (row.file == file && row.error()) shown.push_back(&row);
  }
  std::stable_sort(shown.begin(), shown.end(), [](const Row* a, const Row* b) { return std::abs(*a->error()) > std::abs(*b->error()); });
  if (shown.size() > kWorstShown) shown.resize(kWorstShown);
  return shown;
}

/// Inside a cell of a Markdown table.
std::string cell_text(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '|' ? "\\|" : c == '<' ? "&lt;" : static_cast<unsigned char>(c) < 0x20 ? " " : std::string(1, c);
  return out;
}

std::string markdown_rows(const std::vector<const Row*>& rows) {
  std::string text = "| row | predicted | measured | error | dominated by |\n| --- | --- | --- | --- | --- |\n";
  for (const Row* row : rows) text += fmt::format("| {} | {:.4g} s | {:.4g} s | {:+.1f} % | {} |\n", cell_text(row->id), *row->predicted_s, *row->measured_s, 100.0 * *row->error(), row->dominates);
  return text;
}

std::string left_out_table(const Report& report) {
  if (report.left_out.empty()) return {};
  std::string text = "\n## Without the file itself\n\nPredicted with profiles of which no part was measured in that file's runs (`--leave-out`), then judged by it.\n\n";
  text += markdown_line(kHead) + markdown_line(std::vector<std::string>(kHead.size(), "---"));
  for (const auto& [file, rows] : report.left_out) text += markdown_line(cells_of("without " + file, summarize_all(rows)));
  return text;
}

std::string skips_of(const Summary& s) {
  if (s.skip_reasons.empty()) return {};
  std::string text = "\nSkipped:\n";
  for (const auto& [reason, count] : s.skip_reasons) text += fmt::format("- {} x {}\n", count, cell_text(reason.substr(0, reason.find("; known beginnings: "))));
  return text;
}

std::string html_cells(const std::vector<std::string>& cells, const char* tag) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += fmt::format("<{0}>{1}</{0}>", tag, xml_text(cell));
  return text + "</tr>\n";
}

std::string html_row(const Row& row) {
  const auto seconds = [](const std::optional<double>& s) { return s ? fmt::format("{:.4g}", *s) : std::string("-"); };
  const auto gib = [](const std::optional<double>& b) { return b ? fmt::format("{:.1f}", *b / kGiB) : std::string("-"); };
  const auto share = [](const std::optional<double>& e) { return e ? fmt::format("{:+.1f} %", 100.0 * *e) : std::string("-"); };
  if (!row.skipped.empty()) return fmt::format("<tr class=\"skipped\"><td>{}</td><td>{}</td><td colspan=\"9\">skipped: {}</td></tr>\n", xml_text(row.file), xml_text(row.id), xml_text(row.skipped));
  return html_cells({row.file, row.id, seconds(row.predicted_s), seconds(row.low_s), seconds(row.high_s), seconds(row.measured_s), share(row.error()), gib(row.predicted_memory), gib(row.measured_memory),
                     share(row.memory_error()), row.dominates + "; " + row.plan}, "td");
}

}  // namespace

std::string html_report(const Report& report) {
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>sgsim check</title>\n"
                     "<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse;font-size:13px}td,th{border:1px solid #ccc;padding:2px 6px;text-align:right}"
                     "td:first-child,td:nth-child(2),td:last-child,th:first-child{text-align:left}.skipped{color:#888}.broken{color:#b00}.plots{display:flex;flex-wrap:wrap}</style>\n<h1>sgsim check</h1>\n";
  for (const Breach& breach : report.breaches) text += fmt::format("<p class=\"{}\">{} {}: {}</p>\n", breach.blocks ? "broken" : "report", xml_text(breach.file), xml_text(breach.id), xml_text(breach.what));
  text += "<table>\n" + html_cells(kHead, "th");
  const auto by_file = summaries_by_file(report.rows);
  for (const auto& [file, summary] : by_file) text += html_cells(cells_of(file, summary), "td");
  text += html_cells(cells_of("all", summarize_all(report.rows)), "td") + "</table>\n<div class=\"plots\">\n";
  for (const auto& [file, summary] : by_file) text += scatter_svg(report.rows, file);
  text += "</div>\n<table>\n" + html_cells({"records", "row", "predicted s", "from", "to", "measured s", "error", "memory GiB", "measured GiB", "error", "dominated by"}, "th");
  for (const Row& row : report.rows) text += html_row(row);
  return text + "</table>\n</html>\n";
}

std::string markdown_report(const Report& report, const std::string& plots) {
  std::string text = "# Accuracy\n\nMade by `sgsim check`; do not edit. Errors are predicted / measured - 1 of the step time; mean, median and worst of their sizes, bias with sign. "
                     "Memory: peak, allocated or reserved as the record states it. Pairs: plans of one model on one machine and batch whose measured times differ by 2 % or more. "
                     "What the constants stand on, what is in sample, and why some targets are missed: [check](check.md).\n\n";
  text += markdown_table(report) + left_out_table(report);
  const Summary all = summarize_all(report.rows);
  if (all.fit_measured > 0) {
    text += fmt::format("\nOut of memory: {} runs did, {} are predicted to, {} of them rightly (precision {:.0f} %, recall {:.0f} %).\n", all.fit_measured, all.fit_predicted, all.fit_both,
                        all.fit_predicted == 0 ? 0.0 : 100.0 * all.fit_both / all.fit_predicted, 100.0 * all.fit_both / all.fit_measured);
  }
  for (const auto& [file, summary] : summaries_by_file(report.rows)) {
    text += fmt::format("\n## {}\n\n", file);
    if (summary.time.count > 0) text += fmt::format("![predicted against measured, {0}]({1}/{3}.svg)\n\nFarthest off:\n\n{2}", file, plots, markdown_rows(worst_of(report.rows, file)), plot_name(file));
    text += skips_of(summary);
  }
  return text;
}

}  // namespace sgsim::check
