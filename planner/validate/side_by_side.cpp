#include "planner/validate/side_by_side.h"

#include <algorithm>
#include <map>

#include "planner/validate/shares.h"
#include "sim/cost/cost.h"
#include "sim/cost/profile.h"

namespace sgsim::validate {
namespace {

/// Thread blocks of NCCL 2.28.9 on H200s of one node, one an SM: from its tuning log (docs/records/h200-2026-11-29).
constexpr int kNcclBlocks = 24;

/// The bound of products alone, on so many SMs.
cost::Profile bound_on(const cost::Profile& profile, int sms) {
  cost::Profile p = profile;
  p.matmul_tables.clear();
  const double share = static_cast<double>(sms) / p.gpu.sms.value;
  for (auto& [dtype, peak] : p.gpu.peak) peak.value = peak.value * share;
  p.gpu.sms.value = sms;
  return p;
}

class Products {
 public:
  explicit Products(const cost::Profile& profile) : all_(bound_on(profile, profile.gpu.sms.value)), rest_(bound_on(profile, std::max(1, profile.gpu.sms.value - kNcclBlocks))) {}
  double longer(const graph::Work& work) const {
    Diagnostics ignored;
    return cost::kernel_time(rest_, work, ignored).time / cost::kernel_time(all_, work, ignored).time;
  }

 private:
  cost::Profile all_, rest_;
};

double factor(const cost::Profile& profile, const char* kind) {
  const auto found = profile.factors.find(std::string("interference.intra_node.compute.") + kind);
  return found != profile.factors.end() ? found->second.value : cost::interference(profile, false).compute_slowdown;
}

double slowdown(const cost::Profile& profile, const Products& products, const graph::Work& work) {
  if (std::holds_alternative<graph::MemoryBound>(work)) return factor(profile, "memory_bound");
  if (!std::holds_alternative<graph::Matmul>(work)) return factor(profile, "attention");
  const graph::Work measured_with = graph::Matmul{.m = 8192, .n = 8192, .k = 8192, .b_transposed = true};
  return std::max(1.0, factor(profile, "matmul") * products.longer(work) / products.longer(measured_with));
}

}  // namespace

void take_turns(const Prepared& prepared, lower::Workload& workload) {
  std::vector<std::size_t> first_rank(workload.programs.size(), workload.ranks.size());
  for (std::size_t r = workload.ranks.size(); r-- > 0;) first_rank[workload.ranks[r].program.value] = r;
  std::vector<std::vector<Interval>> beside(workload.programs.size());
  const auto of = [&](const timeline::Span& s) -> const lower::Task* {
    const std::uint32_t index = workload.ranks[s.rank].program.value;
    return first_rank[index] == s.rank ? &workload.programs[index].tasks[s.task] : nullptr;
  };
  for (const timeline::Span& s : prepared.simulation.timeline.spans) {
    const lower::Task* task = of(s);
    if (task != nullptr && task->kind == lower::TaskKind::compute && task->stream != 0) beside[workload.ranks[s.rank].program.value].emplace_back(s.start.value(), s.end.value());
  }
  for (auto& b : beside) b = merged(std::move(b));
  for (const timeline::Span& s : prepared.simulation.timeline.spans) {
    const lower::Task* task = of(s);
    if (task == nullptr || task->kind != lower::TaskKind::compute || task->stream != 0) continue;
    const std::uint32_t index = workload.ranks[s.rank].program.value;
    const Seconds more(length(intersection({{s.start.value(), s.end.value()}}, beside[index])));
    lower::Task& mine = workload.programs[index].tasks[s.task];
    mine.device += more;
    mine.issue_to_end += more;
  }
}

double slowdown_beside_transfer(const cost::Profile& profile, const graph::Work& work) { return slowdown(profile, Products(profile), work); }

void slow_beside_transfers(const Prepared& prepared, const cost::Profile& profile, lower::Workload& workload) {
  const timeline::Timeline& timeline = prepared.simulation.timeline;
  std::vector<std::vector<Interval>> transfers(workload.ranks.size());
  for (const timeline::Span& s : timeline.spans) {
    if (workload.programs[workload.ranks[s.rank].program.value].tasks[s.task].kind != lower::TaskKind::compute) transfers[s.rank].emplace_back(s.start.value(), s.end.value());
  }
  for (auto& t : transfers) t = merged(std::move(t));
  const Products products(profile);
  std::map<std::uint32_t, double> known;  // by work
  std::vector<double> beside(workload.programs.size(), 0.0), longer(workload.programs.size(), 0.0);  // seconds
  for (const timeline::Span& s : timeline.spans) {
    const std::uint32_t index = workload.ranks[s.rank].program.value;
    const lower::Program& p = workload.programs[index];
    const lower::Task& task = p.tasks[s.task];
    if (task.kind != lower::TaskKind::compute || s.end <= s.start) continue;
    const double share = length(intersection({{s.start.value(), s.end.value()}}, transfers[s.rank])) / (s.end - s.start).value();
    if (share <= 0.0) continue;
    const lower::Segment& segment = p.segments[task.segment];
    for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
      const lower::KernelCost& kernel = p.kernels[segment.first_kernel + k];
      const auto [it, fresh] = known.try_emplace(work_of(kernel), 0.0);
      if (fresh) it->second = slowdown(profile, products, prepared.works[work_of(kernel)]);
      beside[index] += share * kernel.estimate.time.value();
      longer[index] += share * kernel.estimate.time.value() * it->second;
    }
  }
  for (std::size_t i = 0; i < workload.programs.size(); ++i) {
    if (beside[i] > 0.0) workload.programs[i].compute_slowdown = longer[i] / beside[i];
  }
}

}  // namespace sgsim::validate
