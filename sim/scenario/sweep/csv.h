#pragma once

#include <string>
#include <vector>

#include "sim/scenario/sweep/store.h"
#include "sim/scenario/sweep/sweep.h"

namespace sgsim::scenario {

/// Writes a line a point, in order: number, the axes' fields, status, reason, the figures of columns.h (RFC 4180). The file
/// appears whole or not at all. Throws EnvironmentError when it cannot be written.
void write_csv(const std::string& path, const Sweep& sweep, ResultStore& store, const std::vector<PointKeys::Key>& keys);

/// "plan.tp=4 plan.pp=2".
[[nodiscard]] std::string settings_text(const std::vector<Setting>& settings);

}  // namespace sgsim::scenario
