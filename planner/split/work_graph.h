#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/quantity.h"

namespace sgsim::split {

/// A graph to be cut: operators or groups of them, in topological order, with what each takes on one GPU.
struct WorkNode {
  std::string name;
  Seconds time;      // forward and backward, one micro-batch
  Bytes memory;      // parameters, their state and what is kept for the backward pass
  Bytes parameters = {};  // what FSDP gathers for it
  bool operator==(const WorkNode&) const = default;
};
/// `from` makes its value number `value`, which `to` reads. A value counts once in a cut, however many read it; its edges have equal bytes.
struct WorkEdge {
  std::uint32_t from = 0, to = 0;  // from < to
  Bytes bytes;
  std::uint32_t value = 0;
  bool operator==(const WorkEdge&) const = default;
};
struct WorkGraph {
  std::vector<WorkNode> nodes;
  std::vector<WorkEdge> edges;
};

/// What a cut is sent over: NVLink within a node, the fabric between nodes.
struct Link {
  BytesPerSecond bandwidth;
  Seconds latency;
  [[nodiscard]] Seconds time(Bytes bytes) const { return bytes.value() > 0.0 ? latency + bytes / bandwidth : Seconds(); }
  bool operator==(const Link&) const = default;
};

/// A set of nodes that holds every predecessor of its members: what may run before a cut.
using Prefix = std::vector<bool>;

/// Bytes that cross from `before` to the rest: each value once, with its largest edge.
[[nodiscard]] Bytes crossing(const WorkGraph& graph, const Prefix& before);
/// No edge leads back into the set.
[[nodiscard]] bool is_prefix(const WorkGraph& graph, const Prefix& set);

/// The graph without loose ends, each of which doubles the number of prefixes and decides nothing: a node that nobody reads (a batch norm whose result is
/// computed in its readers) goes to the last node that it reads; if it takes at most `small` of all time, one that reads nothing goes to its
/// first reader, one that does neither to the node before it, and one that only loose ends read to what it reads. The first and the last node stay.
[[nodiscard]] WorkGraph without_loose_ends(const WorkGraph& graph, double small);

}  // namespace sgsim::split
