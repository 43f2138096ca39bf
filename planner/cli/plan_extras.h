#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "planner/search/placement.h"
#include "planner/search/search.h"
#include "sim/scenario/inputs.h"

namespace sgsim::cli {

/// Step times of the first `count` ranked plans by the simgrid engine (index, seconds), each in a process of its own. Negative: stop() said so before
/// it was there. NaN: the engine failed, and said why on stderr, or the plan is too long to simulate (search::kMostWork).
[[nodiscard]] std::vector<std::pair<std::size_t, double>> reference_times(const search::Problem& problem, const search::SearchResult& result, std::size_t count, const std::function<bool()>& stop);

/// What each order of ranks on GPUs costs the plan, the usual order first. Empty: stop() said so before all were there.
[[nodiscard]] std::vector<search::PlacementTime> placement_of_best(const search::Problem& problem, const search::Candidate& candidate, const std::function<bool()>& stop);
[[nodiscard]] std::string placement_text(const plan::Plan& plan, int gpus_a_node, const std::vector<search::PlacementTime>& times);

/// Where plans are exported to. Made, and found writable, before a search begins: throws EnvironmentError. An empty path is none.
class ExportFolder {
 public:
  explicit ExportFolder(std::string path);
  /// Without a plan to export: says so on stderr, and takes a folder that it made away again.
  void done(bool exported);

 private:
  std::string path_;
  bool made_ = false;
};

/// Writes the plan in every format to `folder`, which exists; the files' names and what each cannot express, a line each.
[[nodiscard]] std::string export_plan(const scenario::Scenario& scenario, const scenario::Inputs& inputs, const search::Candidate& candidate, const std::string& folder);

}  // namespace sgsim::cli
