#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "sim/cost/profile.h"
#include "sim/graph/graph.h"
#include "sim/plan/plan.h"
#include "sim/scenario/scenario.h"

namespace sgsim::scenario {

/// What the files of a scenario hold.
struct Inputs {
  std::shared_ptr<const graph::OperatorGraph> graph;  // one micro-batch on one device
  plan::ModelShape shape;
  std::shared_ptr<const cost::Profile> profile;
  std::string model;                                  // family or graph name, for reports
  std::vector<std::string> left_out = {};             // sizes that a config.json leaves to its library's default
};

/// Reads the files that scenarios name, each once: variants of one scenario share them. Safe to call from threads.
class InputCache {
 public:
  /// Throws InputError: a file's own errors, or $.plan.micro_batch where a captured graph has another one.
  [[nodiscard]] Inputs load(const Scenario& scenario);

 private:
  struct Model {
    std::shared_ptr<const graph::OperatorGraph> graph;
    plan::ModelShape shape;
    std::string name;
    std::vector<std::string> left_out;
  };
  Model model(const Scenario& scenario);

  std::mutex mutex_;
  std::map<std::string, Model> models_;                                   // by everything the graph depends on, its file's time of change too
  std::map<std::string, std::shared_ptr<const cost::Profile>> profiles_;  // by path and time of change
};

}  // namespace sgsim::scenario
