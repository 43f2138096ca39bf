// The readers of hand-written files: whatever the bytes, they return a value or throw InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/core/error.h"
#include "sim/scenario/info.h"
#include "sim/scenario/read.h"
#include "sim/scenario/sweep/sweep.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    const auto scenario = sgsim::scenario::scenario_from_text(text, "fuzz.json", "/nonexistent");
    // What was read prints, and what was printed reads back to the same.
    const std::string printed = sgsim::scenario::effective_text(scenario);
    SGSIM_CHECK(sgsim::scenario::effective_text(sgsim::scenario::scenario_from_text(printed, "again.json", "/")) == printed, "a scenario changed in printing");
  } catch (const sgsim::InputError&) {
  }
  try {
    (void)sgsim::scenario::cluster_from_text(text, "fuzz.json");
  } catch (const sgsim::InputError&) {
  }
  try {
    const auto sweep = sgsim::scenario::sweep_from_text(text, "fuzz.json", "/nonexistent");
    (void)sgsim::scenario::settings_of(sweep, sweep.points() - 1);
  } catch (const sgsim::InputError&) {
  }
  (void)sgsim::scenario::kind_of(text);
  return 0;
}
