#pragma once

#include <nlohmann/json_fwd.hpp>

#include "sim/check/to_scenario.h"

namespace sgsim::check {

/// A config.json of the family that the record's model belongs to, with the sizes that the record or the table of known
/// models gives. Throws InputError with the size that is lacking. `assumed` gains what was derived.
[[nodiscard]] nlohmann::json model_config(const Record& record, const KnownModels& known, std::vector<std::string>& assumed);

/// Whether the generator knows the model's family; otherwise only a captured graph will do.
[[nodiscard]] bool is_generated_family(const Record& record);

}  // namespace sgsim::check
