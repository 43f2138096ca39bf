#include "sim/lower/program/power.h"

#include <algorithm>

namespace sgsim::lower {
namespace {

struct Sums {
  cost::PowerLoad load;
  Seconds device, host;
};

void add(Sums& sums, const std::vector<Launch>& launches, const cost::PowerModel& power) {
  for (const Launch& launch : launches) {
    if (launch.kernel->is_communication) continue;
    sums.load.add(power, work_of(launch), launch.estimate.time);
    sums.device += launch.cost.device;
    sums.host += launch.cost.host;
  }
}

void stretch(std::vector<Launch>& launches, const cost::PowerModel& power, double clock) {
  for (Launch& launch : launches) {
    if (launch.kernel->is_communication) continue;
    const Seconds more = launch.estimate.time * (cost::slowdown(power, work_of(launch), clock) - 1.0);
    launch.estimate.time += more;
    launch.cost.device += more;
    launch.cost.issue_to_end += more;
  }
}

}  // namespace

void apply_power_limit(std::vector<SegmentLaunches>& segments, const SegmentedModel& model, const cost::PowerModel& power, const OptimizerLoad& optimizer) {
  Sums sums;
  for (const std::uint32_t index : model.order) {
    for (const auto* list : {&segments[index].forward, &segments[index].recompute, &segments[index].backward}) add(sums, *list, power);
  }
  sums.load.add(power, optimizer.work, optimizer.time);
  sums.load.step = std::max(sums.device, sums.host) + optimizer.time;
  const double clock = cost::clock_share(power, sums.load);
  if (clock >= 1.0) return;
  for (SegmentLaunches& segment : segments) {
    for (auto* list : {&segment.forward, &segment.recompute, &segment.backward, &segment.input_gradients, &segment.weight_gradients}) stretch(*list, power, clock);
  }
}

}  // namespace sgsim::lower
