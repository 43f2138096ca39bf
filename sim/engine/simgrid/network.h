#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/engine/simgrid/flow_paths.h"

namespace sgsim::engine {

/// The cluster's fabric in SimGrid: links with max-min sharing, and flows over them. Its clock only moves forward, when told.
/// One a process: SimGrid's engine is a singleton.
///
/// Latencies are the caller's: links have none here, so that sharing is plain max-min, not weighted by round-trip time.
/// Leaf trunks are left out where they cannot bind (no oversubscription: every flow also passes a NIC of that leaf).
class Network {
 public:
  explicit Network(const cluster::Cluster& cluster);
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// A set of flows that start together. Before the first start.
  std::uint32_t add_channel(std::span<const FlowPath> paths);

  [[nodiscard]] double now() const;
  /// Starts the channel's flows at now(): `bytes` a rank, `seconds` if nothing but its own cap limits it.
  void start(std::uint32_t channel, double bytes, double seconds);
  /// Caps a running channel's flows at 1 / factor of their own rate, from now() on.
  void slow_down(std::uint32_t channel, double factor);

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// When the next flow ends if nothing changes; kNever if none runs.
  [[nodiscard]] double next_end();
  /// Moves the clock to `time`, at most next_end() for the caller to see each end in its time.
  void advance(double time);
  /// Channels whose last flow has ended since the last call.
  [[nodiscard]] std::vector<std::uint32_t> take_ended();

  /// The network model's options as set, for the report.
  [[nodiscard]] static std::vector<std::string> settings();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sgsim::engine
