#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "sim/core/quantity.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

struct Profile;

/// Kernels that differ in what an operation costs and in how far the clock binds them.
enum class PowerKind : std::uint8_t { matmul, attention, memory_bound };
inline constexpr std::size_t kPowerKinds = 3;

/// What the power limit does to a GPU that works without a pause. A profile's times are of short bursts at full clock; over tens of
/// milliseconds the GPU stays under its limit by lowering its clock to the share f of the full one at which what it has to do draws just
/// the limit. With the time t_k and the energy e_k of a step's kernels of kind k at full clock, what communication draws, and the rest
/// of the step's time r (powers as shares of the limit, energies as seconds at the limit):
///   base + (sum_k e_k f^energy_exponent_k + e_communication) / (sum_k t_k f^-time_exponent_k + r) = 1
/// A kernel takes f^-time_exponent times as long. The clock is one a GPU: all its kernels see it.
struct PowerModel {
  double base = 0.0;                     // drawn by a GPU at full clock that does nothing
  double matmul = 0.0;                   // seconds at the limit, per 1e15 flops of 16 bits
  std::map<graph::DType, double> matmul_of_type;  // the same of other types; a type that is not here takes matmul's
  double attention[2] = {};              // the same of fused attention, forward and backward: of its products
  double scores[2] = {};                 // per 1e12 scores (query times key): of its exponentials
  double memory_bound = 0.0;             // per 1e13 bytes through bandwidth-bound kernels
  double communication = 0.0;            // drawn beside all that while a transfer runs
  std::array<double, kPowerKinds> energy_exponent{}, time_exponent{};
  bool operator==(const PowerModel&) const = default;
};

/// From the profile's factors "power.*" (docs/formats/profile.md); nothing where it has none: its times are then taken as they are.
[[nodiscard]] std::optional<PowerModel> power_model(const Profile& profile);

[[nodiscard]] PowerKind power_kind(const graph::Work& work);

/// What one GPU does in a step, at full clock.
struct PowerLoad {
  std::array<Seconds, kPowerKinds> time{}, energy{};  // energy: seconds at the limit
  Seconds communication;                              // transfers
  Seconds step;                                       // its length
  void add(const PowerModel& model, const graph::Work& work, Seconds at_full_clock);
};

/// Mean power over the limit at clock share `f`.
[[nodiscard]] double power_share(const PowerModel& model, const PowerLoad& load, double f);
/// Clock over full clock; 1 where the load stays under the limit.
[[nodiscard]] double clock_share(const PowerModel& model, const PowerLoad& load);
/// Time of a kernel at that clock over its time at full clock.
[[nodiscard]] double slowdown(const PowerModel& model, const graph::Work& work, double clock_share);

}  // namespace sgsim::cost
