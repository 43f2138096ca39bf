#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/cost/profile_names.h"
#include "sim/cost/strict_json.h"
#include "sim/graph/dtype.h"
#include "sim/graph/work.h"

namespace sgsim::calibrate {

/// The enumeration's value of a word that profiles use. For .cpp files only, as all here.
template <class Enum>
[[nodiscard]] Enum word_of(cost::StrictObject& object, std::string_view key) {
  const std::string word = object.text(key);
  const auto* found = std::find(std::begin(cost::Names<Enum>::words), std::end(cost::Names<Enum>::words), word);
  if (found == std::end(cost::Names<Enum>::words)) object.fail(key, "\"" + word + "\"", "a " + std::string(cost::Names<Enum>::what), "");
  return static_cast<Enum>(found - std::begin(cost::Names<Enum>::words));
}

/// One kernel's work with all that its cost depends on.
[[nodiscard]] nlohmann::json write_work(const graph::Work& work);
[[nodiscard]] graph::Work read_work(cost::StrictObject& object);

}  // namespace sgsim::calibrate
