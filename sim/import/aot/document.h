#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/graph/graph.h"

namespace sgsim::import::aot {

struct RawArgument;
using RawList = std::vector<RawArgument>;
/// Reference to a node of the same graph, by name.
struct RawReference {
  std::string name;
};
struct RawArgument {
  std::variant<std::monostate, RawReference, std::int64_t, double, bool, std::string, RawList> value;
};

enum class RawKind : std::uint8_t { placeholder, call, output };

struct RawNode {
  RawKind kind = RawKind::call;
  std::string name, target;
  std::vector<RawArgument> args;
  std::map<std::string, RawArgument> kwargs;
  std::vector<graph::TensorType> outs;  // absent() where there is none
  std::string module, module_type;      // empty when unknown
  bool has_module = false;
  std::optional<std::int64_t> seq_nr;
  std::string path;                     // where it stands in the file, for messages
};

struct RawGraph {
  bool forward = true;
  std::vector<RawNode> nodes;                   // the last one, and only that, is the output
  std::map<std::string, std::string> primals;   // placeholder -> source, in newer captures; empty otherwise
  std::string path;
};

struct RawParameter {
  std::string name;
  graph::TensorType type;
};

/// A captured file as it is written, checked for types, duplicate names, dangling and forward references.
struct Document {
  std::string file;
  std::string model;
  std::vector<RawParameter> params;
  std::vector<RawGraph> graphs;
};

[[nodiscard]] Document parse_document(std::string_view json, const std::string& file);

}  // namespace sgsim::import::aot
