#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "calibrate/record/program_file.h"

namespace sgsim::calibrate {

/// What one rank's program is issued to: a GPU's streams, or a fake in tests. Calls come in host order.
class Queue {
 public:
  virtual ~Queue() = default;
  /// What is enqueued until the next call belongs to `task`.
  virtual void begin_task(std::uint32_t task) = 0;
  virtual void launch(std::uint16_t stream, std::uint32_t work) = 0;
  /// A collective, send or receive (`kind`) of RankProgram::comms.
  virtual void communicate(std::uint16_t stream, ProgramTaskKind kind, std::uint32_t comm) = 0;
  virtual void record(std::uint16_t stream, std::uint32_t event) = 0;
  virtual void wait(std::uint16_t stream, std::uint32_t event) = 0;
};

/// The events that a program needs: one at its beginning, one behind each task that another stream waits for, one at the end of
/// each stream.
struct EventPlan {
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::uint32_t> behind;  // (stream, position) -> event
  std::uint32_t begin = 0;
  std::vector<std::uint32_t> end;                                           // by stream
  std::uint32_t count = 0;
};
[[nodiscard]] EventPlan plan_events(const RankProgram& program);

/// Enqueues one step. Every stream first waits for stream 0's beginning, and stream 0 at last for every stream's end, so that the
/// step can be captured from stream 0 and its two ends stand there. A wait that an earlier one of the same stream implies is left out.
void issue(const RankProgram& program, const EventPlan& events, Queue& queue);

}  // namespace sgsim::calibrate
