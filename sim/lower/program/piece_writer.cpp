#include "sim/lower/program/piece_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace sgsim::lower {
namespace {

std::string run_name(graph::Phase phase, std::string_view first, std::string_view last) {
  const char* verb = phase == graph::Phase::forward ? "forward" : phase == graph::Phase::backward ? "backward" : "optimizer";
  return first == last ? fmt::format("{} {}", verb, first) : fmt::format("{} {} to {}", verb, first, last);
}

std::pair<Slot, const char*> slot_of(const std::string& group) {
  if (group == "tp") return {Slot::tensor, "tp"};
  if (group == "cp") return {Slot::context, "cp"};
  if (group == "ep") return {Slot::expert, "ep"};
  if (group == "dp") return {Slot::data, "dp"};
  fail_check("known group", __FILE__, __LINE__, fmt::format("a graph collective names group \"{}\"; expected tp, cp, ep or dp", group));
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
  return "";
}

}  // namespace

PieceWriter::PieceWriter(StageProgram& program, compile::Execution execution, const TaskCosts& costs,
                         const std::vector<std::string>& modules, const Stack& stack, bool merge_lockstep)
    : program_(program), execution_(execution), costs_(costs), modules_(modules), stack_(stack), merge_lockstep_(merge_lockstep) {}

void PieceWriter::kernels(const std::vector<Launch>& launches, const RunLabel& label, std::span<const Insertion> insertions) {
  std::vector<InFlight> in_flight;
  const NameId position = program_.name(label.position);
  std::size_t next = 0;
  for (std::uint32_t k = 0; k <= launches.size(); ++k) {
    const bool inserts = next < insertions.size() && insertions[next].kernel == k && !insertions[next].actions.empty();
    if (inserts && k > 0 && !held_.empty() && held_.back().launch == &launches[k - 1]) {
      // What is inserted stands between the collective and its reader, and does not wait for it.
      const Launch& last = *held_.back().launch;
      held_.pop_back();
      release_held();
      in_flight.push_back({.reader = k, .token = collective(last), .tensor = true});
    }
    for (; next < insertions.size() && insertions[next].kernel == k; ++next) {
      for (const Action& action : insertions[next].actions) act(action);
    }
    for (const InFlight& other : in_flight) {
      if (other.reader == k) wait_for(other.token);
    }
    if (k == launches.size()) break;
    const Launch& launch = launches[k];
    if (launch.kernel->is_communication && can_merge(launch, k, label, in_flight)) {
      held_.push_back({.launch = &launch, .phase = label.phase});
    } else if (launch.kernel->is_communication) {
      release_held();
      in_flight.push_back({.reader = launch.reader, .token = collective(launch), .tensor = launch.kernel->communication.group == "tp"});
    } else {
      compute(launch, label, position);
      if (launch.kernel->host_waits) (*this)(HostWork{.name = "wait for " + launch.kernel->name, .host = {}, .after_compute = true});
    }
  }
  SGSIM_CHECK(next == insertions.size(), "insertions must be ascending and within the kernel list");
}

void PieceWriter::act(const Action& action) {
  if (!std::holds_alternative<MemoryChange>(action)) release_held();
  std::visit([this](const auto& a) { (*this)(a); }, action);
}

void PieceWriter::wait_for(Token token) {
  release_held();
  flush();
  pending_waits_.push_back(token);
}

RunCost PieceWriter::with_graph_launch(RunCost cost) {
  if (execution_ != compile::Execution::cuda_graph || !graph_pending_) return cost;
  graph_pending_ = false;
  const cost::LaunchModel& launch = costs_.launch;
  return then({.device = Seconds(), .issue_to_end = launch.host_per_graph + launch.launch_latency, .host = launch.host_per_graph}, cost);
}

RunCost PieceWriter::eager_issue(Seconds host) const { return {.device = Seconds(), .issue_to_end = host + costs_.eager.launch_latency, .host = host}; }

Step& PieceWriter::push(TaskKind kind, std::uint16_t stream, const std::vector<Token>& waits) {
  const auto first = static_cast<std::uint32_t>(piece_.waits.size());
  piece_.waits.insert(piece_.waits.end(), waits.begin(), waits.end());
  if (stream == 0) {
    piece_.waits.insert(piece_.waits.end(), pending_waits_.begin(), pending_waits_.end());
    pending_waits_.clear();
  }
  piece_.steps.push_back({.kind = kind, .stream = stream, .first_wait = first, .wait_count = static_cast<std::uint32_t>(piece_.waits.size()) - first});
  return piece_.steps.back();
}

