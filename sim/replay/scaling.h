#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "sim/cost/estimate.h"
#include "sim/replay/rescale.h"
#include "sim/trace/kernel_kind.h"

namespace sgsim::replay {

/// What a communicator is for. `other`: the file says that it is none of these (embeddings of first and last stage, norms over stages).
enum class Role : std::uint8_t { tensor, data, pair, other };

/// By the words of a communicator's description: "mesh_tp", "TENSOR_MODEL_PARALLEL_GROUP", "pp forward" (DeviceMesh, Megatron, sgsim); nothing where none is known.
[[nodiscard]] std::optional<Role> role_in(std::string_view description);

/// What another size, GPU or network makes of the captured times.
class Scaling {
 public:
  Scaling(const trace::ImportedRun& run, const trace::Matching& matching, const Rescale& request);

  /// Throws InputError where the sizes cannot be had from what was captured.
  void check_sizes() const;
  /// Factors on the duration of kernels, by kind. Tells what it assumes in `report`.
  [[nodiscard]] std::array<double, trace::kKernelKinds> kernel_factors(Diagnostics& report) const;
  /// By the words of the group's description, else by its size. Throws InputError where neither tells.
  [[nodiscard]] Role role_of(const trace::Collective& collective) const;
  /// Transfer time of a captured collective with another group and machine; nothing where it is kept as it was. Captured is the least over its members; where
  /// some are not imported, at most what the cost model can account for on the captured machine.
  [[nodiscard]] std::optional<Nanoseconds> transfer(std::uint32_t rank, std::uint32_t collective, Diagnostics& report) const;
  /// Time of one message from wanted stage `from` to the next. `captured`: a captured one.
  struct Message {
    std::uint32_t rank = 0, collective = 0;
    int stage = 0;  // captured: it went between this stage and the next
  };
  [[nodiscard]] Nanoseconds message(const std::optional<Message>& captured, int stage, Bytes& bytes, Diagnostics& report) const;

 private:
  [[nodiscard]] bool sequence_is_divided() const;
  [[noreturn]] void refuse(std::string found, std::string expected, std::string hint) const;
  [[nodiscard]] std::optional<cost::TransferEstimate> model(const Machine& machine, const Sizes& sizes, Role role, graph::CollectiveOp op, Bytes bytes, Diagnostics& report) const;
  [[nodiscard]] cost::TransferEstimate pair_model(const Machine& machine, const Sizes& sizes, int stage, Bytes bytes, Diagnostics& report) const;
  [[nodiscard]] static double transfer_slowdown(const Machine& machine, const Sizes& sizes, Role role);
  [[nodiscard]] double slowing(Role role, double captured_over_alone, Diagnostics& report) const;
  [[nodiscard]] Nanoseconds captured_time(std::uint32_t rank, std::uint32_t collective, const cost::TransferEstimate& model, double slowdown, Diagnostics& report) const;

  const trace::ImportedRun& run_;
  const Rescale& request_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Nanoseconds> least_;  // by rank and collective: where several members are imported
  std::set<std::pair<std::uint32_t, std::uint32_t>> complete_;            // likewise: where all are
};

/// GPUs of one communicator of a job, in ring order: of the `of`-th rank along the other sizes of the first stage.
[[nodiscard]] std::vector<GpuId> members(const Sizes& sizes, Role role, int of);

}  // namespace sgsim::replay
