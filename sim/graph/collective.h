#pragma once

#include <cstdint>

namespace sgsim::graph {

/// Operations of a communicator, as NCCL has them. Sizes follow nccl-tests: the full buffer (all-gather: the gathered
/// size; reduce-scatter: the input size; all-to-all: one rank's whole send buffer; send_receive: the message).
enum class CollectiveOp : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_receive };

}  // namespace sgsim::graph
