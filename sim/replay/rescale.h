#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/core/quantity.h"
#include "sim/cost/profile.h"
#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Sizes of a job: data, tensor and pipeline parallel, and micro-batches a step. Rank ((p * dp) + d) * tp + t: tensor fastest, as in Megatron.
struct Sizes {
  int dp = 1, tp = 1, pp = 1, micro_batches = 1;
  [[nodiscard]] int ranks() const { return dp * tp * pp; }
  bool operator==(const Sizes&) const = default;
};

/// The sizes that a timeline of sgsim simulate names; nothing for other files. Throws InputError where it has context or expert parallel ranks or several
/// model chunks a stage, which are not rescaled.
[[nodiscard]] std::optional<Sizes> sizes_in(const trace::ImportedRun& run);

/// The tensor parallel size that descriptions of communicators name ("mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP"); nothing where none does.
[[nodiscard]] std::optional<int> tensor_size_said(const trace::ImportedRun& run);

/// A machine: its cluster, large enough for the job, and the profile of its GPUs.
struct Machine {
  const cluster::Cluster& cluster;
  const cost::Profile& profile;
};

/// The captured job and machine, and the wanted ones.
struct Rescale {
  Sizes captured, wanted;
  Machine from, to;
  Bytes boundary = Bytes(-1.0);  // one micro-batch's activations between two stages; needed where no send was captured
  double host = 1.0;             // factor on the host's own times; 0: it never holds the device back
};

/// Counts collectives and sends that lasted longer than their transfer can have, on ranks whose peers are not all imported: the rest was waiting, and is left out.
inline constexpr const char* kWaitingLeftOut = "import.rescale.waiting_for_absent_ranks_left_out";

/// Whether the wanted step is put together from captured passes (pipeline.h) rather than whole steps.
[[nodiscard]] bool made_of_passes(const Rescale& request);

/// The captured programs on every rank of the wanted job: ready to fold.
struct Rescaled {
  lower::Workload workload;
  std::vector<ProgramNotes> notes;  // by program
  Diagnostics report;   // "import.rescale.<what>": every assumption, counted
};

/// A collective's transfer time is the captured one (least over the imported ranks; where some are not imported, at most what the cost model accounts for) times what the cost model gives for the wanted over the
/// captured group, size and machine. Kernels: with another tensor size, matrix products, attention and the optimizer (all kernels where the
/// sequence is divided too) take the share of the sizes; with another GPU, matrix products, attention and convolutions go by peak rate, everything else by memory bandwidth. The batch of a
/// rank's micro-batch stays as it was. The host's times stay. The wanted ranks run the captured ranks' programs in turn, so that how much ranks wait for each other's
/// hosts stays too; a timeline of sgsim simulate gives one program.
/// Pipelines (captured or wanted), and other numbers of micro-batches: the captured passes of a stage are put in 1F1B order (pipeline.h).
/// `dependencies`: by rank of the run. Throws InputError where the file names another GPU than the captured machine has, where a group's role does not follow from its description or size, or a size of 1 was captured
/// and a larger one is wanted: the program then lacks the collectives that it would need.
[[nodiscard]] Rescaled rescale(const trace::ImportedRun& run, const trace::Matching& matching, const std::vector<trace::Dependencies>& dependencies, const Rescale& request);

}  // namespace sgsim::replay
