#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/diagnostics.h"

namespace sgsim::import::chakra {

/// NodeType of Chakra's et_def.
enum class NodeType : std::uint8_t { invalid = 0, metadata = 1, memory_load = 2, memory_store = 3, compute = 4, send = 5, receive = 6, collective = 7 };

/// An attribute of any of the integer kinds, of float or double, bool or string. Lists are counted and not kept.
using Value = std::variant<std::monostate, std::int64_t, double, bool, std::string>;

struct Node {
  std::uint64_t id = 0;
  bool numbered = true;                           // false: the file has no usable id; `id` is one that no node has
  NodeType type = NodeType::invalid;
  std::string name;
  std::vector<std::uint64_t> control, data;       // ids that it depends on
  std::uint64_t start_us = 0, duration_us = 0;
  std::string shapes;                             // of the inputs: "[[4, 5]] [...]"
  std::map<std::string, Value, std::less<>> attributes;

  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view key) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view key) const;
  [[nodiscard]] std::string text(std::string_view key) const;
};

struct Document {
  std::string file, version;                      // "0.0.4", empty in the oldest files
  std::map<std::string, Value, std::less<>> attributes;  // of the file: "rank", "world_size", where we wrote it
  std::vector<Node> nodes;                        // in file order
};

/// A stream of length-prefixed protobuf messages: an optional GlobalMetadata, then nodes. A file that ends inside a message
/// keeps what came before ("import.chakra.truncated"). Throws InputError when not one node can be read.
[[nodiscard]] Document parse_protobuf(std::string_view bytes, const std::string& file, Diagnostics& report);

/// The JSON forms: {"workload_graph": [...]}, a list of nodes, or nodes one after the other (chakra_jsonizer). Key spelling
/// does not matter ("ctrlDeps", "ctrl_deps", "NodeType", "type").
[[nodiscard]] Document parse_json_form(std::string_view json, const std::string& file, Diagnostics& report);

}  // namespace sgsim::import::chakra
