#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/lower/data_parallel/optimizer.h"
#include "sim/lower/program/actions.h"
#include "sim/lower/schedule/partition.h"

namespace sgsim::lower {

/// One GPU's way to host memory, and its share of the host.
struct HostLink {
  BytesPerSecond rate;           // of a copy from or to pinned memory
  Seconds latency;
  double updates = 0.0;          // parameters a second that the host updates for one GPU (Adam)
};

/// Share of a PCIe link's rate that a copy reaches: nvbandwidth on a server of 8 A100-SXM4-80GB, 24.8 GB/s host to device for
/// each GPU of 31.5 GB/s (forums.developer.nvidia.com, topic 352186); 55.6 of 63 GB/s on an H100 (NVIDIA's blog on NVbandwidth)
/// would be 0.88: the lower is taken for all.
inline constexpr double kHostCopyEfficiency = 0.787;

/// Parameters a second that one server updates with DeepSpeed's CPU-Adam: 10 billion in 2.57 s on a DGX-2 (two Xeon Platinum
/// 8168; Ren et al. 2021, ZeRO-Offload, table 4). The update is bound by host memory (about 30 bytes a parameter): newer servers
/// are faster by the ratio of their memory rates, which cluster files do not state, so that this is an upper bound of the time.
inline constexpr double kHostUpdates = 10e9 / 2.57;

[[nodiscard]] HostLink host_link_of(const cluster::Node& node);

/// Seconds for `bytes` over the link.
[[nodiscard]] Seconds host_copy_time(const HostLink& link, Bytes bytes);

/// Optimizer state in host memory: gradients are copied to the host, updated there, parameters copied back, one after the
/// other (Megatron-LM --optimizer-cpu-offload without its overlap; DeepSpeed's offload_optimizer). The moments and, where the
/// parameters are of a narrower type, their master copy never come to the GPU.
[[nodiscard]] std::vector<Action> host_optimizer_actions(const OptimizerShare& share, Optimizer optimizer, const HostLink& link, Token gradients, Token parameters);

/// A layer whose activations go to the host between the passes.
struct OffloadedPosition {
  std::size_t position = 0;      // of the chunk
  Bytes saved;
  std::string label = {};        // of the position
  struct Tokens {
    Token out, back;
  } tokens = {};
};
/// All layers of a chunk but the last (whose backward pass comes first).
[[nodiscard]] std::vector<OffloadedPosition> offloaded_positions(const SegmentedModel& model, const Chunk& chunk);

/// Adds the copies: a layer's activations leave once it has run and are free when the next layer has run and the copy is over; they are
/// fetched when the next layer's backward pass begins (double buffering, as TransformerEngine's CPU offload).
void add_activation_offload(ChunkActions& actions, std::size_t positions, const std::vector<OffloadedPosition>& offloaded, const HostLink& link);

}  // namespace sgsim::lower
