#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/import/chakra/document.h"
#include "sim/trace/imported_run.h"

namespace sgsim::import::chakra {

/// What `sgsim export --to chakra` writes beyond Chakra's schema, as attributes: runtime calls, memsets, steps, links and kinds.

/// Rank, world size, GPU and host of the file.
void read_header(const std::map<std::string, Value, std::less<>>& attributes, trace::RankTrace& rank);

[[nodiscard]] bool is_call(const Node& node);
/// Kind, correlation and event of a runtime call.
[[nodiscard]] trace::HostCall call_of(const Node& node);
[[nodiscard]] trace::HostKind kind_of(const Node& node);
/// The number of a step that this node marks.
[[nodiscard]] std::optional<std::int64_t> step_of(const Node& node);

[[nodiscard]] bool is_set(const Node& node);
/// Correlation, CUDA graph node, grid and flops of a device operation.
void read_own(const Node& node, trace::DeviceOp& op);
[[nodiscard]] std::optional<trace::CommKind> comm_kind_of(const Node& node);

/// Launches and operators of calls and device operations, from the control dependencies between them.
void link(trace::RankTrace& rank);

}  // namespace sgsim::import::chakra
