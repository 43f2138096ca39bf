#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/check/record.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/stack_file.h"

namespace sgsim::check {

/// Sizes of well-known models, for records that name a model and leave its sizes out (scenarios/records/models.json).
struct KnownModel {
  std::map<std::string, std::int64_t> sizes;  // by the records' key: layers, hidden, heads, kv_heads, ffn, vocab
  std::string family, source;
};
using KnownModels = std::map<std::string, KnownModel>;  // by the records' name, lower case
[[nodiscard]] KnownModels read_known_models(const std::string& path);

/// What turns records into scenarios.
struct Sources {
  std::vector<scenario::StackFile> stacks;
  KnownModels models;
};
/// Those that ship. Throws InputError on a broken one.
[[nodiscard]] Sources shipped_sources();

/// A record as a question for the simulator, or why it cannot be one.
struct Question {
  std::string skipped;               // the fact that is lacking or not modelled; empty: `text` is a scenario
  std::string text;                  // scenario document: what the record says, and the stack that fills in the rest
  std::string stack;                 // name of the stack file; its settings are part of `text` by name
  std::vector<std::string> assumed;  // facts that the record lacks and that were derived or looked up
  double recompute_share = 0.0;      // of layers run again; above 0 the prediction is that mean of no and full recomputation
  scenario::Scenario scenario;
};
[[nodiscard]] Question question_of(const Record& record, const Sources& sources);

}  // namespace sgsim::check
