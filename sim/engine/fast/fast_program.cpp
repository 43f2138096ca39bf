#include "sim/engine/fast/fast_program.h"

#include <algorithm>

namespace sgsim::engine {
namespace {

using lower::TaskKind;

bool is_communication(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

}  // namespace

std::uint32_t OperationNumbers::of(TaskKind kind, const lower::Comm& comm) {
  const bool collective = kind == TaskKind::collective;
  const int op = collective ? static_cast<int>(comm.op) : -1;
  // All-to-all sizes may differ between members (experts under load); everything else must agree in size.
  const double size = collective && comm.op == graph::CollectiveOp::all_to_all ? 0.0 : comm.payload.value();
  const auto next = static_cast<std::uint32_t>(2 * numbers_.size());
  const std::uint32_t number = numbers_.try_emplace({collective, op, size}, next).first->second;
  return kind == TaskKind::receive ? number + 1 : number;
}

void rewrite(const lower::Program& program, OperationNumbers& numbers, FastProgram& out) {
  const std::size_t streams = program.streams.size();
  out.compute_slowdown = program.compute_slowdown;
  out.transfer_slowdown = program.transfer_slowdown;
  out.stream_begin.assign(streams + 1, 0);
  for (const lower::Task& task : program.tasks) ++out.stream_begin[task.stream + 1u];
  for (std::size_t s = 0; s < streams; ++s) out.stream_begin[s + 1] += out.stream_begin[s];
  out.tasks.resize(program.tasks.size());
  out.dependencies.clear();

  std::vector<std::uint32_t> operations(2 * program.comms.size(), 0);  // by (comm, receives): 0 not yet asked, else number + 1
  std::size_t slots = 0;
  for (const lower::Comm& comm : program.comms) slots = std::max(slots, std::size_t{comm.slot} + 1);
  std::vector<std::uint32_t> uses(slots, 0);
  std::vector<std::uint32_t> filled(out.stream_begin.begin(), out.stream_begin.end() - 1);
  double host = 0.0;
  std::uint32_t sync = 0;
  for (std::uint32_t i = 0; i < program.tasks.size(); ++i) {
    const lower::Task& task = program.tasks[i];
    FastTask& fast = out.tasks[filled[task.stream]++];
    fast.device = task.device.value();
    fast.launch = host + (task.issue_to_end.value() - task.device.value());
    fast.sync = sync;
    fast.index = i;
    fast.kind = task.kind;
    fast.first_dependency = static_cast<std::uint32_t>(out.dependencies.size());
    for (std::uint32_t d = task.first_dependency; d < task.first_dependency + task.dependency_count; ++d) {
      const lower::Dependency dependency = program.dependencies[d];
      if (dependency.stream == task.stream || dependency.position == 0) continue;  // streams are in order anyway
      out.dependencies.push_back({dependency.stream, out.stream_begin[dependency.stream] + dependency.position});
    }
    fast.dependency_count = static_cast<std::uint32_t>(out.dependencies.size() - fast.first_dependency);
    if (is_communication(task.kind)) {
      const lower::Comm& comm = program.comms[task.comm];
      std::uint32_t& operation = operations[2 * task.comm + (task.kind == TaskKind::receive ? 1 : 0)];
      if (operation == 0) operation = numbers.of(task.kind, comm) + 1;
      fast.operation = operation - 1;
      fast.slot = comm.slot;
      fast.use = uses[comm.slot]++;
    }
    if (task.kind == TaskKind::host_sync) {
      fast.launch = host;    // when the host reaches it
      fast.device = task.host.value();
      host = 0.0;
      ++sync;
    } else {
      host += task.host.value();
    }
  }
  out.syncs = sync;
}

}  // namespace sgsim::engine
