#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/diagnostics.h"
#include "sim/graph/graph.h"

namespace sgsim::import::onnx {

/// An initializer or constant. Contents are kept only where they can be sizes: integers, and single numbers.
struct Tensor {
  std::string name;
  std::vector<std::int64_t> dims;
  std::int64_t data_type = 0;                       // TensorProto.DataType
  std::optional<std::vector<double>> values;        // at most kMostValues
  bool external = false, has_data = false;
};
inline constexpr std::size_t kMostValues = 4096;

struct Dimension {
  std::optional<std::int64_t> size;
  std::string symbol;
};
struct ValueInfo {
  std::string name;
  std::int64_t data_type = 0;
  std::optional<std::vector<Dimension>> shape;
};

struct Graph;
struct Attribute {
  double f = 0.0;
  std::int64_t i = 0;
  std::string s;
  std::optional<Tensor> t;
  std::shared_ptr<Graph> g;
  std::vector<double> floats;
  std::vector<std::int64_t> ints;
};
struct Node {
  std::string op, domain, name;
  std::vector<std::string> inputs, outputs;         // "" is an absent optional one
  std::map<std::string, Attribute, std::less<>> attributes;
};
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};
struct Model {
  std::string file, producer;
  std::int64_t ir_version = 0;
  std::map<std::string, std::int64_t, std::less<>> opsets;  // domain -> version
  std::size_t functions = 0;
  Graph graph;
};

/// Reads a ModelProto (onnx.proto, IR versions 3 to 12). Throws InputError where the bytes are no such message.
[[nodiscard]] Model parse_model(std::string_view bytes, const std::string& file);

/// Element type of a TensorProto.DataType; nothing for strings and for 4-bit and E4M3FNUZ types, which we do not have.
[[nodiscard]] std::optional<graph::DType> dtype_of(std::int64_t data_type);

}  // namespace sgsim::import::onnx
