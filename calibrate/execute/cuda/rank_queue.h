#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/bench/cases/context.h"
#include "calibrate/device/activity.h"
#include "calibrate/execute/assemble_steps.h"
#include "calibrate/execute/cuda/communicators.h"
#include "calibrate/execute/issue.h"

namespace sgsim::calibrate {

class PlanWorkshop;

/// One rank's program made ready on its GPU: streams, kernels with operands, buffers of communications. The thread that makes or
/// uses it has that GPU selected.
class RankQueue final : public Queue {
 public:
  /// Takes at most `most_bytes` of device memory for operands. Throws NotExecutable, or Waived by a case.
  RankQueue(const ExecutableProgram& program, std::uint32_t rank, const Communicators& comms, PlanWorkshop& workshop, std::size_t most_bytes);

  void begin_task(std::uint32_t task) override { task_ = task; }
  void launch(std::uint16_t stream, std::uint32_t work) override;
  void communicate(std::uint16_t stream, ProgramTaskKind kind, std::uint32_t comm) override;
  void record(std::uint16_t stream, std::uint32_t event) override;
  void wait(std::uint16_t stream, std::uint32_t event) override;

  /// Enqueues one step.
  void step() { issue(program_, events_plan_, *this); }
  /// The same with each launch under its own mark (place_by_marks); what was launched is in launches().
  void marked_step(ActivitySource& activities);
  [[nodiscard]] const std::vector<Launched>& launches() const { return launches_; }
  /// One step as a CUDA graph.
  [[nodiscard]] Graph captured_step();

  [[nodiscard]] cudaStream_t main_stream() const { return streams_.front(); }
  void synchronize() const;
  /// Each distinct kernel of this rank against double precision.
  [[nodiscard]] std::vector<NumberCheck> check_kernels();
  void poison_results() const;
  /// Every communication's result, after a step.
  [[nodiscard]] std::vector<NumberCheck> check_results() const;
  /// Performs use `index` of the communicator `group` alone; all members do, within one NCCL group call.
  void use(std::uint32_t group, std::size_t index);
  [[nodiscard]] std::size_t uses_of(std::uint32_t group) const;
  [[nodiscard]] std::size_t operand_bytes() const;

 private:
  struct Kernel {
    Task task;
    int repetition = 0;
  };
  void make_streams(std::size_t most_bytes);
  void make_kernels(PlanWorkshop& workshop);
  void make_buffers(const ExecutableProgram& program);

  const ExecutableProgram& all_;
  const RankProgram& program_;
  std::uint32_t rank_;
  const Communicators& comms_;
  EventPlan events_plan_;
  std::map<std::uint16_t, std::unique_ptr<Context>> contexts_;    // of streams with kernels
  std::map<std::uint16_t, Stream> communication_streams_;
  std::vector<cudaStream_t> streams_;
  std::vector<Event> events_;
  std::map<std::pair<std::uint16_t, std::uint32_t>, Kernel> kernels_;            // stream, work
  std::map<std::pair<std::uint32_t, ProgramTaskKind>, CommBuffers> buffers_;      // comm, what is done
  std::map<std::uint32_t, std::vector<std::pair<std::uint32_t, ProgramTaskKind>>> uses_;  // by group: comm, what is done
  std::size_t pool_bytes_ = 0;

  std::uint32_t task_ = 0;
  std::vector<Launched> launches_;
  ActivitySource* marking_ = nullptr;
};

}  // namespace sgsim::calibrate
