#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/import/hf_config/hf_config.h"
#include "sim/lower/lower.h"
#include "sim/plan/plan.h"

namespace sgsim::scenario {

inline constexpr int kScenarioVersion = 1;

enum class ModelKind : std::uint8_t { config, graph };
enum class AttentionStyle : std::uint8_t { flash, flash_repeated, unfused };  // repeated: keys and values copied to every query head

/// Where the operator graph comes from.
struct ModelSource {
  ModelKind kind = ModelKind::config;
  std::string path;                               // absolute: Hugging Face config.json, or captured *.graph.json[.gz]
  std::string config;                             // text of a config.json that stands in the scenario itself; else empty
  int layers = 0;                                 // as many layers as this; 0: as the file says
  std::int64_t sequence = 0;                      // tokens a sample; 0 with a captured graph (it has its own)
  AttentionStyle attention = AttentionStyle::flash;  // generated graphs only
  bool dense_mask = false;                        // generated graphs only: attention reads an explicit mask
  import::Adapters lora;                          // generated graphs only: adapters that alone are trained; rank 0: everything is
  bool operator==(const ModelSource&) const = default;
};

enum class EngineName : std::uint8_t { fast, simgrid };
struct EngineChoice {
  EngineName name = EngineName::fast;
  bool full = false;                              // every rank simulated, none folded
  bool operator==(const EngineChoice&) const = default;
};

/// What the job costs and how often it fails. Nothing is assumed where it is left out.
struct Economics {
  std::optional<double> price;          // of one GPU and hour, in `currency`
  std::string currency;                 // "USD"
  std::optional<Seconds> gpu_mtbf;      // mean time between failures of one GPU with its share of node and network
  std::optional<Seconds> checkpoint;    // training stands still while one is taken
  std::optional<Seconds> restart;       // from a failure to training again, lost work excluded
  bool operator==(const Economics&) const = default;
};

/// "2.1 USD/h" as (2.1, "USD"); nothing if it reads otherwise.
[[nodiscard]] std::optional<std::pair<double, std::string>> parse_price(const std::string& text);

/// One question, complete: nothing is left for a later stage to assume. Read by read_scenario, which is the one place
/// where defaults are decided.
struct Scenario {
  std::string file;                               // as the user named it; for errors
  std::string description;
  std::string stack;                              // name of the stack file that filled in what was left open; may be empty
  ModelSource model;
  plan::Plan plan;
  lower::Training training;
  std::string cluster_base;                       // builtin name that `cluster` started from; empty: stated in full
  cluster::Cluster cluster;
  std::string profile;                            // absolute path of the profile file
  EngineChoice engine;
  Economics economics;
  std::vector<std::string> defaults;              // JSON paths that the document left out
};

/// One `--set PATH=VALUE`.
struct Setting {
  std::string path;   // "plan.tp", "cluster.faults[0].factor"
  std::string value;  // JSON, or a word that stands for a string; "null" takes the member away
  auto operator<=>(const Setting&) const = default;
};

}  // namespace sgsim::scenario
