#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::torch_trace {

/// Logs that PyTorch writes with TORCH_TRACE (dedicated_log_torch_trace_*.log): a JSON record a line, payloads indented by a
/// tab. The AOT, Inductor and export graphs in them are read.
[[nodiscard]] Format format();

/// Graphs are named "rank 0 [0/1] aot_forward_graph"; where forward and backward graphs are there, one joined "rank 0 training
/// step" comes first. A record that is no JSON and a graph that cannot be read (symbolic
/// sizes) are dropped and counted. Throws InputError when the log has records and no graph at all.
[[nodiscard]] ImportedGraphs parse(std::string_view text, const std::string& file);

}  // namespace sgsim::import::torch_trace
