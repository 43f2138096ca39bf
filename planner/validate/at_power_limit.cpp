#include "planner/validate/at_power_limit.h"

#include <algorithm>

#include "sim/cost/power.h"

namespace sgsim::validate {

std::vector<double> clocks_of(const Prepared& prepared, const cost::Profile& profile) {
  const lower::Workload& workload = prepared.simulation.workload;
  std::vector<double> clocks(workload.ranks.size(), 1.0);
  const auto model = cost::power_model(profile);
  if (!model) return clocks;
  std::vector<cost::PowerLoad> loads(clocks.size());
  for (std::size_t r = 0; r < clocks.size(); ++r) {
    const lower::Program& p = workload.programs[workload.ranks[r].program.value];
    cost::PowerLoad& load = loads[r];
    load.step = prepared.simulation.timeline.step_time;
    for (const lower::Task& t : p.tasks) {
      if (t.kind != lower::TaskKind::compute) continue;
      const lower::Segment& segment = p.segments[t.segment];
      for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
        const lower::KernelCost& kernel = p.kernels[segment.first_kernel + k];
        load.add(*model, prepared.works[work_of(kernel)], kernel.estimate.time);
      }
    }
  }
  for (const timeline::Span& span : prepared.simulation.timeline.spans) {
    if (workload.programs[workload.ranks[span.rank].program.value].tasks[span.task].kind != lower::TaskKind::compute) loads[span.rank].communication += span.end - span.start;
  }
  for (std::size_t r = 0; r < clocks.size(); ++r) clocks[r] = cost::clock_share(*model, loads[r]);
  return clocks;
}

lower::Workload at_clocks(lower::Workload workload, const std::vector<graph::Work>& works, const cost::Profile& profile, const std::vector<double>& clocks) {
  const auto model = cost::power_model(profile);
  if (!model) return workload;
  std::vector<double> of_program(workload.programs.size(), 1.0);
  for (std::size_t r = 0; r < workload.ranks.size(); ++r) {
    double& clock = of_program[workload.ranks[r].program.value];
    clock = std::min(clock, clocks[r]);
  }
  for (std::size_t i = 0; i < workload.programs.size(); ++i) {
    lower::Program& p = workload.programs[i];
    for (lower::Task& t : p.tasks) {
      if (t.kind != lower::TaskKind::compute) continue;
      const lower::Segment& segment = p.segments[t.segment];
      Seconds more;  // of the whole run; the host issues it as before
      for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
        const lower::KernelCost& kernel = p.kernels[segment.first_kernel + k];
        more += kernel.estimate.time * (cost::slowdown(*model, works[work_of(kernel)], of_program[i]) - 1.0);
      }
      t.device += more;
      t.issue_to_end += more;
    }
    for (lower::KernelCost& kernel : p.kernels) kernel.estimate.time *= cost::slowdown(*model, works[work_of(kernel)], of_program[i]);
  }
  return workload;
}

}  // namespace sgsim::validate
