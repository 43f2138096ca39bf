#include "calibrate/execute/cuda/rank_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "calibrate/bench/cases/cases.h"
#include "calibrate/device/cuda/nccl_group.h"
#include "calibrate/execute/work_key.h"

namespace sgsim::calibrate {
namespace {

std::size_t place_in(const std::vector<std::uint32_t>& members, std::uint32_t rank) {
  return static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin());
}

Task prepare(Context& context, PlanWorkshop& workshop, const Key& key) {
  if (key.group == "matmul") return prepare_matmul(context, key);
  if (key.group == "attention") return prepare_attention(context, workshop, key);
  if (key.group == "convolution") return prepare_convolution(context, workshop, key);
  return prepare_memory(context, key);
}

}  // namespace

RankQueue::RankQueue(const ExecutableProgram& program, std::uint32_t rank, const Communicators& comms, PlanWorkshop& workshop, std::size_t most_bytes)
    : all_(program), program_(program.programs[program.ranks[rank].program]), rank_(rank), comms_(comms), events_plan_(plan_events(program_)) {
  make_streams(most_bytes);
  make_kernels(workshop);
  make_buffers(program);
  events_.resize(events_plan_.count);
  synchronize();
}

void RankQueue::make_streams(std::size_t most_bytes) {
  std::set<std::uint16_t> with_kernels = {0};  // the step begins and ends on stream 0
  for (const ProgramTask& t : program_.tasks) {
    if (t.kind == ProgramTaskKind::compute) with_kernels.insert(t.stream);
  }
  // Streams beside the main one copy and cast: an eighth each.
  const std::size_t share = most_bytes / 8, rest = most_bytes - share * std::min<std::size_t>(4, with_kernels.size() - 1);
  for (std::uint16_t s = 0; s < program_.streams.size(); ++s) {
    if (with_kernels.contains(s)) {
      const std::size_t bytes = s == 0 ? rest : share;
      contexts_[s] = std::make_unique<Context>(bytes);
      pool_bytes_ += bytes;
      streams_.push_back(contexts_[s]->stream.get());
    } else {
      streams_.push_back(communication_streams_.emplace(s, Stream::urgent()).first->second.get());
    }
  }
}

void RankQueue::make_kernels(PlanWorkshop& workshop) {
  for (const ProgramTask& t : program_.tasks) {
    if (t.kind != ProgramTaskKind::compute) continue;
    for (const std::uint32_t work : program_.segments[t.segment].kernels) {
      if (kernels_.contains({t.stream, work})) continue;
      const Key key = key_of(all_.works[work], all_.row, all_.vocabulary);
      try {
        Task task = prepare(*contexts_.at(t.stream), workshop, key);
        if (!std::holds_alternative<DeviceTimed>(task.timing)) throw Waived{"it measures itself"};
        kernels_.emplace(std::pair(t.stream, work), Kernel{.task = std::move(task)});
      } catch (const Waived& waived) {
        throw NotExecutable{to_text(key) + ": " + waived.reason};
      }
    }
  }
}

void RankQueue::make_buffers(const ExecutableProgram& program) {
  for (const ProgramTask& t : program_.tasks) {
    if (t.kind == ProgramTaskKind::compute) continue;
    const ProgramComm& comm = program_.comms[t.comm];
    const std::uint32_t group = program.ranks[rank_].groups[comm.slot];
    uses_[group].push_back({t.comm, t.kind});
    if (buffers_.contains({t.comm, t.kind})) continue;
    const auto& members = program.groups[group].members;
    buffers_.emplace(std::piecewise_construct, std::forward_as_tuple(t.comm, t.kind),
                     std::forward_as_tuple(comm, t.kind, static_cast<int>(place_in(members, rank_)), static_cast<int>(members.size()), main_stream()));
  }
}

void RankQueue::launch(std::uint16_t stream, std::uint32_t work) {
  Kernel& kernel = kernels_.at({stream, work});
  if (marking_ != nullptr) {
    marking_->set_mark(launch_mark(rank_, launches_.size()));
    launches_.push_back({.task = task_, .work = work});
  }
  std::get<DeviceTimed>(kernel.task.timing).enqueue(kernel.repetition++);
}

void RankQueue::communicate(std::uint16_t stream, ProgramTaskKind kind, std::uint32_t comm) {
  if (marking_ != nullptr) {
    marking_->set_mark(launch_mark(rank_, launches_.size()));
    launches_.push_back({.task = task_});
  }
  const std::uint32_t group = all_.ranks[rank_].groups[program_.comms[comm].slot];
  buffers_.at({comm, kind}).enqueue(comms_.of(group, rank_), streams_[stream]);
}

void RankQueue::record(std::uint16_t stream, std::uint32_t event) { events_[event].record(streams_[stream]); }

void RankQueue::wait(std::uint16_t stream, std::uint32_t event) { check_cuda(cudaStreamWaitEvent(streams_[stream], events_[event].get(), 0), "wait for an event"); }

void RankQueue::marked_step(ActivitySource& activities) {
  launches_.clear();
  marking_ = &activities;
  step();
  activities.clear_mark();
  marking_ = nullptr;
}

Graph RankQueue::captured_step() {
  return capture(main_stream(), [this] { step(); });
}

void RankQueue::synchronize() const {
  for (const cudaStream_t stream : streams_) check_cuda(cudaStreamSynchronize(stream), "wait for a stream");
}

std::vector<NumberCheck> RankQueue::check_kernels() {
  std::vector<NumberCheck> checks;
  for (auto& [where, kernel] : kernels_) {
    if (!kernel.task.check) continue;
    const Check check = kernel.task.check();
    checks.push_back({.what = fmt::format("rank {}: {}", rank_, to_text(key_of(all_.works[where.second], all_.row, all_.vocabulary))), .elements = 0, .wrong = 0, .error = check.error, .tolerance = check.tolerance});
  }
  return checks;
}

void RankQueue::poison_results() const {
  for (const auto& [key, buffers] : buffers_) buffers.poison_result(main_stream());
  synchronize();
}

std::vector<NumberCheck> RankQueue::check_results() const {
  std::vector<NumberCheck> checks;
  for (const auto& [key, buffers] : buffers_) {
    if (key.second == ProgramTaskKind::send) continue;
    const auto compared = buffers.compare(main_stream());
    const ProgramComm& comm = program_.comms[key.first];
    checks.push_back({.what = fmt::format("rank {}: {}, {} bytes", rank_, comm.name, comm.bytes), .elements = compared.elements, .wrong = compared.wrong, .error = 0.0, .tolerance = 0.0});
  }
  return checks;
}

void RankQueue::use(std::uint32_t group, std::size_t index) {
  const auto& [comm, kind] = uses_.at(group).at(index);
  buffers_.at({comm, kind}).enqueue(comms_.of(group, rank_), main_stream());
}

std::size_t RankQueue::uses_of(std::uint32_t group) const {
  const auto it = uses_.find(group);
  return it == uses_.end() ? 0 : it->second.size();
}

std::size_t RankQueue::operand_bytes() const {
  std::size_t bytes = pool_bytes_;
  for (const auto& [key, buffers] : buffers_) bytes += buffers.bytes();
  return bytes;
}

}  // namespace sgsim::calibrate
