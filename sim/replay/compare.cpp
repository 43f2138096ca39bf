#include <algorithm>
#include <cmath>

#include "sim/replay/replay.h"
#include "sim/trace/recover.h"

namespace sgsim::replay {
namespace {

double seconds(Nanoseconds t) { return static_cast<double>(t) * 1e-9; }

}  // namespace

Result compare(const trace::ImportedRun& run, const Built& built, const timeline::Timeline& timeline) {
  Result result;
  std::vector<std::vector<const timeline::Span*>> span_of(run.ranks.size());
  for (std::size_t r = 0; r < run.ranks.size(); ++r) span_of[r].assign(built.workload.programs[r].tasks.size(), nullptr);
  for (const timeline::Span& s : timeline.spans) span_of[timeline.representative[s.rank].value][s.task] = &s;

  Nanoseconds end = 0;
  for (const Nanoseconds e : built.end) end = std::max(end, e);
  result.whole = {"all", seconds(end - built.origin), timeline.step_time.value()};

  double distance = 0.0;
  std::uint64_t operations = 0;
  bool have_steps = false;
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    const trace::RankTrace& rank = run.ranks[r];
    const std::vector<StepWindow>& steps = built.notes[r].steps;
    std::vector<double> measured(steps.size(), 0.0), simulated(steps.size(), 0.0);
    for (std::size_t i = 0; i < rank.device_ops.size(); ++i) {
      const std::uint32_t task = built.task_of[r][i];
      if (task == kNoTask || span_of[r][task] == nullptr) continue;
      const trace::DeviceOp& op = rank.device_ops[i];
      const timeline::Span& span = *span_of[r][task];
      const double ended = seconds(trace::end_of(op) - built.origin);
      distance += std::abs(span.end.value() - ended);
      ++operations;
      const std::int32_t step = built.notes[r].tasks[task].step;
      if (step < 0) continue;
      measured[static_cast<std::size_t>(step)] = std::max(measured[static_cast<std::size_t>(step)], ended);
      simulated[static_cast<std::size_t>(step)] = std::max(simulated[static_cast<std::size_t>(step)], span.end.value());
    }
    if (have_steps || steps.empty()) continue;
    have_steps = true;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const double m0 = s == 0 ? 0.0 : measured[s - 1], s0 = s == 0 ? 0.0 : simulated[s - 1];
      result.steps.push_back({"step " + std::to_string(steps[s].number), measured[s] - m0, simulated[s] - s0});
    }
  }
  result.mean_end_error_s = operations == 0 ? 0.0 : distance / static_cast<double>(operations);
  const std::vector<Compared> all = result.steps.empty() ? std::vector{result.whole} : result.steps;
  for (const Compared& c : all) {
    const std::optional<double> error = c.error();
    ++(error ? result.compared : result.without_error);
    if (!error) continue;
    result.mean_error += std::abs(*error);
    result.worst_error = std::max(result.worst_error, std::abs(*error));
  }
  if (result.compared > 0) result.mean_error /= static_cast<double>(result.compared);
  return result;
}

}  // namespace sgsim::replay
