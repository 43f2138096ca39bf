#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "sim/check/to_scenario.h"
#include "sim/scenario/simulate.h"

namespace sgsim::check {

enum class KernelClass : std::uint8_t { product, attention, convolution, bandwidth, optimizer, copy, communication };
inline constexpr std::size_t kKernelClasses = 7;
[[nodiscard]] const char* name_of(KernelClass kind);

/// Device time and launches of one rank over one step.
struct KernelTime {
  double seconds = 0.0;
  double launches = 0.0;
};
/// One rank over one step, predicted or traced.
struct KernelSide {
  std::array<KernelTime, kKernelClasses> by_class{};
  std::map<std::int64_t, KernelTime> products;  // by floating-point operations: a linear layer's three products are one entry
  std::map<std::int64_t, KernelTime> attention; // the same; forward and backward apart
  double busy = 0.0;         // time in which any kernel ran
  double overlapped = 0.0;   // time in which communication and other kernels ran
  double step = 0.0;
};

/// A run's trace against its prediction.
struct KernelComparison {
  std::string id;
  std::string skipped;  // why there is no comparison; empty: there is one
  KernelSide predicted, traced;
};

/// Reads a Kineto trace (Chrome JSON, packed or not): the mean of its profiled steps, which are
/// counted by the profiler's marks or, where it left none, by the kernels that a step is known to run. Throws InputError.
[[nodiscard]] KernelSide read_kernels(const std::string& path, double kernels_a_step = 0.0);
/// What rank 0 of a simulated step runs.
[[nodiscard]] KernelSide kernels_of(const scenario::Run& run);

/// One a record; those without a trace, or that cannot be predicted, say why.
[[nodiscard]] std::vector<KernelComparison> compare_kernels(const std::vector<Record>& records, const Sources& sources, const scenario::RunEngine& engine,
                                                            const std::map<std::string, std::string>& profiles);
[[nodiscard]] std::string text_report(const std::vector<KernelComparison>& comparisons);
/// {"kernels": [{"id", "skipped", "classes", "products", "attention", "step_s", "busy_s", "overlapped_s"}]}: each figure as
/// {"predicted", "traced"}, of one rank and step.
[[nodiscard]] std::string json_report(const std::vector<KernelComparison>& comparisons);

}  // namespace sgsim::check
