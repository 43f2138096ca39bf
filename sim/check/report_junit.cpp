#include <fmt/format.h>

#include "sim/check/report.h"
#include "sim/check/xml_text.h"

namespace sgsim::check {
namespace {

std::string failures_of(const Report& report, const std::string& file, const std::string& id) {
  std::string text;
  for (const Breach& breach : report.breaches) {
    if (breach.blocks && breach.file == file && breach.id == id) text += fmt::format("<failure message=\"{}\"/>", xml_text(breach.what));
  }
  return text;
}

}  // namespace

std::string junit_report(const Report& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sgsim check\">\n";
  for (const auto& [file, summary] : summaries_by_file(report.rows)) {
    std::string cases;
    int failures = 0, skips = 0, count = 1;
    const auto add = [&](const std::string& name, const std::string& inside) {
      failures += inside.find("<failure") != std::string::npos ? 1 : 0;
      skips += inside.starts_with("<skipped") ? 1 : 0;
      cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", xml_text(file), xml_text(name), inside);
    };
    add("all rows", failures_of(report, file, ""));
    for (const Row& row : report.rows) {
      if (row.file != file) continue;
      ++count;
      std::string inside = failures_of(report, file, row.id);
      // A skipped row that the baseline has is a failure, not a skip.
      if (!row.skipped.empty() && inside.empty()) inside = fmt::format("<skipped message=\"{}\"/>", xml_text(row.skipped));
      if (const auto error = row.error()) inside += fmt::format("<system-out>predicted {:.6g} s, measured {:.6g} s, error {:+.4f}</system-out>", *row.predicted_s, *row.measured_s, *error);
      add(row.id, inside);
    }
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n", xml_text(file), count, failures, skips, cases);
  }
  std::string gone;
  int count = 0;
  for (const Breach& breach : report.breaches) {
    if (!breach.blocks || breach.file != kBaselineFile) continue;
    ++count;
    gone += fmt::format("    <testcase classname=\"{}\" name=\"{}\"><failure message=\"{}\"/></testcase>\n", kBaselineFile, xml_text(breach.id), xml_text(breach.what));
  }
  if (count > 0) text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"0\">\n{}  </testsuite>\n", kBaselineFile, count, count, gone);
  return text + "</testsuites>\n";
}

}  // namespace sgsim::check
