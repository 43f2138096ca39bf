#include "sim/engine/fast/fast_program.h"

#include <algorithm>

#include "sim/core/stop.h"

namespace sgsim::engine {
namespace {

using lower::TaskKind;

bool is_communication(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

/// Each communication as a collective, as a send and as a receive.
constexpr std::uint32_t kComms = 3;

std::uint32_t comm_index(const lower::Task& task) {
  return kComms * task.comm + (task.kind == TaskKind::collective ? 0 : task.kind == TaskKind::send ? 1 : 2);
}

void rewrite_comms(const lower::Program& program, OperationNumbers& numbers, FastProgram& out) {
  out.comms.clear();
  for (const lower::Comm& comm : program.comms) {
    const std::uint32_t pair = numbers.of(false, comm);
    out.comms.push_back({.slot = comm.slot, .operation = numbers.of(true, comm)});
    out.comms.push_back({.slot = comm.slot, .operation = pair});
    out.comms.push_back({.slot = comm.slot, .operation = pair + 1});
  }
}

/// Returns where the parts of each segment begin; 0: it has none.
std::vector<std::uint32_t> rewrite_parts(const lower::Program& program, FastProgram& out) {
  out.parts.assign(1, {});
  std::vector<std::uint32_t> first(program.parts.empty() ? 0 : program.segments.size(), 0);
  for (std::size_t s = 0; s < first.size(); ++s) {
    const lower::Segment& segment = program.segments[s];
    if (segment.part_count == 0) continue;
    first[s] = static_cast<std::uint32_t>(out.parts.size());
    FastPart next;
    for (std::uint32_t p = segment.first_part; p < segment.first_part + segment.part_count; ++p) {
      next.device = program.parts[p].device.value();
      next.collective = program.parts[p].is_collective();
      next.rest = segment.first_part + segment.part_count - p;
      out.parts.push_back(next);
      (next.collective ? next.collectives_before : next.kernels_before) += next.device;
    }
    next.rest = 0;
    out.parts.push_back(next);
  }
  return first;
}

/// Times, uses and places: in program order, as the host issues the tasks.
void rewrite_tasks(const lower::Program& program, FastProgram& out) {
  const std::vector<std::uint32_t> parts = rewrite_parts(program, out);
  std::size_t slots = 0;
  for (const lower::Comm& comm : program.comms) slots = std::max(slots, std::size_t{comm.slot} + 1);
  std::vector<std::uint32_t> uses(slots, 0);
  std::vector<std::uint32_t> filled(out.stream_begin.begin(), out.stream_begin.end() - 1);
  double host = 0.0;
  out.syncs = 0;
  StopWatch watch;
  for (std::uint32_t i = 0; i < program.tasks.size(); ++i) {
    watch.turn();
    const lower::Task& task = program.tasks[i];
    const std::uint32_t at = filled[task.stream]++;
    out.index[at] = i;
    FastTask& fast = out.tasks[at];
    fast.kind_ = static_cast<std::uint32_t>(task.kind) & 7u;
    fast.sync = out.syncs;
    if (task.kind == TaskKind::host_sync) {
      fast.launch = host;
      fast.device = task.host.value();
      host = 0.0;
      ++out.syncs;
      continue;
    }
    fast.device = task.device.value();
    fast.launch = host + (task.issue_to_end.value() - task.device.value());
    host += task.host.value();
    if (task.kind == TaskKind::compute && !parts.empty()) fast.comm = parts[task.segment] & 0x1fffffffu;
    if (!is_communication(task.kind)) continue;
    fast.comm = comm_index(task) & 0x1fffffffu;
    fast.use = uses[program.comms[task.comm].slot]++;
  }
}

void rewrite_dependencies(const lower::Program& program, FastProgram& out) {
  out.dependencies.clear();
  StopWatch watch;
  for (std::size_t at = 1; at < out.tasks.size(); ++at) {
    watch.turn();
    const lower::Task& task = program.tasks[out.index[at]];
    for (std::uint32_t d = task.first_dependency; d < task.first_dependency + task.dependency_count; ++d) {
      const lower::Dependency dependency = program.dependencies[d];
      if (dependency.stream == task.stream || dependency.position == 0) continue;  // streams are in order anyway
      out.dependencies.push_back({dependency.stream, out.stream_begin[dependency.stream] + dependency.position});
    }
    out.tasks[at].dependency_end = static_cast<std::uint32_t>(out.dependencies.size());
  }
}

}  // namespace

std::uint32_t OperationNumbers::of(bool collective, const lower::Comm& comm) {
  const int op = collective ? static_cast<int>(comm.op) : -1;
  // All-to-all sizes may differ between members (experts under load); everything else must agree in size.
  const double size = collective && comm.op == graph::CollectiveOp::all_to_all ? 0.0 : comm.payload.value();
  const auto next = static_cast<std::uint32_t>(2 * numbers_.size());
  return numbers_.try_emplace({collective, op, size}, next).first->second;
}

void rewrite(const lower::Program& program, OperationNumbers& numbers, FastProgram& out) {
  const std::size_t streams = program.streams.size();
  out.compute_slowdown = program.compute_slowdown;
  out.transfer_slowdown = program.transfer_slowdown;
  out.stream_begin.assign(streams + 1, 0);
  for (const lower::Task& task : program.tasks) ++out.stream_begin[task.stream + 1u];
  out.stream_begin[0] = 1;
  for (std::size_t s = 0; s < streams; ++s) out.stream_begin[s + 1] += out.stream_begin[s];
  out.tasks.assign(program.tasks.size() + 1, {});
  out.index.assign(program.tasks.size() + 1, 0);
  rewrite_comms(program, numbers, out);
  rewrite_tasks(program, out);
  rewrite_dependencies(program, out);
}

}  // namespace sgsim::engine
