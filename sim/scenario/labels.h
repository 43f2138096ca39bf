#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/cost/estimate.h"
#include "sim/lower/lower.h"
#include "sim/lower/workload.h"

/// The words that reports and traces use for the enumerations.
namespace sgsim::scenario {

[[nodiscard]] std::string_view label(cost::Source source);
[[nodiscard]] std::string_view label(cost::Bound bound);
[[nodiscard]] std::string_view label(lower::MemoryClass kind);
[[nodiscard]] std::string_view label(lower::TaskKind kind);
/// Of a lower::Segment's phase (graph::Phase).
[[nodiscard]] std::string_view phase_label(std::uint8_t phase);

/// A program's name without what tells ranks of one stage apart: "stage 3" of "stage 3, links 2".
[[nodiscard]] std::string stage_name(std::string_view program);

}  // namespace sgsim::scenario
