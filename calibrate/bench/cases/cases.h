#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/bench/cases/context.h"
#include "calibrate/bench/runner.h"
#include "calibrate/bench/task.h"
#include "calibrate/device/machine.h"

namespace sgsim::calibrate {

/// How each group's points are made ready; one file a case.
[[nodiscard]] Task prepare_matmul(Context& context, const Key& key);
[[nodiscard]] Task prepare_host_copy(Context& context, const Key& key);
[[nodiscard]] Task prepare_launch(Context& context, ActivitySource& activities, const Key& key);
[[nodiscard]] Task prepare_unfused_attention(Context& context, const Key& key);

// Bandwidth-bound kernels of our own, by kind; prepare_memory asks each in turn.
using Maker = std::optional<Task> (*)(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_pointwise(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_reduction(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_norm(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_softmax(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_cross_entropy(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_embedding(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_copy(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_transpose(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_optimizer(Context& context, const Key& key);
[[nodiscard]] std::optional<Task> make_pooling(Context& context, const Key& key);
[[nodiscard]] Task prepare_memory(Context& context, const Key& key);

/// Compiles cuDNN plans on all cores while other points are measured.
class PlanWorkshop;
[[nodiscard]] std::shared_ptr<PlanWorkshop> make_workshop(const std::vector<Key>& points);
[[nodiscard]] Task prepare_attention(Context& context, PlanWorkshop& workshop, const Key& key);
[[nodiscard]] Task prepare_convolution(Context& context, PlanWorkshop& workshop, const Key& key);

/// Communicators over the local GPUs and the memory that collectives work on.
class Collectives;
[[nodiscard]] std::shared_ptr<Collectives> make_collectives(int gpus);
[[nodiscard]] Task prepare_collective(Collectives& collectives, const Key& key);
class InterferenceRig;
[[nodiscard]] std::shared_ptr<InterferenceRig> make_interference_rig();
[[nodiscard]] Task prepare_interference(InterferenceRig& rig, Collectives& collectives, ActivitySource& activities, const Key& key);

/// All groups that one process with these GPUs can measure. `points` are those to come, for the workshop.
/// `probe` is filled in when the first point that needs it is prepared: it wants activity records.
[[nodiscard]] std::map<std::string, Prepare> all_cases(Context& context, const std::vector<Key>& points, int gpus, ActivitySource& activities, ClockProbe& probe);

/// Versions of the libraries in use: "cublas", "cudnn", "nccl", "cupti".
[[nodiscard]] std::map<std::string, std::string> library_versions(const Context& context);

}  // namespace sgsim::calibrate
