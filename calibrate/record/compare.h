#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "calibrate/record/samples_file.h"
#include "sim/cost/profile.h"

namespace sgsim::calibrate {

/// One side of a comparison: a profile predicts, samples have measured.
using Side = std::variant<cost::Profile, Samples>;
/// Reads a profile or a samples file (NAME.samples.jsonl). Throws InputError.
[[nodiscard]] Side load_side(const std::string& path);

/// One point that both sides have a time for.
struct Compared {
  Key key;
  double a = 0.0, b = 0.0;  // seconds
  [[nodiscard]] double error() const { return a / b - 1.0; }
};
struct Comparison {
  std::string category;     // "matmul bfloat16 held_out"
  std::vector<Compared> points;
  double median_error = 0.0, p90_error = 0.0;  // of |a / b - 1|
  double bias = 0.0;                           // median of a / b - 1
};

/// The points of the samples on either side that both have a time for, by category, the worst first in each. Two profiles
/// have none: give the samples of one.
[[nodiscard]] std::vector<Comparison> compare_sides(const Side& a, const Side& b);

/// The time that the profile predicts for a point; nothing for points that no profile predicts (launches, forced protocols).
[[nodiscard]] std::optional<double> predict(const cost::Profile& profile, const Key& key, std::optional<double> bytes_moved);

}  // namespace sgsim::calibrate
