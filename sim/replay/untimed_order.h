#pragma once

#include <cstdint>
#include <vector>

#include "sim/trace/imported_run.h"

namespace sgsim::replay {

/// What a rank without start times does, in an order in which everything follows what it waits for, and device operations stand as in the file as far as that allows. Numbers count through
/// device operations, operators, calls.
struct UntimedOrder {
  std::uint32_t ops = 0, calls = 0;                  // where operators and calls begin
  std::vector<std::vector<std::uint32_t>> before;    // by number: what it waits for, by the file's edges
  std::vector<std::uint32_t> order;                  // of the device operations, and of what else lasts or has edges
  [[nodiscard]] trace::Node node(std::uint32_t number) const {
    if (number < ops) return {trace::NodeTable::device_ops, number};
    return number < calls ? trace::Node{trace::NodeTable::ops, number - ops} : trace::Node{trace::NodeTable::calls, number - calls};
  }
};

/// Throws InputError, with a shortest circle, where dependencies go in one. `rank` is of `run`.
[[nodiscard]] UntimedOrder order_of(const trace::ImportedRun& run, const trace::RankTrace& rank);

}  // namespace sgsim::replay
