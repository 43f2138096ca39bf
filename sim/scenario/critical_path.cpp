#include "sim/scenario/critical_path.h"

#include <algorithm>
#include <limits>
#include <map>

#include "sim/core/error.h"

namespace sgsim::scenario {
namespace {

using lower::Program;
using lower::Task;
using lower::TaskKind;
using timeline::Span;

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
// Engines agree to 1e-9; two times nearer than that are one event.
constexpr double kSame = 1e-9;

bool communicates(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

/// Order of a program's tasks on its streams and on its host.
struct Order {
  std::vector<std::vector<std::uint32_t>> of_stream;  // tasks by stream
  std::vector<std::uint32_t> previous;                // in the stream, kNone for its first
  std::vector<std::uint32_t> sync;                    // last host_sync issued before, kNone without
  std::vector<std::uint32_t> use;                     // communication: how many of its slot came before

  explicit Order(const Program& program) : of_stream(program.streams.size()), previous(program.tasks.size(), kNone), sync(program.tasks.size(), kNone), use(program.tasks.size()) {
    std::map<std::uint16_t, std::uint32_t> uses;
    std::uint32_t last_sync = kNone;
    for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
      const Task& task = program.tasks[t];
      auto& stream = of_stream.at(task.stream);
      if (!stream.empty()) previous[t] = stream.back();
      stream.push_back(t);
      sync[t] = last_sync;
      if (task.kind == TaskKind::host_sync) last_sync = t;
      if (communicates(task.kind)) use[t] = uses[program.comms.at(task.comm).slot]++;
    }
  }
};

struct Place {
  std::uint32_t rank = kNone, task = kNone;
};

class Walk {
 public:
  explicit Walk(const Simulation& s) : simulation_(s), spans_(s.workload.ranks.size()) {
    for (const Program& program : s.workload.programs) orders_.emplace_back(program);
    for (std::uint32_t r = 0; r < spans_.size(); ++r) spans_[r].resize(program(r).tasks.size(), nullptr);
    for (const Span& span : s.timeline.spans) {
      spans_.at(span.rank).at(span.task) = &span;
      const Task& task = program(span.rank).tasks.at(span.task);
      if (communicates(task.kind)) members_[operation(span.rank, span.task)].push_back({span.rank, span.task});
    }
  }

  std::vector<PathStep> run() {
    Place at = last();
    while (at.rank != kNone) at = back(at);
    std::reverse(path_.begin(), path_.end());
    return std::move(path_);
  }

 private:
  [[nodiscard]] const Program& program(std::uint32_t rank) const { return simulation_.workload.programs.at(simulation_.workload.ranks.at(rank).program.value); }
  [[nodiscard]] const Order& order(std::uint32_t rank) const { return orders_.at(simulation_.workload.ranks.at(rank).program.value); }
  [[nodiscard]] const Span& span(std::uint32_t rank, std::uint32_t task) const {
    const Span* found = spans_.at(rank).at(task);
    SGSIM_CHECK(found != nullptr, "the critical path needs every span");
    return *found;
  }
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> operation(std::uint32_t rank, std::uint32_t task) const {
    const Program& p = program(rank);
    const GroupId group = simulation_.workload.ranks[rank].groups.at(p.comms.at(p.tasks[task].comm).slot);
    return {group.value, order(rank).use[task]};
  }

  [[nodiscard]] Place last() const {
    const Span* best = nullptr;
    for (const Span& s : simulation_.timeline.spans) {
      if (best == nullptr || s.end > best->end) best = &s;
    }
    return best == nullptr ? Place{} : Place{best->rank, best->task};
  }

  void step(PathKind kind, Place at, Seconds from, Seconds to) {
    if (to > from) path_.push_back({.kind = kind, .rank = at.rank, .task = at.task, .from = from, .to = to});
  }

  /// The predecessor that ended last; kNone where nothing precedes.
  [[nodiscard]] std::uint32_t latest_predecessor(std::uint32_t rank, std::uint32_t t) const {
    const Program& p = program(rank);
    const Task& task = p.tasks[t];
    std::uint32_t best = order(rank).previous[t];
    for (std::uint32_t d = 0; d < task.dependency_count; ++d) {
      const lower::Dependency& dependency = p.dependencies.at(task.first_dependency + d);
      if (dependency.position == 0) continue;
      const std::uint32_t other = order(rank).of_stream.at(dependency.stream).at(dependency.position - 1);
      if (best == kNone || span(rank, other).end > span(rank, best).end) best = other;
    }
    return best;
  }

