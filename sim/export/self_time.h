#pragma once

#include <vector>

#include "sim/trace/imported_run.h"

namespace sgsim::exporting {

/// A stretch of host time on a thread.
struct Stretch {
  trace::Nanoseconds start = trace::kNoTime, duration = 0;
  std::uint32_t thread = 0;
};

/// What each stretch takes beside the stretches of its thread that lie within it. Those without a start keep their duration.
[[nodiscard]] std::vector<trace::Nanoseconds> self_times(const std::vector<Stretch>& stretches);

}  // namespace sgsim::exporting
