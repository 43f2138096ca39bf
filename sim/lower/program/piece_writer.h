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

/// Tensor-parallel groups in lockstep: all members run the same program at the same speed and arrive together, so that a
/// collective that the next kernel waits for is a kernel of known time.
struct Lockstep {
  cluster::GroupShape tensor;
};

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
  /// `modules` names the kernels' ModuleIds. In a CUDA graph every captured stretch costs one graph launch.
  PieceWriter(StageProgram& program, compile::Execution execution, const TaskCosts& costs, const std::vector<std::string>& modules, const Stack& stack,
              const Lockstep* lockstep = nullptr);

  /// One list of a position with its insertions (ascending by kernel): kernels and collectives in launch order.
  void kernels(const std::vector<Launch>& launches, const RunLabel& label, std::span<const Insertion> insertions);
  void act(const Action& action);

  [[nodiscard]] Piece finish();

 private:
  struct Run {
    RunCost cost;
    std::uint32_t first_kernel = 0, kernel_count = 0;
    graph::Phase phase = graph::Phase::forward;
    NameId first, last;        // positions
    Seconds recompute, communication;
    [[nodiscard]] bool open() const { return kernel_count > 0; }
  };

  void flush();
  void extend(graph::Phase phase, NameId position, const RunCost& cost, std::uint32_t first_kernel, std::uint32_t count);
  void compute(const Launch& launch, const RunLabel& label, NameId position);
  [[nodiscard]] Token collective(const Launch& launch);
  void merged_collective(const Launch& launch, const RunLabel& label, NameId position);
  [[nodiscard]] bool merges(const Launch& launch, std::size_t index, const std::vector<Launch>& launches) const;
  void wait_for(Token token);
  void operator()(const Communicate& action);
  void operator()(const SideKernels& action);
  void operator()(const Wait& action);
  void operator()(const HostWork& action);
  void operator()(const MemoryChange& action);
  Step& push(TaskKind kind, std::uint16_t stream, const std::vector<Token>& waits);
  RunCost with_graph_launch(RunCost cost);
  [[nodiscard]] bool captured() const { return execution_ == compile::Execution::cuda_graph && stack_.nccl_in_graph; }
  [[nodiscard]] RunCost eager_issue(Seconds host) const;

  StageProgram& program_;
  compile::Execution execution_;
  const TaskCosts& costs_;
  const std::vector<std::string>& modules_;
  const Stack& stack_;
  const Lockstep* lockstep_;
  bool graph_pending_ = true;  // the next captured task pays the graph launch
  Piece piece_;
  Run run_;
  std::vector<Token> pending_waits_;   // of the next compute task
};

}  // namespace sgsim::lower
