#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/lower/program/actions.h"
#include "sim/lower/program/launches.h"
#include "sim/lower/program/stage_program.h"

namespace sgsim::lower {

/// What a run of kernels is called and counted as.
struct RunLabel {
  graph::Phase phase = graph::Phase::forward;
  std::string_view position;   // "layer 12", "before"
  bool recompute = false;
};

/// Writes one piece: kernels merge into one compute task until something stands between them that others can see
/// (a wait, a communication, a token).
class PieceWriter {
 public:
  /// `modules` names the kernels' ModuleIds. In a CUDA graph every captured stretch costs one graph launch. With
  /// `merge_lockstep`, tensor-parallel collectives between two kernels with nothing else there become parts of their run.
  PieceWriter(StageProgram& program, compile::Execution execution, const TaskCosts& costs, const std::vector<std::string>& modules, const Stack& stack,
              bool merge_lockstep = false);

  /// One list of a position with its insertions (ascending by kernel): kernels and collectives in launch order.
  void kernels(const std::vector<Launch>& launches, const RunLabel& label, std::span<const Insertion> insertions);
  void act(const Action& action);

  [[nodiscard]] Piece finish();

 private:
  struct Run {
    RunCost cost;              // of its kernels since the last merged collective
    std::uint32_t first_kernel = 0, kernel_count = 0;
    graph::Phase phase = graph::Phase::forward;
    NameId first, last;        // positions
    Seconds recompute;
    std::vector<Part> parts;   // up to the last merged collective
    [[nodiscard]] bool open() const { return kernel_count > 0; }
  };

  /// A collective of a kernel list that is issued.
  struct InFlight {
    std::uint32_t reader = 0;
    Token token;
    bool tensor = false;
  };
  /// A collective that becomes part of the run if a kernel follows it before anything else does.
  struct Held {
    const Launch* launch = nullptr;
    graph::Phase phase = graph::Phase::forward;
  };

  void flush();
  void extend(graph::Phase phase, NameId position, const RunCost& cost, std::uint32_t first_kernel, std::uint32_t count);
  void compute(const Launch& launch, const RunLabel& label, NameId position);
  [[nodiscard]] Token collective(const Launch& launch);
  [[nodiscard]] std::uint32_t comm_of(const Launch& launch);
  [[nodiscard]] RunCost collective_issue();
  [[nodiscard]] bool can_merge(const Launch& launch, std::uint32_t index, const RunLabel& label, const std::vector<InFlight>& in_flight) const;
  void merge_held();
  void release_held();
  void wait_for(Token token);
  void operator()(const Communicate& action);
  void operator()(const SideKernels& action);
  void operator()(const Wait& action);
  void operator()(const HostWork& action);
  void operator()(const MemoryChange& action);
  void operator()(const HostCopy& action);
  Step& push(TaskKind kind, std::uint16_t stream, const std::vector<Token>& waits);
  RunCost with_graph_launch(RunCost cost);
  [[nodiscard]] bool captured() const { return execution_ == compile::Execution::cuda_graph && stack_.nccl_in_graph; }
  [[nodiscard]] RunCost eager_issue(Seconds host) const;

  StageProgram& program_;
  compile::Execution execution_;
  const TaskCosts& costs_;
  const std::vector<std::string>& modules_;
  const Stack& stack_;
  bool merge_lockstep_;
  bool graph_pending_ = true;  // the next captured task pays the graph launch
  Piece piece_;
  Run run_;
  std::vector<Held> held_;             // in order
  std::vector<Token> pending_waits_;   // of the next compute task
};

}  // namespace sgsim::lower
