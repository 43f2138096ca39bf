#pragma once

#include <string>
#include <vector>

#include "sim/lower/memory/live.h"
#include "sim/scenario/memory_curve.h"

namespace sgsim::scenario {

/// Memory of a real rank item by item. The scenario must have been lowered (its plan is legal).
[[nodiscard]] lower::MemoryLog memory_log(const Scenario& scenario, const Inputs& inputs, RankId rank);

/// What is live at a point of a rank's curve, largest first.
[[nodiscard]] std::vector<lower::LiveItem> live_at(const lower::MemoryLog& log, const MemoryAt& at);

/// The fullest point of a curve; of a time: the last point until then. Nothing for an empty curve.
[[nodiscard]] const MemoryAt* fullest(const std::vector<MemoryAt>& curve);
[[nodiscard]] const MemoryAt* at_time(const std::vector<MemoryAt>& curve, Seconds time);

/// An item's place as a person reads it: "layer 12", "after the layers".
[[nodiscard]] std::string place_words(const std::string& of);

/// A table: bytes, what, where, micro-batch; at most `most` rows, the rest in one.
[[nodiscard]] std::string live_text(const std::vector<lower::LiveItem>& items, const std::string& title, std::size_t most);

}  // namespace sgsim::scenario
