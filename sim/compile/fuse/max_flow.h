#pragma once

#include <cstdint>
#include <vector>

namespace sgsim::compile::fuse {

/// Maximum flow and minimum cut of a directed network (Dinic). Capacities are whole numbers; `kUnlimited` never saturates.
class FlowNetwork {
 public:
  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

  explicit FlowNetwork(std::uint32_t vertices) : head_(vertices, kEnd) {}
  void add_edge(std::uint32_t from, std::uint32_t to, std::int64_t capacity);
  /// Runs to the maximum and returns it.
  std::int64_t maximise(std::uint32_t source, std::uint32_t sink);
  /// After maximise: vertices on the sink's side of the minimum cut that lies nearest to the sink.
  [[nodiscard]] std::vector<char> sink_side(std::uint32_t sink) const;

 private:
  static constexpr std::uint32_t kEnd = 0xffffffffU;
  struct Edge {
    std::uint32_t to, next;
    std::int64_t left;
  };

  bool layer(std::uint32_t source, std::uint32_t sink);
  std::int64_t augment(std::uint32_t source, std::uint32_t sink);

  std::vector<std::uint32_t> head_, current_, level_, queue_, path_;
  std::vector<Edge> edges_;  // edge e and its reverse e ^ 1
};

}  // namespace sgsim::compile::fuse
