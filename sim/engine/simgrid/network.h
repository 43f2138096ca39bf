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

/// The cluster's fabric: links with max-min sharing, and flows over them. Its clock only moves forward, when told.
class Network {
 public:
  Network() = default;
  virtual ~Network() = default;
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// A set of flows that start together. Before the first start.
  virtual std::uint32_t add_channel(std::span<const FlowPath> paths) = 0;

  [[nodiscard]] virtual double now() const = 0;
  /// Starts the channel's flows at now(): `bytes` a rank, `seconds` if nothing but its own cap limits it.
  virtual void start(std::uint32_t channel, double bytes, double seconds) = 0;
  /// Caps a running channel's flows at 1 / factor of their own rate, from now() on.
  virtual void slow_down(std::uint32_t channel, double factor) = 0;

  static constexpr double kNever = std::numeric_limits<double>::infinity();
  /// When the next flow ends if nothing changes; kNever if none runs.
  [[nodiscard]] virtual double next_end() = 0;
  /// Moves the clock to `time`, at most next_end() for the caller to see each end in its time.
  virtual void advance(double time) = 0;
  /// Channels whose last flow has ended since the last call.
  [[nodiscard]] virtual std::vector<std::uint32_t> take_ended() = 0;

  /// The network model's version and options as set, for the report.
  [[nodiscard]] virtual std::vector<std::string> settings() const = 0;
};

/// The fabric in SimGrid. One a process: SimGrid's engine is a singleton.
///
/// Latencies are the caller's: links have none here, so that sharing is plain max-min, not weighted by round-trip time.
/// Leaf trunks are left out where they cannot bind (no oversubscription: every flow also passes a NIC of that leaf).
///
/// SimGrid brings thirty libraries whose loading takes longer than a folded simulation by the fast engine, so it lives in
/// a module, lib/sgsim/sgsim_simgrid.so beside bin/, that is loaded here. Throws EnvironmentError if it cannot be.
[[nodiscard]] std::unique_ptr<Network> load_network(const cluster::Cluster& cluster);

}  // namespace sgsim::engine
