#pragma once

#include <string>
#include <string_view>

#include "sim/import/format.h"

namespace sgsim::import::nccl_topo {

/// NCCL and RCCL topology files (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE: <system>) and graph dumps (NCCL_GRAPH_DUMP_FILE: <graphs>).
[[nodiscard]] Format format();

/// One node from a <system>. The file has no latencies, no GPU memory and, when it is written by hand for a cloud, often no
/// GPUs or NVLinks (NCCL finds those when it runs): what is taken from elsewhere is counted as guessed in the report.
/// A GPU that the simulator has no datasheet of keeps an empty profile and no memory. Throws InputError.
[[nodiscard]] ImportedTopology read_system(std::string_view xml, const std::string& file);

/// The channels that NCCL chose, as facts: "graph 0" -> "ring, 2 channels, 12 GB/s intra, ...", "graph 0 channel 1" -> "gpu 0 3 2 1".
[[nodiscard]] ImportedFacts read_graphs(std::string_view xml, const std::string& file);

}  // namespace sgsim::import::nccl_topo
