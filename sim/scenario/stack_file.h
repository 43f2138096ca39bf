#pragma once

#include <nlohmann/json_fwd.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace sgsim::scenario {

/// What a training framework does of its own accord, as scenario settings, each with its source (docs/formats/stack.md).
struct StackFile {
  struct Statement {
    std::vector<std::pair<std::string, std::vector<std::string>>> when;  // scenario path -> JSON values, one of which must stand there
    std::vector<std::pair<std::string, std::string>> set;  // scenario path -> JSON value
    std::string source;
  };
  std::string name, description;
  std::string path;                      // absolute, of one that was read by its path; a scenario then names it by that
  bool reports_reserved_memory = false;  // its logs print what the allocator holds, not what it handed out
  /// "Selective" recomputation of this framework runs this share of the layers again (a mean of no and full recomputation);
  /// 0: it is Megatron-LM's, the attention core.
  double selective_recompute_share = 0.0;
  bool micro_batches_are_stages = false;  // a pipeline's batch is split into as many micro-batches as there are stages, unless told otherwise
  /// Tokens that a sample of at most so many has in the mean, padding that is computed included: batches of equal lengths. Empty: all are full.
  std::map<std::int64_t, std::int64_t> sequence_means;
  std::vector<std::string> frameworks;  // how records name it: beginnings of their field `framework`
  std::vector<std::string> sources;     // and, unless empty, of their field `source`
  std::vector<Statement> statements;
};

/// Reads a stack by name (stacks/NAME.json of the data folder) or by path, relative to `folder`. Throws InputError.
[[nodiscard]] StackFile read_stack_file(const std::string& name_or_path, const std::string& folder);
/// `file` names the text in errors.
[[nodiscard]] StackFile stack_from_text(const std::string& text, const std::string& file);
/// All stacks that ship, by name. Throws InputError on a broken one.
[[nodiscard]] std::vector<StackFile> shipped_stacks();

/// Fills in what a scenario's tree leaves open. What the scenario says itself stays; statements about a generated model are
/// passed over where the model is a captured graph or a file.
void apply_stack(nlohmann::json& tree, const StackFile& stack);

}  // namespace sgsim::scenario
