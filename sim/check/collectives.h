#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/check/row.h"

namespace sgsim::check {

/// Rows of collectives (docs/formats/record.md): operation, nccl-tests size, ranks, nodes, time. Each becomes a Row whose
/// `file` says what it belongs to: "collectives A100, one node", "collectives across nodes", "collectives across nodes, EFA"
/// (Amazon's transport, for which there are no constants of its own). Throws InputError on a broken file.
[[nodiscard]] std::vector<Row> predict_collectives(std::string_view text, const std::string& path, const std::map<std::string, std::string>& profiles);

}  // namespace sgsim::check
