#include "sim/engine/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/core/stop.h"
#include "sim/core/units_text.h"

namespace sgsim::engine {
namespace {

using lower::Task;
using lower::TaskKind;

InputError wrong(std::string where, std::string found, std::string expected, std::string hint = {}) {
  return InputError({.file = "workload", .where = std::move(where), .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
}

bool is_time(Seconds time) { return std::isfinite(time.value()) && time.value() >= 0.0; }

bool is_communication(TaskKind kind) { return kind == TaskKind::collective || kind == TaskKind::send || kind == TaskKind::receive; }

const char* kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::compute: return "compute";
    case TaskKind::collective: return "collective";
    case TaskKind::send: return "send";
    case TaskKind::receive: return "receive";
    case TaskKind::copy: return "copy";
    case TaskKind::host_sync: return "host_sync";
  }
  return "?";
}

const char* op_name(graph::CollectiveOp op) {
  switch (op) {
    case graph::CollectiveOp::all_reduce: return "all_reduce";
    case graph::CollectiveOp::all_gather: return "all_gather";
    case graph::CollectiveOp::reduce_scatter: return "reduce_scatter";
    case graph::CollectiveOp::all_to_all: return "all_to_all";
    case graph::CollectiveOp::broadcast: return "broadcast";
    case graph::CollectiveOp::send_receive: return "send_receive";
  }
  return "?";
}

std::string task_place(const lower::Program& program, std::size_t task) {
  return fmt::format("program \"{}\", task {}", program.name, task);
}

void check_task(const lower::Program& program, std::size_t index, const std::vector<std::uint32_t>& issued) {
  const Task& task = program.tasks[index];
  if (task.stream >= program.streams.size()) {
    throw wrong(task_place(program, index), fmt::format("stream {}", task.stream), fmt::format("one of its {} streams", program.streams.size()));
  }
  if (!is_time(task.device) || !is_time(task.issue_to_end) || !is_time(task.host)) {
    throw wrong(task_place(program, index), fmt::format("times {}, {}, {} s", task.device.value(), task.issue_to_end.value(), task.host.value()), "finite times, not negative");
  }
  if (is_communication(task.kind) && task.comm >= program.comms.size()) {
    throw wrong(task_place(program, index), fmt::format("communication {}", task.comm), fmt::format("one of its {} communications", program.comms.size()));
  }
  if (std::size_t{task.first_dependency} + task.dependency_count > program.dependencies.size()) {
    throw wrong(task_place(program, index), fmt::format("dependencies {} to {}", task.first_dependency, std::size_t{task.first_dependency} + task.dependency_count),
                fmt::format("at most {}", program.dependencies.size()));
  }
  for (std::uint32_t d = task.first_dependency; d < task.first_dependency + task.dependency_count; ++d) {
    const lower::Dependency dependency = program.dependencies[d];
    if (dependency.stream >= program.streams.size() || dependency.position > issued[dependency.stream]) {
      throw wrong(task_place(program, index), fmt::format("a dependency on the first {} tasks of stream {}", dependency.position, dependency.stream),
                  "tasks that are issued earlier", "a stream can only wait for work that stands before it in program order");
    }
  }
}

void check_parts(const lower::Program& program) {
  for (std::size_t s = 0; s < program.segments.size(); ++s) {
    const lower::Segment& segment = program.segments[s];
    if (std::size_t{segment.first_part} + segment.part_count > program.parts.size()) {
      throw wrong(fmt::format("program \"{}\", segment {}", program.name, s), fmt::format("parts {} to {}", segment.first_part, std::size_t{segment.first_part} + segment.part_count),
                  fmt::format("at most {}", program.parts.size()));
    }
  }
  for (std::size_t p = 0; p < program.parts.size(); ++p) {
    const lower::Part& part = program.parts[p];
    if (!is_time(part.device) || (part.is_collective() && part.comm >= program.comms.size())) {
      throw wrong(fmt::format("program \"{}\", part {}", program.name, p), fmt::format("{} s of communication {}", part.device.value(), part.comm),
                  fmt::format("a finite time, not negative, of kernels or of one of its {} communications", program.comms.size()));
    }
  }
  for (std::size_t t = 0; t < program.tasks.size() && !program.parts.empty(); ++t) {
    if (program.tasks[t].kind != TaskKind::compute || program.tasks[t].segment < program.segments.size()) continue;
    throw wrong(task_place(program, t), fmt::format("segment {}", program.tasks[t].segment), fmt::format("one of its {} segments", program.segments.size()));
  }
}

void check_program(const lower::Program& program) {
  if (!(program.compute_slowdown >= 1.0) || !(program.transfer_slowdown >= 1.0) || !std::isfinite(program.compute_slowdown) || !std::isfinite(program.transfer_slowdown)) {
    throw wrong(fmt::format("program \"{}\"", program.name), fmt::format("slowdowns {} and {}", program.compute_slowdown, program.transfer_slowdown), "finite factors of at least 1");
  }
  for (std::size_t c = 0; c < program.comms.size(); ++c) {
    const cost::TransferEstimate& transfer = program.comms[c].transfer;
    const bool rated = transfer.wire_bytes.value() == 0.0 || (transfer.bandwidth.value() > 0.0 && std::isfinite(transfer.bandwidth.value()));
    if (!is_time(transfer.latency) || !std::isfinite(transfer.wire_bytes.value()) || transfer.wire_bytes.value() < 0.0 || !rated) {
      throw wrong(fmt::format("program \"{}\", communication {}", program.name, c), fmt::format("{} s and {} bytes at {} bytes/s", transfer.latency.value(), transfer.wire_bytes.value(), transfer.bandwidth.value()),
                  "a finite latency, and a bandwidth above zero where bytes move");
    }
  }
  std::vector<std::uint32_t> issued(program.streams.size(), 0);
  StopWatch watch;
  for (std::size_t t = 0; t < program.tasks.size(); ++t) {
    watch.turn();
    check_task(program, t, issued);
    ++issued[program.tasks[t].stream];
  }
  check_parts(program);
}

/// Members of a group with merged collectives must have nothing that could set them apart.
void check_lockstep(const lower::Workload& workload) {
  std::vector<std::set<std::uint16_t>> slots(workload.programs.size());
  for (std::size_t p = 0; p < slots.size(); ++p) {
    for (const lower::Part& part : workload.programs[p].parts) {
      if (part.is_collective()) slots[p].insert(workload.programs[p].comms[part.comm].slot);
    }
  }
  for (std::size_t r = 0; r < workload.ranks.size(); ++r) {
    const lower::RankBinding& rank = workload.ranks[r];
    for (const std::uint16_t slot : slots[rank.program.value]) {
      for (const RankId member : workload.groups[rank.groups[slot].value].members) {
        const lower::RankBinding& other = workload.ranks[member.value];
        if (other.program == rank.program && other.speed == rank.speed) continue;
        throw wrong(fmt::format("rank {}, group {}", r, rank.groups[slot].value), fmt::format("merged collectives with rank {}, which runs another program or at another speed", member.value),
                    "ranks in lockstep", "lower without merge_lockstep");
      }
    }
  }
}

std::vector<std::uint16_t> slots_of(const lower::Program& program) {
  std::vector<std::uint16_t> slots;
  for (const lower::Comm& comm : program.comms) slots.push_back(comm.slot);
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return slots;
}

/// Bindings and members must be the same pairs: marks each group's members, then counts the marked ones that are bound.
void check_groups(const lower::Workload& workload) {
  std::vector<std::uint32_t> first(workload.groups.size() + 1, 0);
  for (std::size_t g = 0; g < workload.groups.size(); ++g) first[g + 1] = first[g] + static_cast<std::uint32_t>(workload.groups[g].members.size());
  std::vector<std::uint32_t> bound(first.back());  // ranks bound to each group, ascending
  std::vector<std::uint32_t> filled(first.begin(), first.end());
  for (std::uint32_t r = 0; r < workload.ranks.size(); ++r) {
    for (const GroupId group : workload.ranks[r].groups) {
      if (!group.valid()) continue;
      if (group.value >= workload.groups.size()) {
        throw wrong(fmt::format("rank {}", r), fmt::format("group {}", group.value), fmt::format("one of {} groups", workload.groups.size()));
      }
      std::uint32_t& end = filled[group.value];
      if (end > first[group.value] && bound[end - 1] == r) continue;  // bound to it in two slots
      if (end == first[group.value + 1]) {
        throw wrong(fmt::format("rank {}", r), fmt::format("a binding to group {} ({})", group.value, workload.groups[group.value].kind), fmt::format("only its {} members bound to it", workload.groups[group.value].members.size()));
      }
      bound[end++] = r;
    }
  }
  std::vector<std::uint32_t> members;
  for (std::size_t g = 0; g < workload.groups.size(); ++g) {
    members.clear();
    for (const RankId rank : workload.groups[g].members) members.push_back(rank.value);
    std::sort(members.begin(), members.end());
    if (!std::equal(members.begin(), members.end(), bound.begin() + first[g], bound.begin() + filled[g])) {
      throw wrong(fmt::format("group {} ({})", g, workload.groups[g].kind), fmt::format("{} members, {} ranks bound to it", members.size(), filled[g] - first[g]),
                  "exactly its members bound to it, each listed once");
    }
  }
}

const lower::Program& program_of(const lower::Workload& workload, std::uint32_t rank) {
  return workload.programs[workload.ranks[rank].program.value];
}

std::string operation(const lower::Program& program, const Task& task) {
  const lower::Comm& comm = program.comms[task.comm];
  const char* name = task.kind == TaskKind::collective ? op_name(comm.op) : kind_name(task.kind);
  return fmt::format("{} of {}", name, to_text(comm.payload));
}

}  // namespace

void check_workload(const lower::Workload& workload) {
  for (const lower::Program& program : workload.programs) check_program(program);
  std::vector<std::vector<std::uint16_t>> slots;
  for (const lower::Program& program : workload.programs) slots.push_back(slots_of(program));
  for (std::size_t r = 0; r < workload.ranks.size(); ++r) {
    const lower::RankBinding& rank = workload.ranks[r];
    if (rank.program.value >= workload.programs.size()) {
      throw wrong(fmt::format("rank {}", r), fmt::format("program {}", rank.program.value), fmt::format("one of {} programs", workload.programs.size()));
    }
    if (!(rank.speed > 0.0) || !std::isfinite(rank.speed)) throw wrong(fmt::format("rank {}", r), fmt::format("speed {}", rank.speed), "a speed above zero");
    for (const std::uint16_t slot : slots[rank.program.value]) {
      if (slot >= rank.groups.size() || !rank.groups[slot].valid()) {
        throw wrong(fmt::format("rank {}", r), fmt::format("no group in slot {}", slot), "a group in each slot that its program uses");
      }
    }
  }
  check_groups(workload);
  check_lockstep(workload);
}

std::string describe_task(const lower::Workload& workload, std::uint32_t rank, std::uint32_t task) {
  const lower::Program& program = program_of(workload, rank);
  const Task& t = program.tasks[task];
  std::string name = is_communication(t.kind) ? operation(program, t) : kind_name(t.kind);
  if (is_communication(t.kind)) {
    const NameId id = program.comms[t.comm].name;
    if (id.value < program.names.size()) name += fmt::format(" \"{}\"", program.names[id.value]);
  }
  return fmt::format("rank {} (program \"{}\") in task {} on stream {}: {}", rank, program.name, task, t.stream, name);
}

std::string describe_use(const lower::Workload& workload, std::uint32_t rank, std::uint32_t task) {
  const lower::Program& program = program_of(workload, rank);
  const std::uint16_t slot = program.comms[program.tasks[task].comm].slot;
  std::uint32_t use = 0;
  for (std::uint32_t t = 0; t < task; ++t) {
    if (is_communication(program.tasks[t].kind) && program.comms[program.tasks[t].comm].slot == slot) ++use;
  }
  const GroupId group = workload.ranks[rank].groups[slot];
  return fmt::format("use {} of group {} ({})", use, group.value, workload.groups[group.value].kind);
}

InputError deadlock(const lower::Workload& workload, const std::vector<Stuck>& stuck) {
  const auto waiting = std::find_if(stuck.begin(), stuck.end(), [](const Stuck& s) { return s.arrived; });
  SGSIM_CHECK(waiting != stuck.end(), "a rank stopped and waits for no communication");
  const lower::Program& program = program_of(workload, waiting->rank);
  const GroupId group = workload.ranks[waiting->rank].groups[program.comms[program.tasks[waiting->task].comm].slot];
  const std::string use = describe_use(workload, waiting->rank, waiting->task);
  std::string others;
  for (const RankId member : workload.groups[group.value].members) {
    if (member.value == waiting->rank) continue;
    const auto other = std::find_if(stuck.begin(), stuck.end(), [&](const Stuck& s) { return s.rank == member.value; });
    if (other == stuck.end()) {
      others = fmt::format("rank {} (program \"{}\") has finished without it", member.value, program_of(workload, member.value).name);
      break;
    }
    const bool same = other->arrived && describe_use(workload, other->rank, other->task) == use;
    if (same) continue;
    others = describe_task(workload, other->rank, other->task);
    if (other->arrived) others += ", " + describe_use(workload, other->rank, other->task);
    break;
  }
  if (others.empty()) others = "no other rank";
  return wrong(fmt::format("rank {}, group {}", waiting->rank, group.value), fmt::format("{} waits for ever in {}, while {}", describe_task(workload, waiting->rank, waiting->task), use, others),
               "members that use their group equally often and in one order", "every member must issue the same operations of a communicator in the same order");
}

InputError mismatch(const lower::Workload& workload, std::uint32_t first_rank, std::uint32_t first_task, std::uint32_t second_rank, std::uint32_t second_task) {
  return wrong(fmt::format("rank {}, {}", second_rank, describe_use(workload, second_rank, second_task)),
               fmt::format("{} against {}", describe_task(workload, second_rank, second_task), describe_task(workload, first_rank, first_task)),
               "one operation of one size (and one send with one receive)", "every member must issue the same operations of a communicator in the same order");
}

InputError not_a_pair(const lower::Workload& workload, std::uint32_t rank, std::uint32_t task) {
  return wrong(fmt::format("rank {}, {}", rank, describe_use(workload, rank, task)), describe_task(workload, rank, task),
               "a group of two for a send or a receive, each bound to it once");
}

}  // namespace sgsim::engine
