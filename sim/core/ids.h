#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <limits>

namespace sgsim {

/// A typed index into one table; ids of different tables do not mix.
template <class Tag>
struct Id {
  std::uint32_t value = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] constexpr bool valid() const {
    return value != std::numeric_limits<std::uint32_t>::max();
  }
  constexpr auto operator<=>(const Id&) const = default;
};

using NodeId = Id<struct NodeTag>;        // operator graph node
using KernelId = Id<struct KernelTag>;    // compiled graph kernel
using ModuleId = Id<struct ModuleTag>;    // module path table entry
using ProgramId = Id<struct ProgramTag>;  // workload program (one a rank class)
using GroupId = Id<struct GroupTag>;      // communicator of a workload
using RankId = Id<struct RankTag>;        // global rank
using GpuId = Id<struct GpuTag>;          // GPU of a cluster: node * gpus_per_node + local index
using LinkId = Id<struct LinkTag>;        // directed link of a cluster
using StreamId = Id<struct StreamTag>;    // stream of a program
using NameId = Id<struct NameTag>;        // label of a task

}  // namespace sgsim

template <class Tag>
struct std::hash<sgsim::Id<Tag>> {
  std::size_t operator()(sgsim::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};
