#pragma once

#include <array>
#include <optional>

#include "sim/replay/overlaps.h"
#include "sim/replay/phases.h"
#include "sim/replay/scaling.h"
#include "sim/replay/timing.h"

namespace sgsim::replay {

/// Where a program stands in the pipeline.
struct Place {
  int stage = 0, stages = 1;
  [[nodiscard]] bool first() const { return stage == 0; }
  [[nodiscard]] bool last() const { return stage + 1 == stages; }
};

/// A pass ready to be written any number of times: operations with their scaled device and host times.
struct Template {
  struct Entry {
    std::uint32_t op = 0;
    Seconds device, latency, host, work;
    std::optional<Nanoseconds> transfer;  // of a collective that waits for its members
    Role role = Role::tensor;
  };
  std::vector<Entry> entries;
};

/// Slots of a program's communicators, in this order where they are used.
enum class Way : std::uint8_t { tensor, data, forward_in, forward_out, backward_in, backward_out };
inline constexpr std::size_t kWays = 6;

/// Which collectives of data parallel groups a pass keeps.
enum class DataCollectives : std::uint8_t { all, gathers, none };

/// Writes one stage's program.
class StageBuilder {
 public:
  StageBuilder(const trace::ImportedRun& run, const trace::RankTrace& rank, const Overlaps& overlaps, std::string name);

  /// Appends a pass. `receive`, `send`: transfer times of the messages before and after it.
  struct Neighbours {
    std::optional<Nanoseconds> receive, send;
    Bytes bytes = Bytes(0.0);
    bool forward = true;
  };
  void append(const Template& pass, std::int32_t micro_batch, DataCollectives keeps, bool after_everything, const Neighbours& neighbours);

  [[nodiscard]] lower::Program finish() { return std::move(program_); }
  /// After finish().
  [[nodiscard]] std::vector<TaskNote> notes() { return std::move(notes_); }
  /// Slot by way, where it is used.
  [[nodiscard]] const std::array<std::optional<std::uint16_t>, kWays>& slots() const { return slots_; }

 private:
  std::uint16_t slot(Way way);
  [[nodiscard]] std::uint16_t stream_of(std::uint32_t device_op) const;
  void follow_stream(lower::Task& task, std::uint32_t device_op, const std::vector<std::uint32_t>& before);
  std::uint16_t stream(const char* name);
  NameId name(const std::string& text);
  std::uint32_t segment(const std::string& text);
  void depend(lower::Task& task, std::uint16_t stream, std::uint32_t position);
  std::uint32_t add(lower::Task task, TaskNote note);
  lower::Task message(bool sends, bool forward, Nanoseconds transfer, Bytes bytes, std::int32_t micro_batch);
  void write(const Template::Entry& entry, std::int32_t micro_batch, lower::Task& task);

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  const Overlaps& overlaps_;
  std::vector<std::vector<std::uint32_t>> edges_;      // by device operation
  std::vector<std::uint32_t> place_;                   // position in its stream of its latest copy
  std::vector<std::uint32_t> pass_of_;                 // number of the pass of its latest copy
  std::vector<std::uint32_t> position_;                // by stream: tasks so far
  std::array<std::optional<std::uint16_t>, kWays> slots_{};
  std::uint16_t next_slot_ = 0;
  std::uint32_t passes_ = 0;
  std::vector<std::pair<std::uint16_t, std::uint32_t>> previous_;  // ends of the pass before, on its streams
  std::map<std::string, std::uint32_t> names_, segments_;
  lower::Program program_;
  std::vector<TaskNote> notes_;  // by task
};

}  // namespace sgsim::replay
