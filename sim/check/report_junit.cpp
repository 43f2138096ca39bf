#include <fmt/format.h>

#include "sim/check/report.h"

namespace sgsim::check {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 && c != '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string failures_of(const Report& report, const std::string& file, const std::string& id) {
  std::string text;
  for (const Breach& breach : report.breaches) {
    if (breach.blocks && breach.file == file && breach.id == id) text += fmt::format("<failure message=\"{}\"/>", escaped(breach.what));
  }
  return text;
}

}  // namespace

std::string junit_report(const Report& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"sgsim check\">\n";
  for (const auto& [file, summary] : summaries_by_file(report.rows)) {
    std::string cases;
    int failures = 0, count = 1;
    const auto add = [&](const std::string& name, const std::string& inside) {
      failures += inside.find("<failure") != std::string::npos ? 1 : 0;
      cases += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", escaped(file), escaped(name), inside);
    };
    add("all rows", failures_of(report, file, ""));
    for (const Row& row : report.rows) {
      if (row.file != file) continue;
      ++count;
      if (!row.skipped.empty()) {
        add(row.id, fmt::format("<skipped message=\"{}\"/>", escaped(row.skipped)));
        continue;
      }
      std::string inside = failures_of(report, file, row.id);
      if (const auto error = row.error()) inside += fmt::format("<system-out>predicted {:.6g} s, measured {:.6g} s, error {:+.4f}</system-out>", *row.predicted_s, *row.measured_s, *error);
      add(row.id, inside);
    }
    text += fmt::format("  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n", escaped(file), count, failures, summary.skipped, cases);
  }
  return text + "</testsuites>\n";
}

}  // namespace sgsim::check
