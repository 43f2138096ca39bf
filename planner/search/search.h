#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "planner/search/axes.h"
#include "planner/search/objective.h"
#include "planner/search/problem.h"

namespace sgsim::search {

struct SearchProgress {
  const char* phase = "";          // "estimated", "simulated"
  std::uint64_t done = 0, total = 0;
  std::optional<Figures> best;     // by the objective, so far
};

struct SearchOptions {
  Objective objective = Objective::time;
  Economics economics;
  unsigned threads = 1;
  double budget = 0.0;             // seconds of wall time; 0: none
  std::size_t most_exact = 200;    // plans that are simulated at most
  /// A plan is simulated while its estimate is within this share of the best simulated score: the error that estimates are taken to
  /// have (docs/planning.md has it measured).
  double margin = 0.05;
  std::function<bool()> cancelled = [] { return false; };
  std::function<void(const SearchProgress&)> progress = [](const SearchProgress&) {};
};

struct Found {
  Candidate candidate;
  Figures estimate;
  std::optional<Figures> exact;
  double score = 0.0;              // of `exact` if there, else of the estimate
  [[nodiscard]] const Figures& figures() const { return exact ? *exact : estimate; }
};

struct SearchResult {
  std::vector<Found> ranked;       // simulated plans that fit, best first
  std::vector<Found> front;        // Pareto front of all that fit, by step time
  Rejections rejections;           // why the others fell out; "slower": fits and is neither ranked nor on the front
  std::uint64_t considered = 0, legal = 0, estimated = 0, fitting = 0, simulated = 0;
  double enumerate_s = 0.0, estimate_s = 0.0, exact_s = 0.0;
  std::size_t layer_costs = 0;     // distinct models of a layer that were made
  bool complete = true;            // neither cancelled nor out of budget
  Flops flops_a_sample;            // forward and backward, recomputation excluded
  double largest_estimate_error = 0.0;  // of the simulated ones: |estimate / simulated - 1|
};

/// Estimates every legal plan of `axes`, then simulates the leaders, best first. The result does not depend on the number of threads
/// (unless budget or cancellation ends the search).
[[nodiscard]] SearchResult search(const Problem& problem, const Axes& axes, const SearchOptions& options);

}  // namespace sgsim::search
