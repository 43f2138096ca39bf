#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gui/session/job.h"
#include "sim/scenario/inputs.h"
#include "sim/scenario/scenario.h"

namespace sgsim::gui {

/// What is searched for: as the flags of `sgsim plan`.
struct SearchRequest {
  std::string text, name, folder;      // the scenario
  std::string objective = "time";      // time, cost, goodput, memory
  double price = 0.0;                  // of one GPU and hour; 0: not stated
  double mtbf = 0.0, checkpoint = -1.0, restart = -1.0;  // seconds, for goodput: between failures of a GPU, of a checkpoint, of a restart
  double budget = 0.0;                 // seconds; 0: none
  std::vector<int> nodes;              // numbers of nodes to try; empty: the scenario's
};

struct FoundPlan {
  std::string plan;                    // in words
  std::vector<scenario::Setting> settings;  // that turn the scenario into it
  int gpus = 0;
  double step_time = 0.0, memory = 0.0, headroom = 0.0;  // s, bytes, bytes
  double batch = 1.0;                  // samples a step
  double useful = -1.0;                // share of the time without failures; negative: not stated
  bool simulated = false, bound = false;  // bound: the step time is at least this
};

struct FoundPlans {
  std::vector<FoundPlan> plans;        // best first, then the rest of the Pareto front
  struct Reason {
    std::string rule, example;
    std::uint64_t plans = 0;
  };
  std::vector<Reason> fell_out;        // most plans first
  std::uint64_t considered = 0, legal = 0, simulated = 0;
  bool complete = true;                // else cancelled or out of time: what had been found by then
  double seconds = 0.0;                // that the search took
};

[[nodiscard]] FoundPlans searchPlans(const SearchRequest& request, scenario::InputCache& cache, JobControl& control);

}  // namespace sgsim::gui
