#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "sim/scenario/json_reader.h"
#include "sim/scenario/scenario.h"

namespace sgsim::scenario {

/// Writes each setting into `root`, making objects on the way, and notes in Document::set what each one made or changed,
/// so that an error there names the setting. A list grows by its next index only. Throws InputError on a malformed path.
void apply_settings(nlohmann::json& root, std::span<const Setting> settings, Document& document);

}  // namespace sgsim::scenario
