#pragma once

#include <utility>
#include <vector>

#include "sim/trace/dependencies.h"

namespace sgsim::replay {

using trace::Nanoseconds;

/// When a rank's host stood still for the device: that is none of its own time.
class Waited {
 public:
  Waited() = default;
  Waited(const trace::RankTrace& rank, const trace::Dependencies& dependencies);
  /// How much of a stretch of time it did.
  [[nodiscard]] Nanoseconds within(Nanoseconds from, Nanoseconds to) const;

 private:
  std::vector<std::pair<Nanoseconds, Nanoseconds>> stretches_;  // apart from each other, ascending
};

}  // namespace sgsim::replay
