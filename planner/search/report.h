#pragma once

#include <cstddef>
#include <string>

#include "planner/search/placement.h"
#include "planner/search/search.h"
#include "planner/search/what_if.h"

namespace sgsim::search {

/// Plans of the front that text_report() shows at most; json_report() has all.
inline constexpr std::size_t kFrontLines = 12;

/// What is printed beside a plan.
struct ReportInput {
  const scenario::Scenario& scenario;
  const SearchResult& result;
  const SearchOptions& options;
  std::size_t top = 5;
  std::int64_t tokens_a_sample = 0;                       // 0: samples are no sequences
  std::vector<WhatIf> what_if;
  std::vector<PlacementTime> placement = {};              // of the best plan; JSON only
  std::vector<std::pair<std::size_t, double>> reference;  // step time in seconds by the simgrid engine, by index in `ranked`; negative: no time was left, NaN: the engine did not run
  std::vector<scenario::Setting> asked = {};              // the user's own, which the printed command repeats
  std::size_t accepted = 0;                               // plans that the independent checker accepted; one that it refuses ends the program
};

/// The best of the ranked plans that runs another way than the first: other sizes, sharding, schedule, micro-batch or recomputation, not only other
/// buckets, units or prefetch. Null: there is none.
[[nodiscard]] const Found* runner_up(const SearchResult& result);

/// The best plans, the Pareto front and why the others fell out: a page that a person reads.
[[nodiscard]] std::string text_report(const ReportInput& input);
/// The same for scripts (docs/planning.md).
[[nodiscard]] std::string json_report(const ReportInput& input);

}  // namespace sgsim::search
