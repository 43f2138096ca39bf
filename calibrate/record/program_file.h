#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/collective.h"
#include "sim/graph/work.h"

namespace sgsim::calibrate {

inline constexpr int kProgramVersion = 1;

/// Wait until stream `stream` of this rank has finished its first `position` tasks.
struct ProgramWait {
  std::uint16_t stream = 0;
  std::uint32_t position = 0;
  bool operator==(const ProgramWait&) const = default;
};

enum class ProgramTaskKind : std::uint8_t { compute, collective, send, receive };

/// One task of a rank; tasks stand in the order in which the host issues them, a stream runs its own in that order.
struct ProgramTask {
  ProgramTaskKind kind = ProgramTaskKind::compute;
  std::uint16_t stream = 0;
  std::vector<ProgramWait> waits;
  std::uint32_t comm = 0;          // communication: index in RankProgram::comms
  std::uint32_t segment = 0;       // compute: index in RankProgram::segments
  std::int32_t micro_batch = -1;
  bool operator==(const ProgramTask&) const = default;
};

/// Kernels of a task, in launch order, as indices in ExecutableProgram::works.
struct ProgramSegment {
  std::string name, phase;         // "forward layer 3", "forward"
  std::vector<std::uint32_t> kernels;
  bool operator==(const ProgramSegment&) const = default;
};

/// A communication: `bytes` as nccl-tests counts (graph/collective.h).
struct ProgramComm {
  std::string name;
  std::uint16_t slot = 0;          // ProgramRank::groups[slot] is the communicator
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  std::int64_t bytes = 0;
  bool operator==(const ProgramComm&) const = default;
};

struct RankProgram {
  std::string name;
  std::vector<std::string> streams;
  std::vector<ProgramTask> tasks;
  std::vector<ProgramSegment> segments;
  std::vector<ProgramComm> comms;
  bool operator==(const RankProgram&) const = default;
};

struct ProgramRank {
  std::uint32_t program = 0;
  std::vector<std::uint32_t> groups;  // by slot
  bool operator==(const ProgramRank&) const = default;
};

struct ProgramGroup {
  std::string kind;                   // "dp"
  std::vector<std::uint32_t> members; // ranks in ring order
  bool operator==(const ProgramGroup&) const = default;
};

/// One step of a whole job, a rank a GPU, ready to be executed. It holds no predicted time: what is measured cannot depend on it.
struct ExecutableProgram {
  std::string name;                   // of the scenario, and how it is executed
  std::string about;                  // model and plan, in words
  bool graph = false;                 // captured in a CUDA graph; false: launched kernel by kernel
  std::int64_t row = 0;               // elements of a row of bandwidth-bound kernels: the model's hidden size
  std::int64_t vocabulary = 0;        // elements of a row of logits on one rank
  std::vector<graph::Work> works;     // distinct kernels
  std::vector<RankProgram> programs;
  std::vector<ProgramRank> ranks;
  std::vector<ProgramGroup> groups;
  bool operator==(const ExecutableProgram&) const = default;
};

[[nodiscard]] std::string to_text(const ExecutableProgram& program);
/// Throws InputError: a broken file, an unknown key, an index out of range, a wait for a task that comes later, members of a
/// communicator that do not use it alike.
[[nodiscard]] ExecutableProgram program_from_text(std::string_view text, const std::string& file);
/// Plain or gzip-packed where the name ends in ".gz".
[[nodiscard]] ExecutableProgram load_program(const std::string& path);
void save_program(const ExecutableProgram& program, const std::string& path);
/// A hash of to_text(program): tells whose measurement a file holds.
[[nodiscard]] std::string program_id(const ExecutableProgram& program);

}  // namespace sgsim::calibrate
