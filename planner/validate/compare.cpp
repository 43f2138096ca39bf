#include "planner/validate/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "planner/validate/same_execution.h"
#include "planner/validate/shares.h"
#include "sim/core/error.h"
#include "sim/lower/memory/runtime.h"
#include "sim/scenario/labels.h"

namespace sgsim::validate {
namespace {

using calibrate::ExecutableProgram;
using calibrate::MeasuredProgram;
using calibrate::MeasuredTask;
using calibrate::ProgramTask;
using calibrate::ProgramTaskKind;
using calibrate::RankProgram;

std::string kind_of(const graph::Work& work) {
  if (std::holds_alternative<graph::Matmul>(work)) return "matrix products";
  if (const auto* a = std::get_if<graph::Attention>(&work)) return a->pass == graph::Pass::forward ? "attention, forward" : "attention, backward";
  if (std::holds_alternative<graph::Convolution>(work)) return "convolutions";
  constexpr const char* kNames[] = {"pointwise", "reduction", "norm", "softmax", "cross-entropy", "embedding", "embedding gradient", "copy", "transpose", "optimizer", "gather and scatter", "pooling"};
  return kNames[static_cast<std::size_t>(std::get<graph::MemoryBound>(work).kind)];
}

std::string what_of(const graph::Work& work) {
  if (const auto* m = std::get_if<graph::Matmul>(&work)) {
    return fmt::format("product {}{} x {} x {} {}{}{}", m->batch > 1 ? fmt::format("{} x ", m->batch) : "", m->m, m->n, m->k, m->a_transposed ? 't' : 'n', m->b_transposed ? 't' : 'n', m->bias ? " bias" : "");
  }
  if (const auto* a = std::get_if<graph::Attention>(&work)) {
    return fmt::format("attention {} {} x {} ({}) x {} x {}{}", a->pass == graph::Pass::forward ? "forward" : "backward", a->batch, a->heads, a->kv_heads, a->q_len, a->head_dim, a->dense_mask ? " dense mask" : a->causal ? " causal" : "");
  }
  const graph::MemoryBound* b = std::get_if<graph::MemoryBound>(&work);
  if (b == nullptr) return "convolution";
  return fmt::format("{} {:.2f} MB", kind_of(work), (b->read + b->written).value() * 1e-6);
}

/// One communication of one rank with its fellow members' tasks.
struct Use {
  std::uint32_t rank = 0, task = 0;
};

class Comparer {
 public:
  Comparer(const ExecutableProgram& program, const Prepared& prepared, const MeasuredProgram& measured)
      : program_(program), prepared_(prepared), workload_(prepared.simulation.workload), measured_(measured) {
    spans_.resize(program.ranks.size());
    for (std::size_t r = 0; r < spans_.size(); ++r) spans_[r].resize(tasks(r).size());
    for (const timeline::Span& s : prepared.simulation.timeline.spans) spans_.at(s.rank).at(s.task) = s;
    match_members();
  }

  Comparison compare() {
    out_.name = program_.name;
    out_.about = program_.about;
    out_.launch = program_.graph ? "graph" : "stream";
    out_.step = {.predicted = prepared_.simulation.timeline.step_time, .measured = Seconds(measured_.steps.median_s)};
    out_.traced_step = Seconds(measured_.steps.traced_s);
    out_.clock = std::accumulate(prepared_.clocks.begin(), prepared_.clocks.end(), 0.0) / std::max(1.0, static_cast<double>(prepared_.clocks.size()));
    shares();
    kernels();
    communications();
    gaps();
    memory();
    list_tasks();
    out_.numbers = measured_.numbers.size();
    out_.numbers_wrong = static_cast<std::uint64_t>(std::count_if(measured_.numbers.begin(), measured_.numbers.end(), [](const auto& c) { return !c.passed(); }));
    out_.waits = measured_.waits_checked;
    out_.waits_violated = measured_.waits_violated;
    return std::move(out_);
  }

 private:
  [[nodiscard]] const RankProgram& of(std::size_t rank) const { return program_.programs[program_.ranks[rank].program]; }
  [[nodiscard]] const std::vector<ProgramTask>& tasks(std::size_t rank) const { return of(rank).tasks; }
  [[nodiscard]] const MeasuredTask& measured(std::size_t rank, std::size_t task) const { return measured_.ranks[rank][task]; }
  [[nodiscard]] double ranks() const { return static_cast<double>(program_.ranks.size()); }

