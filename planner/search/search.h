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
  double budget = 0.0;             // seconds of wall time; 0: none. What is begun is ended: docs/planning.md says how much longer it may take
  std::size_t most_exact = 200;    // plans that are simulated at most
  /// What a plan needs, and this share of it on top, must be within the GPU's memory. Predicted against measured peaks: of 18 runs of PyTorch on H200
  /// 17 were within 5 % and one took 14 % more; published runs took 14 % more on average, blocks held unused included (docs/planning.md).
  double memory_margin = 0.10;
  /// A plan is simulated while its estimate is within this share of the best simulated score: the error that estimates are taken to
  /// have (docs/planning.md has it measured).
  double margin = 0.05;
  std::function<bool()> cancelled = [] { return false; };
  std::function<void(const SearchProgress&)> progress = [](const SearchProgress&) {};
};

struct Found {
  Candidate candidate;
  Figures estimate;
  bool timed = false;              // else the estimate's step time is a lower bound
  std::optional<Figures> exact;
  double score = 0.0;              // of `exact` if there, else of the estimate
  [[nodiscard]] const Figures& figures() const { return exact ? *exact : estimate; }
};

struct SearchResult {
  std::vector<Found> ranked;       // simulated plans that fit (and leaders that are too long to simulate, by their estimate), best first; where a search was stopped before it could simulate one that does, timed ones
  std::vector<Found> front;        // Pareto front of all that fit, by step time
  Rejections rejections;           // why the others fell out; "slower": fits and is neither ranked nor on the front
  std::uint64_t considered = 0, legal = 0, estimated = 0, fitting = 0, timed = 0, simulated = 0, too_long = 0;  // timed: the bound did not rule them out; too_long: would have been simulated
  double enumerate_s = 0.0, estimate_s = 0.0, exact_s = 0.0;
  std::size_t layer_costs = 0;     // distinct models of a layer that were made
  bool complete = true;            // neither cancelled nor out of budget
  Flops flops_a_sample;            // forward and backward, recomputation excluded
  double largest_estimate_error = 0.0;  // of the simulated ones: |estimate / simulated - 1|
};

/// Takes memory and a lower bound of the step time of every legal plan of `axes`, times those that the bounds do not rule out, then simulates
/// the leaders, best first. The result does not depend on the number of threads
/// (unless budget or cancellation ends the search).
[[nodiscard]] SearchResult search(const Problem& problem, const Axes& axes, const SearchOptions& options);

}  // namespace sgsim::search
