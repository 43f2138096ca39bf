#pragma once

#include <cstdint>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/lower/segment/cut.h"

namespace sgsim::lower::segment {

/// The layers of a graph and which of them are equal: the same operators on the same shapes in the same order, wired
/// alike, with the same parameters. Names do not matter.
struct Layers {
  std::vector<std::uint32_t> shape;                    // of each position: equal layers have equal numbers
  std::vector<std::vector<std::uint32_t>> nodes;       // of each position: its calls, in graph order
  std::vector<std::vector<graph::ValueRef>> external;  // of each position: what its calls read from outside, by first use
  bool neighbours_only = true;  // each layer reads only its neighbours, "before" and "after", and shares no parameter
};

/// Equality by a 64-bit hash over operators, types, constants and wiring (the chance that two of 10^4 different layers
/// collide is under 10^-11).
[[nodiscard]] Layers find_equal_layers(const graph::OperatorGraph& graph, const Cut& cut);

/// A layer that stands for the layers first..last of the chain, which it begins and ends: first and last are equal.
struct Kept {
  std::uint32_t first = 0, last = 0;
};

/// The shortest chain, by greedy choice from the front, that still has every distinct layer (`with_neighbours` false) or
/// every distinct layer between every distinct pair of neighbours (true). Positions 0 and count-1 are always kept.
[[nodiscard]] std::vector<Kept> shorten(const Layers& layers, bool with_neighbours);

}  // namespace sgsim::lower::segment
