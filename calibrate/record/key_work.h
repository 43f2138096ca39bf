#pragma once

#include <optional>

#include "calibrate/record/key.h"
#include "sim/graph/collective.h"
#include "sim/graph/work.h"

namespace sgsim::calibrate {

/// The simulator's word for what a point measures; nothing for groups that are no kernel's work (launch costs, host copies,
/// collectives) and for unfused attention. Bytes of bandwidth-bound kernels: `bytes_moved` where it is known, else the key's.
[[nodiscard]] std::optional<graph::Work> work_of(const Key& key, std::optional<double> bytes_moved = std::nullopt);

[[nodiscard]] graph::CollectiveOp collective_op(const std::string& name);
[[nodiscard]] graph::MemoryKind memory_kind(const std::string& name);
[[nodiscard]] graph::DType dtype_of(const Key& key);

}  // namespace sgsim::calibrate
