#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/device/machine.h"

namespace sgsim::calibrate {

inline constexpr int kMeasuredVersion = 1;

/// When a task ran, on a clock common to all ranks that starts with the step: median over the traced steps. `busy_ns`: sum of its
/// records' durations. A task of which no record came has `records` 0.
struct MeasuredTask {
  std::int64_t start_ns = 0, end_ns = 0, busy_ns = 0;
  int records = 0;
  bool operator==(const MeasuredTask&) const = default;
};

/// One of ExecutableProgram::works as it ran inside the steps, over all ranks and traced steps.
struct MeasuredWork {
  int count = 0;
  double median_s = 0.0, least_s = 0.0, greatest_s = 0.0;
  bool operator==(const MeasuredWork&) const = default;
};

/// Numbers in a buffer against what they must be. `elements` were compared, `wrong` of them differ; kernels: relative error over
/// sampled elements against double precision.
struct NumberCheck {
  std::string what;              // "rank 0: all_reduce dp, 26214400 bytes"
  std::uint64_t elements = 0, wrong = 0;
  double error = 0.0, tolerance = 0.0;
  [[nodiscard]] bool passed() const { return wrong == 0 && error <= tolerance; }
  bool operator==(const NumberCheck&) const = default;
};

struct MeasuredSteps {
  int count = 0;
  // By the host's clock, first issue to all GPUs idle; a CUDA graph: on the device, launched while the GPU was held back.
  double median_s = 0.0, least_s = 0.0, greatest_s = 0.0, spread_s = 0.0;
  double event_s = 0.0;          // median between events at both ends of the main stream, slowest rank
  double issue_s = 0.0;          // median of the host's time to issue a step, slowest rank
  double traced_s = 0.0;         // median length of the traced steps, by their records
  int traced = 0;
  bool operator==(const MeasuredSteps&) const = default;
};

struct MeasuredMemory {          // of the fullest GPU, bytes
  std::int64_t context = 0;      // before anything of ours, libraries included
  std::int64_t communicators = 0;
  std::int64_t operands = 0;     // kernels' and collectives' buffers
  bool operator==(const MeasuredMemory&) const = default;
};

/// What executing a program gave.
struct MeasuredProgram {
  std::string program;           // program_id
  std::string name;
  bool graph = false;
  std::string command;
  Machine machine;
  MeasuredSteps steps;
  double graph_instantiate_s = 0.0;
  int graph_nodes = 0;           // of rank 0
  MeasuredMemory memory;
  double sm_clock_mhz = 0.0, power_w = 0.0;  // while steps ran: medians of GPU 0
  std::vector<std::vector<MeasuredTask>> ranks;  // by rank, by task of its program
  std::map<std::uint32_t, MeasuredWork> works;   // by index
  std::vector<NumberCheck> numbers;
  std::uint64_t waits_checked = 0, waits_violated = 0;  // a task that began before what it waits for had ended
  std::uint64_t records_dropped = 0, records_unplaced = 0;
  std::vector<std::string> notes;
  bool operator==(const MeasuredProgram&) const = default;
};

[[nodiscard]] std::string to_text(const MeasuredProgram& measured);
/// Throws InputError on a broken file or an unknown key.
[[nodiscard]] MeasuredProgram measured_from_text(std::string_view text, const std::string& file);
[[nodiscard]] MeasuredProgram load_measured(const std::string& path);
/// Gzip-packed where the name ends in ".gz".
void save_measured(const MeasuredProgram& measured, const std::string& path);

}  // namespace sgsim::calibrate
