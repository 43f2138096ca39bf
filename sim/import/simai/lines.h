#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/imported_run.h"

namespace sgsim::import::simai {

/// Takes the next line off the text, without its end; false at the end.
[[nodiscard]] bool take_line(std::string_view& text, std::string_view& line);
/// Parts between spaces and tabs, empty ones left out.
[[nodiscard]] std::vector<std::string_view> columns(std::string_view line);
/// Parts between commas, empty ones kept.
[[nodiscard]] std::vector<std::string_view> cells(std::string_view line);
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text);
[[nodiscard]] std::optional<double> number(std::string_view text);

/// "ALLREDUCE", "all_gather", "ALLTOALL" -> its kind; nothing for what is no collective.
[[nodiscard]] std::optional<trace::CommKind> collective_kind(std::string_view name);

/// Puts operations into a run of one rank: streams and groups by name, a sequence number in each group.
class RunBuilder {
 public:
  RunBuilder(std::string format, const std::string& file);

  /// Index of the device operation.
  std::uint32_t compute(std::string_view name, trace::Nanoseconds duration);
  std::uint32_t communication(std::string_view name, trace::CommKind kind, std::string_view group, std::uint32_t group_size, double bytes, trace::Nanoseconds duration);
  void edge(std::uint32_t from, std::uint32_t to);
  [[nodiscard]] Diagnostics& report() { return run_.report; }
  [[nodiscard]] trace::ImportedRun finish() { return std::move(run_); }

 private:
  std::uint32_t stream(const std::string& name);
  std::uint32_t append(std::string_view name, std::uint32_t stream, trace::Nanoseconds duration);

  trace::ImportedRun run_;
  std::map<std::string, std::uint32_t> streams_, groups_, sequences_;
};

}  // namespace sgsim::import::simai