  /// When the last member of each communication began.
  void match_members() {
    std::map<std::uint32_t, std::map<std::uint32_t, std::vector<std::uint32_t>>> uses;  // group, rank: tasks
    for (std::uint32_t r = 0; r < program_.ranks.size(); ++r) {
      for (std::uint32_t t = 0; t < tasks(r).size(); ++t) {
        if (tasks(r)[t].kind != ProgramTaskKind::compute) uses[program_.ranks[r].groups[of(r).comms[tasks(r)[t].comm].slot]][r].push_back(t);
      }
    }
    last_start_.resize(program_.ranks.size());
    for (std::size_t r = 0; r < last_start_.size(); ++r) last_start_[r].resize(tasks(r).size(), 0.0);
    for (const auto& [group, by_rank] : uses) {
      for (std::size_t u = 0; u < by_rank.begin()->second.size(); ++u) {
        std::int64_t last = 0;
        for (const auto& [r, list] : by_rank) last = std::max(last, measured(r, list[u]).start_ns);
        for (const auto& [r, list] : by_rank) last_start_[r][list[u]] = static_cast<double>(last) * 1e-9;
      }
    }
  }

  void shares() {
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      std::vector<Interval> compute[2], transfers[2], waits[2];
      for (std::size_t t = 0; t < tasks(r).size(); ++t) {
        const timeline::Span& s = spans_[r][t];
        const MeasuredTask& m = measured(r, t);
        const double start = static_cast<double>(m.start_ns) * 1e-9, end = static_cast<double>(m.end_ns) * 1e-9;
        if (tasks(r)[t].kind == ProgramTaskKind::compute) {
          compute[0].emplace_back(s.start.value(), s.end.value());
          compute[1].emplace_back(start, end);
        } else {
          transfers[0].emplace_back(s.start.value(), s.end.value());
          waits[0].emplace_back(s.arrival.value(), s.start.value());
          const double last = std::clamp(last_start_[r][t], start, end);
          transfers[1].emplace_back(last, end);
          waits[1].emplace_back(start, last);
        }
      }
      const Shares predicted = shares_of(compute[0], transfers[0], waits[0], out_.step.predicted.value()), seen = shares_of(compute[1], transfers[1], waits[1], out_.traced_step.value());
      const auto add = [&](Pair& into, Seconds Shares::*member) {
        into.predicted += predicted.*member / ranks();
        into.measured += seen.*member / ranks();
      };
      add(out_.compute, &Shares::compute);
      add(out_.exposed, &Shares::exposed);
      add(out_.overlapped, &Shares::overlapped);
      add(out_.waiting, &Shares::waiting);
      add(out_.idle, &Shares::idle);
    }
  }

