#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace sgsim::scenario {

/// What a change is about; hardware changes cost money, batch changes alter training.
enum class VariantKind : std::uint8_t { plan, execution, batch, hardware };

/// One change of a scenario, as the settings that make it.
struct Variant {
  VariantKind kind = VariantKind::plan;
  std::string name;               // "recompute none"
  std::vector<Setting> settings;  // also what the user types to try it
  bool operator==(const Variant&) const = default;
};

/// The single changes worth trying: sizes up and down one step, each other sharding, schedule, recompute and execution
/// mode, prefetch and buckets, faster links. Legality and memory are not looked at here.
[[nodiscard]] std::vector<Variant> variants_of(const Scenario& scenario);

/// The changes that take memory away, singly and in pairs, mildest first.
[[nodiscard]] std::vector<Variant> memory_variants_of(const Scenario& scenario);

/// Both changes at once; nothing where they set one field to different values.
[[nodiscard]] std::optional<Variant> both(const Variant& a, const Variant& b);

/// "--set plan.tp=4 --set plan.dp=fill".
[[nodiscard]] std::string flags_text(const Variant& variant);

/// The scenario with a variant's settings. Throws InputError where a setting is out of range.
[[nodiscard]] Scenario with(const Scenario& scenario, const Variant& variant);

}  // namespace sgsim::scenario