void PieceWriter::flush() {
  if (!run_.open()) return;
  Run run = std::exchange(run_, Run{});
  Segment segment{.name = program_.name(run_name(run.phase, program_.text(run.first), program_.text(run.last))), .first_kernel = run.first_kernel,
                  .kernel_count = run.kernel_count, .phase = static_cast<std::uint8_t>(run.phase), .recompute = run.recompute};
  RunCost cost = with_graph_launch(run.cost);
  if (!run.parts.empty()) {
    run.parts.push_back({.device = cost.device, .issue_to_end = cost.issue_to_end, .host = cost.host});
    segment.part_count = static_cast<std::uint32_t>(run.parts.size());
    segment.first_part = program_.add_parts(run.parts);
    cost = {};  // once the collectives have a price
  }
  const std::uint32_t index = program_.add_segment(segment);
  Step& step = push(TaskKind::compute, 0, {});
  step.cost = cost;
  step.segment = index;
}

void PieceWriter::extend(graph::Phase phase, NameId position, const RunCost& cost, std::uint32_t first_kernel, std::uint32_t count) {
  if (run_.open() && run_.phase != phase) flush();
  if (!run_.open()) {
    run_.first_kernel = first_kernel;
    run_.phase = phase;
    run_.first = position;
  }
  run_.last = position;
  run_.cost = then(run_.cost, cost);
  run_.kernel_count += count;
}

void PieceWriter::compute(const Launch& launch, const RunLabel& label, NameId position) {
  if (run_.open() && run_.phase == label.phase) merge_held();
  release_held();
  const std::uint32_t kernel = program_.add_kernel(program_.kernel_cost(*launch.kernel, launch.estimate, modules_));
  extend(label.phase, position, launch.cost, kernel, 1);
  if (label.recompute) run_.recompute += launch.cost.device;
}

// The next kernel reads it, and no collective is in flight that it would have to wait for on their stream.
bool PieceWriter::can_merge(const Launch& launch, std::uint32_t index, const RunLabel& label, const std::vector<InFlight>& in_flight) const {
  if (!merge_lockstep_ || launch.kernel->communication.group != "tp" || launch.reader > index + 1) return false;
  if (!run_.open() || run_.phase != label.phase) return false;
  return std::none_of(in_flight.begin(), in_flight.end(), [&](const InFlight& other) { return other.tensor && other.reader > index; });
}

void PieceWriter::merge_held() {
  for (const Held& held : held_) {
    if (run_.cost != RunCost{}) {
      const RunCost cost = with_graph_launch(std::exchange(run_.cost, RunCost{}));
      run_.parts.push_back({.device = cost.device, .issue_to_end = cost.issue_to_end, .host = cost.host});
    }
    const RunCost issue = collective_issue();
    run_.parts.push_back({.device = issue.device, .issue_to_end = issue.issue_to_end, .host = issue.host, .comm = comm_of(*held.launch)});
  }
  held_.clear();
}

void PieceWriter::release_held() {
  const std::vector<Held> held = std::exchange(held_, {});
  for (const Held& h : held) wait_for(collective(*h.launch));
}

std::uint32_t PieceWriter::comm_of(const Launch& launch) {
  const compile::Communication& communication = launch.kernel->communication;
  const auto [slot, group] = slot_of(communication.group);
  return program_.comm(slot, communication.op, payload_of(launch), fmt::format("{} {}", op_name(communication.op), group));
}

RunCost PieceWriter::collective_issue() {
  if (captured()) return with_graph_launch({});
  graph_pending_ = true;
  const Seconds host = costs_.launch.host_per_collective + (costs_.wrapper ? costs_.wrapper->collective : Seconds());
  const RunCost issue{.device = Seconds(), .issue_to_end = host + costs_.launch.launch_latency, .host = host};
  return stack_.launch_blocking ? blocking(issue) : issue;
}

Token PieceWriter::collective(const Launch& launch) {
  const compile::Communication& communication = launch.kernel->communication;
  const Token token = program_.new_token();
  flush();
  const std::vector<Token> waits = pending_waits_;
  Step& step = push(TaskKind::collective, program_.stream(slot_of(communication.group).second), waits);
  step.after_compute = true;
  step.produces = token;
  step.comm = comm_of(launch);
  step.segment = program_.add_segment({.name = program_.name(fmt::format("{} {}", op_name(communication.op), communication.group)), .phase = static_cast<std::uint8_t>(launch.kernel->phase), .recompute = {}});
  step.cost = collective_issue();
  return token;
}

