#pragma once

#include <array>
#include <map>
#include <string>

#include "sim/core/quantity.h"
#include "sim/lower/workload.h"
#include "sim/scenario/result.h"

namespace sgsim::scenario {

/// Device time of one step of one program by what it rests on and where it goes: what the tasks cost alone, before an
/// engine lets them wait for each other.
struct ProgramTotals {
  struct Item {
    Seconds time;
    Seconds error;        // sum of time * sigma: one standard error when all its launches err alike
    double launches = 0;
  };
  std::map<std::string, Item> kernels;        // by kernel name
  std::map<std::string, Item> layers;         // by module path
  std::map<std::string, Item> communication;  // by name
  std::array<Seconds, kSources> compute_by_source{}, comm_by_source{};
};

[[nodiscard]] ProgramTotals totals_of(const lower::Program& program);

/// Adds `weight` times `from`.
void accumulate(ProgramTotals& into, const ProgramTotals& from, double weight);

}  // namespace sgsim::scenario
