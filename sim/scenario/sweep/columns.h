#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sgsim::scenario {

/// Figures of a report that have a column of their own, named as in the report (result.schema.json).
inline constexpr const char* kFigureColumns[] = {
    "step_time_s",    "tokens_per_s", "samples_per_s", "mfu",          "hfu",             "compute_s",           "exposed_comm_s",
    "overlapped_comm_s", "bubble_s",  "host_bound_s",  "other_idle_s", "peak_mem_bytes",  "reserved_mem_bytes",  "ranks",
    "rank_classes",   "wall_s"};

/// The columns' values in a report; nothing in each for an empty report.
[[nodiscard]] std::vector<std::optional<double>> figures_of(const std::string& report);

}  // namespace sgsim::scenario
