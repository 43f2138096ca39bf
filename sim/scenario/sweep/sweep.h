#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.h"

namespace sgsim::scenario {

/// Fields that change together, and what they take at each of its steps.
struct Axis {
  std::vector<std::string> paths;                 // as --set takes them
  std::vector<std::vector<std::string>> values;   // by step, then by path; JSON
};

/// A grid over scenario fields (docs/formats/sweep.md).
struct Sweep {
  std::string file;
  std::string description;
  std::string scenario;                           // absolute path
  std::vector<Setting> set;                       // applied to every point, before its own
  std::vector<Axis> axes;                         // the last one runs fastest

  [[nodiscard]] std::uint64_t points() const;
  [[nodiscard]] std::vector<std::string> paths() const;  // of all axes, in order: the columns
};

/// Reads a sweep file. Throws InputError; more than 100,000 points are refused.
[[nodiscard]] Sweep read_sweep(const std::string& path);
[[nodiscard]] Sweep sweep_from_text(std::string_view text, const std::string& file, const std::string& folder);

/// The settings of one point, those of its axes only, in the order of paths().
[[nodiscard]] std::vector<Setting> settings_of(const Sweep& sweep, std::uint64_t point);

}  // namespace sgsim::scenario
