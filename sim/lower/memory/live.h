#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/lower/lower.h"

namespace sgsim::lower {

struct SegmentedModel;
struct TaskCosts;

/// What holds memory: a kind of thing and the place in the model that it belongs to.
struct LiveItem {
  MemoryClass memory_class = MemoryClass::parameters;
  std::string what;               // "saved activations"
  std::string of;                 // "layer 12", "layer 0 to layer 3", "root"; empty: of no place
  std::int32_t micro_batch = -1;  // of activations; -1: of none
  Bytes bytes;
  bool operator==(const LiveItem&) const = default;
};

/// All that one rank takes and gives back over the step, by item: what the curve of `Memory` sums up.
struct MemoryLog {
  struct Change {
    std::uint32_t task = 0, item = 0;
    double delta = 0.0;           // bytes
    bool transient = false;       // taken and given back at once
  };
  std::vector<LiveItem> items;    // `bytes`: from the step's beginning on
  std::vector<Change> changes;    // in program order
};

/// Of a rank of pipeline stage `stage`, in the tasks of the program that lower() makes without merging (LowerOptions). What a rank
/// keeps of parameters, gradients and optimizer state is divided among the places in the model by their elements: exact where
/// each rank keeps all of them, a mean where a flat list is divided. The plan must be legal.
[[nodiscard]] MemoryLog memory_log(const Request& request, int stage);
/// The same from where the model is segmented and the costs are known.
[[nodiscard]] MemoryLog memory_log(const SegmentedModel& model, const plan::Plan& plan, const Training& training, const cluster::Cluster& cluster, const TaskCosts& costs, int stage);

/// What is live at a point of Memory::curve (or at Memory::at_peak), largest first. The runtime's own memory outside the allocator
/// is not in it.
[[nodiscard]] std::vector<LiveItem> live_at(const MemoryLog& log, const MemoryPoint& point);

}  // namespace sgsim::lower