  /// One step back: what `at` did, then where its beginning came from.
  Place back(Place at) {
    const Task& task = program(at.rank).tasks[at.task];
    const Span& s = span(at.rank, at.task);
    if (communicates(task.kind)) {
      step(PathKind::communication, at, s.start, s.end);
      for (const Place& member : members_.at(operation(at.rank, at.task))) {
        if (span(member.rank, member.task).arrival > span(at.rank, at.task).arrival) at = member;
      }
      return before(at, s.start);
    }
    if (task.kind == TaskKind::host_sync) {
      step(PathKind::host, at, s.start, s.end);
      return before(at, s.start);
    }
    const Seconds alone = task.device / simulation_.workload.ranks[at.rank].speed;
    const Seconds whole = std::min(s.end, s.start + alone);
    step(PathKind::slowed, at, whole, s.end);
    step(PathKind::compute, at, s.start, whole);
    return before(at, s.start);
  }

  /// What the beginning of `at` at `time` waited for.
  Place before(Place at, Seconds time) {
    const std::uint32_t predecessor = latest_predecessor(at.rank, at.task);
    const Seconds ready = predecessor == kNone ? Seconds(0.0) : span(at.rank, predecessor).end;
    const bool host = time.value() - ready.value() > kSame * std::max(1.0, time.value());
    if (!host) return predecessor == kNone ? Place{} : Place{at.rank, predecessor};
    const std::uint32_t sync = order(at.rank).sync[at.task];
    const Seconds issued_from = sync == kNone ? Seconds(0.0) : span(at.rank, sync).end;
    step(PathKind::host, at, issued_from, time);
    return sync == kNone ? Place{} : Place{at.rank, sync};
  }

  const Simulation& simulation_;
  std::vector<Order> orders_;
  std::vector<std::vector<const Span*>> spans_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<Place>> members_;
  std::vector<PathStep> path_;
};

void add_kernels(std::map<std::pair<PathKind, std::string>, Seconds>& times, const Program& program, const Task& task, Seconds time) {
  const lower::Segment& segment = program.segments.at(task.segment);
  Seconds sum;
  for (std::uint32_t k = 0; k < segment.kernel_count; ++k) sum += program.kernels.at(segment.first_kernel + k).estimate.time;
  if (sum.value() <= 0.0) {
    times[{PathKind::compute, program.names.at(segment.name.value)}] += time;
    return;
  }
  for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
    const lower::KernelCost& kernel = program.kernels[segment.first_kernel + k];
    times[{PathKind::compute, program.names.at(kernel.name.value)}] += time * (kernel.estimate.time / sum);
  }
}

}  // namespace

std::vector<PathStep> critical_path(const Simulation& simulation) { return Walk(simulation).run(); }

std::vector<PathTime> by_name(const Simulation& simulation, const std::vector<PathStep>& path) {
  std::map<std::pair<PathKind, std::string>, Seconds> times;
  for (const PathStep& step : path) {
    const Program& program = simulation.workload.programs.at(simulation.workload.ranks.at(step.rank).program.value);
    const Task& task = program.tasks.at(step.task);
    const Seconds time = step.to - step.from;
    switch (step.kind) {
      case PathKind::compute: add_kernels(times, program, task, time); break;
      case PathKind::slowed: times[{step.kind, "computation slowed by communication beside it"}] += time; break;
      case PathKind::communication: times[{step.kind, program.names.at(program.comms.at(task.comm).name.value)}] += time; break;
      case PathKind::host: times[{step.kind, "host issues work"}] += time; break;
    }
  }
  std::vector<PathTime> list;
  for (const auto& [key, time] : times) list.push_back({.kind = key.first, .name = key.second, .time = time});
  std::stable_sort(list.begin(), list.end(), [](const PathTime& a, const PathTime& b) { return a.time > b.time; });
  return list;
}

std::string_view label(PathKind kind) {
  constexpr std::string_view kWords[] = {"computation", "slowed", "communication", "host"};
  return kWords[static_cast<std::size_t>(kind)];
}

}  // namespace sgsim::scenario