  void kernels() {
    std::map<std::uint32_t, KernelRow> rows;  // by work of the executable program
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const lower::Program& p = workload_.programs[workload_.ranks[r].program.value];
      for (const lower::Task& task : p.tasks) {
        if (task.kind != lower::TaskKind::compute) continue;
        const lower::Segment& segment = p.segments[task.segment];
        for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
          const std::uint32_t work = of(r).segments[task.segment].kernels[k];
          KernelRow& row = rows[work];
          row.count += 1.0 / ranks();
          row.time.predicted = p.kernels[segment.first_kernel + k].estimate.time;
        }
      }
    }
    std::map<std::string, KindRow> kinds;
    for (auto& [work, row] : rows) {
      row.what = what_of(program_.works[work]);
      const auto seen = measured_.works.find(work);
      if (seen != measured_.works.end()) row.time.measured = Seconds(seen->second.median_s);
      KindRow& kind = kinds[kind_of(program_.works[work])];
      kind.count += row.count;
      kind.time.predicted += row.time.predicted * row.count;
      kind.time.measured += row.time.measured * row.count;
      out_.kernels.push_back(row);
    }
    std::stable_sort(out_.kernels.begin(), out_.kernels.end(), [](const KernelRow& a, const KernelRow& b) { return a.time.predicted * a.count > b.time.predicted * b.count; });
    append(std::move(kinds));
  }

  void communications() {
    std::map<std::string, KindRow> kinds;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      for (std::size_t t = 0; t < tasks(r).size(); ++t) {
        if (tasks(r)[t].kind == ProgramTaskKind::compute) continue;
        KindRow& kind = kinds[of(r).comms[tasks(r)[t].comm].name];
        kind.count += 1.0 / ranks();
        kind.time.predicted += (spans_[r][t].end - spans_[r][t].start) / ranks();
        const double end = static_cast<double>(measured(r, t).end_ns) * 1e-9;
        kind.time.measured += Seconds(std::max(0.0, end - last_start_[r][t])) / ranks();
      }
    }
    append(std::move(kinds));
  }

  void append(std::map<std::string, KindRow> kinds) {
    std::vector<KindRow> sorted;
    for (auto& [name, row] : kinds) {
      row.name = name;
      sorted.push_back(row);
    }
    std::stable_sort(sorted.begin(), sorted.end(), [](const KindRow& a, const KindRow& b) { return a.time.predicted > b.time.predicted; });
    out_.kinds.insert(out_.kinds.end(), sorted.begin(), sorted.end());
  }

  void gaps() {
    Seconds measured_gaps;
    double measured_count = 0.0;
    for (std::size_t r = 0; r < program_.ranks.size(); ++r) {
      const lower::Program& p = workload_.programs[workload_.ranks[r].program.value];
      Seconds host;
      for (std::size_t t = 0; t < p.tasks.size(); ++t) {
        host += p.tasks[t].host;
        if (p.tasks[t].kind != lower::TaskKind::compute) continue;
        const MeasuredTask& m = measured(r, t);
        if (m.records < 2 || p.tasks[t].stream != 0) continue;  // copies on other streams wait for SMs between kernels
        measured_gaps += Seconds(static_cast<double>(m.end_ns - m.start_ns - m.busy_ns) * 1e-9);
        measured_count += m.records - 1;
      }
      out_.issue.predicted = std::max(out_.issue.predicted, host);
    }
    out_.issue.measured = Seconds(measured_.steps.issue_s);
    out_.gap.predicted = prepared_.gap;
    if (measured_count > 0.0) out_.gap.measured = measured_gaps / measured_count;
  }

  void memory() {
    constexpr double kGib = 1073741824.0;
    const auto communicators = static_cast<int>(workload_.ranks.front().groups.size());
    const lower::RuntimeMemory runtime = lower::runtime_memory({}, communicators, compile::Execution::eager);
    out_.memory = {{.name = "CUDA context, libraries", .predicted_gib = runtime.context.value() / kGib, .measured_gib = static_cast<double>(measured_.memory.context) / kGib},
                   {.name = fmt::format("{} communicator{}", communicators, communicators == 1 ? "" : "s"), .predicted_gib = runtime.communication.value() / kGib, .measured_gib = static_cast<double>(measured_.memory.communicators) / kGib}};
  }

  void list_tasks() {
    for (std::uint32_t r = 0; r < program_.ranks.size(); ++r) {
      for (std::uint32_t t = 0; t < tasks(r).size(); ++t) {
        const ProgramTask& task = tasks(r)[t];
        const MeasuredTask& m = measured(r, t);
        out_.tasks.push_back({.rank = r, .task = t, .name = task.kind == ProgramTaskKind::compute ? of(r).segments[task.segment].name : of(r).comms[task.comm].name, .stream = of(r).streams[task.stream],
                              .predicted_start = spans_[r][t].start.value(), .predicted_end = spans_[r][t].end.value(), .measured_start = static_cast<double>(m.start_ns) * 1e-9,
                              .measured_end = static_cast<double>(m.end_ns) * 1e-9});
      }
    }
  }

  const ExecutableProgram& program_;
  const Prepared& prepared_;
  const lower::Workload& workload_;
  const MeasuredProgram& measured_;
  std::vector<std::vector<timeline::Span>> spans_;
  std::vector<std::vector<double>> last_start_;
  Comparison out_;
};

}  // namespace

Comparison compare(const ExecutableProgram& program, const Prepared& prepared, const MeasuredProgram& measured, const std::string& measured_file) {
  const bool same = difference_of_execution(program, measured).empty();
  if (const std::string difference = same ? "" : difference_of_execution(program, measured, kOptimizerBytes); !difference.empty()) {
    throw InputError({.file = measured_file, .where = "$.program", .found = measured.program + " (\"" + measured.name + "\"): " + difference, .expected = calibrate::program_id(program) + " (\"" + program.name + "\"): the program of this scenario",
                      .hint = "measure what --write-program writes now; a scenario, or sgsim itself, has changed since"});
  }
  bool complete = measured.ranks.size() == program.ranks.size();
  for (std::size_t r = 0; complete && r < measured.ranks.size(); ++r) complete = measured.ranks[r].size() == program.programs[program.ranks[r].program].tasks.size();
  if (!complete) throw InputError({.file = measured_file, .where = "$.ranks", .found = "no times of every task", .expected = "a measurement with records of the traced steps", .hint = "CUPTI was not there, or lost all of them"});
  Comparison comparison = Comparer(program, prepared, measured).compare();
  if (same) return comparison;
  const OtherOptimizer other = other_optimizer(program, measured);
  comparison.optimizer_longer = Seconds(other.longer_s);
  comparison.other_optimizer = fmt::format("{} of the optimizer's kernels ran with other bytes than they would have now, by {:.1f} % at most: the measured step would be {:.3f} ms longer ({:+.2f} %) and its error {:+.1f} %",
                                           other.kernels, 100.0 * other.most, other.longer_s * 1e3, 100.0 * other.longer_s / measured.steps.median_s,
                                           100.0 * (comparison.step.predicted.value() / (measured.steps.median_s + other.longer_s) - 1.0));
  return comparison;
}

}  // namespace sgsim::validate