void PieceWriter::operator()(const Communicate& action) {
  flush();
  std::vector<Token> waits = action.waits;
  if (action.after_compute) waits.insert(waits.end(), pending_waits_.begin(), pending_waits_.end());
  Step& step = push(action.kind, program_.stream(action.stream), waits);
  step.after_compute = action.after_compute;
  step.produces = action.produces;
  step.comm = program_.comm(action.slot, action.op, action.payload, action.name);
  step.segment = program_.add_segment({.name = program_.name(action.name), .recompute = {}});
  if (captured() && action.kind == TaskKind::collective) {
    step.cost = with_graph_launch({});
  } else {
    step.cost = eager_issue(costs_.eager.host_per_collective);
    graph_pending_ = true;
  }
}

void PieceWriter::operator()(const SideKernels& action) {
  const bool in_graph = captured() && (stack_.optimizer_in_graph || action.phase != graph::Phase::optimizer);
  // Kernels that nobody waits for extend the run they stand in, if they are launched the same way.
  const bool joins = action.stream == "compute" && action.waits.empty() && !action.produces.valid() && (execution_ != compile::Execution::cuda_graph || in_graph);
  if (!joins) flush();
  const cost::Estimate estimate = costs_.kernel(action.work);
  const NameId text = program_.name(action.name);
  const KernelCost entry{.name = text, .module = program_.name("").value, .estimate = estimate};
  const std::uint32_t first = program_.add_kernel(entry);
  for (int i = 1; i < action.launches; ++i) (void)program_.add_kernel(entry);
  const auto count = static_cast<std::uint32_t>(action.launches);
  RunCost cost;
  if (in_graph) {
    const Seconds device = costs_.launch.device_gap + estimate.time;
    cost = repeat({.device = device, .issue_to_end = device, .host = Seconds()}, action.launches);
  } else {
    const Seconds host = costs_.eager.host_per_kernel + costs_.eager.host_per_operator * (static_cast<double>(action.operators) / action.launches);
    const RunCost one = kernel_run(estimate.time, host, costs_.eager.launch_latency, costs_.eager.device_gap);
    cost = repeat(stack_.launch_blocking ? blocking(one) : one, action.launches);
  }
  const bool in_pass = run_.open() && run_.phase == action.phase && action.phase != graph::Phase::optimizer;
  if (joins) return extend(action.phase, in_pass ? run_.last : text, cost, first, count);
  if (in_graph) {
    cost = with_graph_launch(cost);
  } else {
    graph_pending_ = true;
  }
  const std::uint32_t segment = program_.add_segment({.name = text, .first_kernel = first, .kernel_count = count, .phase = static_cast<std::uint8_t>(action.phase), .recompute = {}});
  Step& step = push(TaskKind::compute, program_.stream(action.stream), action.waits);
  step.after_compute = action.after_compute;
  step.cost = cost;
  step.segment = segment;
  step.produces = action.produces;
}

void PieceWriter::operator()(const Wait& action) { wait_for(action.token); }

void PieceWriter::operator()(const HostWork& action) {
  const Seconds host = action.host + costs_.eager.host_per_operator * static_cast<double>(action.operators);
  if (action.operators > 0 && host == Seconds()) return;  // launched natively: nobody dispatches
  flush();
  const std::uint32_t segment = program_.add_segment({.name = program_.name(action.name), .recompute = {}});
  Step& step = push(TaskKind::host_sync, program_.stream("host"), action.waits);
  step.after_compute = action.after_compute;
  step.cost = {.device = Seconds(), .issue_to_end = host, .host = host};
  step.segment = segment;
}

void PieceWriter::operator()(const MemoryChange& action) {
  piece_.memory.push_back({.step = static_cast<std::uint32_t>(piece_.steps.size()), .memory_class = action.memory_class,
                           .transient = action.transient, .delta = action.delta.value(), .label = program_.label(action.label), .of = program_.label(action.of)});
}

void PieceWriter::operator()(const HostCopy& action) {
  flush();
  std::vector<Token> waits = action.waits;
  if (action.after_compute) waits.insert(waits.end(), pending_waits_.begin(), pending_waits_.end());
  Step& step = push(TaskKind::copy, program_.stream(action.stream), waits);
  step.after_compute = action.after_compute;
  step.produces = action.produces;
  step.segment = program_.add_segment({.name = program_.name(action.name), .phase = static_cast<std::uint8_t>(action.phase), .recompute = {}});
  step.cost = eager_issue(costs_.eager.host_per_kernel);
  step.cost.device += action.device;
  step.cost.issue_to_end += action.device;
  if (captured() && (stack_.optimizer_in_graph || action.phase != graph::Phase::optimizer)) {
    step.cost = with_graph_launch({.device = action.device, .issue_to_end = action.device, .host = Seconds()});
  } else {
    graph_pending_ = true;
  }
}

Piece PieceWriter::finish() {
  release_held();
  flush();
  return std::move(piece_);
}

}  // namespace sgsim::lower
