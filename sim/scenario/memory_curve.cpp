#include "sim/scenario/memory_curve.h"

#include <algorithm>

namespace sgsim::scenario {
namespace {

Bytes sum(const MemoryAt& at) {
  Bytes total;
  for (const Bytes bytes : at.by_class) total += bytes;
  return total;
}

}  // namespace

std::vector<MemoryAt> memory_curve(const Simulation& simulation, const lower::Memory& memory, std::uint32_t rank) {
  const lower::Program& program = simulation.workload.programs.at(simulation.workload.ranks.at(rank).program.value);
  std::vector<Seconds> ends(program.tasks.size());
  bool recorded = false;
  for (const timeline::Span& span : simulation.timeline.spans) {
    if (span.rank != rank) continue;
    recorded = true;
    ends.at(span.task) = span.end;
  }
  std::vector<MemoryAt> curve;
  if (!recorded) return curve;
  Seconds last;
  for (const lower::MemoryPoint& point : memory.curve) {
    last = std::max(last, ends.at(point.task));
    MemoryAt at{.time = last, .by_class = {}, .task = point.task};
    std::copy(std::begin(point.by_class), std::end(point.by_class), at.by_class.begin());
    curve.push_back(at);
  }
  return curve;
}

std::vector<MemoryAt> thinned(const std::vector<MemoryAt>& curve, std::size_t most) {
  if (curve.size() <= most || most == 0) return curve;
  std::vector<MemoryAt> kept;
  for (std::size_t stretch = 0; stretch < most; ++stretch) {
    const auto first = curve.begin() + static_cast<std::ptrdiff_t>(stretch * curve.size() / most);
    const auto last = curve.begin() + static_cast<std::ptrdiff_t>((stretch + 1) * curve.size() / most);
    kept.push_back(*std::max_element(first, last, [](const MemoryAt& a, const MemoryAt& b) { return sum(a) < sum(b); }));
  }
  return kept;
}

}  // namespace sgsim::scenario
