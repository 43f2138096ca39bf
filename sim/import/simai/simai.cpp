#include "sim/import/simai/simai.h"

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/simai/lines.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::simai {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30;

bool is_list(std::string_view text) {
  std::string_view line;
  return take_line(text, line) && (line.starts_with("comm_type,") || (line.starts_with("[rank") && take_line(text, line) && line.starts_with("comm_type,")));
}

/// A policy in capitals, then a line with one number.
bool is_workload(std::string_view text) {
  std::string_view line;
  if (!take_line(text, line) || line.size() > 4096) return false;
  const auto policy = columns(line);
  if (policy.empty() || policy[0].find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != std::string_view::npos) return false;
  if (!take_line(text, line)) return false;
  const auto count = columns(line);
  return count.size() == 1 && whole_number(count[0]).has_value();
}

Imported read(const std::vector<std::string>& paths, const Progress&) {
  if (paths.size() != 1) {
    throw InputError({.file = paths.at(1), .where = "", .found = fmt::format("{} workloads in one import", paths.size()), .expected = "one file", .hint = "import each by itself"});
  }
  Diagnostics packing;
  const std::string text = read_whole(paths.front(), "simai", packing, kLargest);
  trace::ImportedRun run = is_list(text) ? parse_list(text, paths.front()) : parse_workload(text, paths.front());
  run.report.merge(packing);
  return run;
}

}  // namespace

Format format() {
  return {.name = "simai",
          .description = "workload text of SimAI and ASTRA-sim 1, and AICB's communication lists",
          .confidence = [](const FileHead& head) { return is_list(head.bytes) ? 90 : is_workload(head.bytes) ? 70 : 0; },
          .read = read,
          .one_by_one = true};
}

}  // namespace sgsim::import::simai
