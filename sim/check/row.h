#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/quantity.h"

namespace sgsim::check {

/// What is compared of memory: what the allocator handed out, or what it holds with everything around it.
enum class MemoryKind : std::uint8_t { allocated, reserved };

/// A record against its prediction.
struct Row {
  std::string file, id, source, stack, gpu;
  std::string model;                  // records with equal texts are plans of one model on one machine and batch
  std::string plan;                   // short, for people
  std::string skipped;                // why there is no prediction; empty: there is one
  std::string framework;
  std::string profile;                // of its GPU, by name, before `--profile` puts another in its place
  std::vector<std::string> assumed;   // facts that the record lacks

  std::optional<double> measured_s, predicted_s;
  std::optional<double> low_s, high_s;          // 90 % interval of the prediction
  std::string dominates;              // the largest share of the step, "computation 81 %"
  bool trusted = true;                // false: the source itself doubts the figure (suite files decide what to do with it)

  MemoryKind memory_kind = MemoryKind::allocated;
  std::optional<double> measured_memory, predicted_memory;  // bytes, of that kind
  double predicted_allocated = 0.0, predicted_reserved = 0.0;
  std::optional<bool> measured_fits, predicted_fits;

  /// predicted / measured - 1; nothing where either is missing.
  [[nodiscard]] std::optional<double> error() const { return relative(predicted_s, measured_s); }
  [[nodiscard]] std::optional<double> memory_error() const { return relative(predicted_memory, measured_memory); }
  [[nodiscard]] std::optional<bool> inside() const {
    if (!low_s || !high_s || !measured_s) return std::nullopt;
    return *low_s <= *measured_s && *measured_s <= *high_s;
  }

 private:
  static std::optional<double> relative(const std::optional<double>& predicted, const std::optional<double>& measured) {
    if (!predicted || !measured || *measured <= 0.0) return std::nullopt;
    return *predicted / *measured - 1.0;
  }
};

}  // namespace sgsim::check
