#include "sim/import/onnx/model.h"

#include <bit>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"

namespace sgsim::import::onnx {
namespace {

using protobuf::Field;
using protobuf::Message;
using protobuf::Wire;

constexpr int kDeepest = 16;  // subgraphs inside each other

class Parser {
 public:
  explicit Parser(const std::string& file) : file_(file) {}

  Model model(std::string_view bytes) {
    Model result;
    result.file = file_;
    bool has_graph = false;
    each(bytes, "ModelProto", [&](const Field& f) {
      if (f.number == 1 && f.wire == Wire::varint) result.ir_version = f.integer();
      if (f.number == 2 && f.wire == Wire::bytes) result.producer = f.bytes;
      if (f.number == 8 && f.wire == Wire::bytes) opset(f.bytes, result);
      if (f.number == 25) ++result.functions;
      if (f.number == 7 && f.wire == Wire::bytes) {
        result.graph = graph(f.bytes, 0);
        has_graph = true;
      }
    });
    if (!has_graph) fail("ModelProto", "no graph");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view message, const std::string& found) const {
    throw InputError({.file = file_, .where = std::string(message), .found = found, .expected = "an ONNX model (protobuf)",
                      .hint = "a model in protobuf text form is converted with onnx.save(onnx.load('m.textproto', format='textproto'), 'm.onnx')"});
  }

  template <class Visit>
  void each(std::string_view bytes, std::string_view name, Visit&& visit) const {
    Message message(bytes);
    while (const auto field = message.next()) visit(*field);
    if (message.damaged()) fail(name, "bytes that are no protobuf message");
  }

  void opset(std::string_view bytes, Model& result) const {
    std::string domain;
    std::int64_t version = 0;
    each(bytes, "OperatorSetIdProto", [&](const Field& f) {
      if (f.number == 1 && f.wire == Wire::bytes) domain = f.bytes;
      if (f.number == 2 && f.wire == Wire::varint) version = f.integer();
    });
    result.opsets[domain == "ai.onnx" ? "" : domain] = version;
  }

  Graph graph(std::string_view bytes, int depth) const {
    if (depth > kDeepest) fail("GraphProto", fmt::format("more than {} graphs inside each other", kDeepest));
    Graph result;
    each(bytes, "GraphProto", [&](const Field& f) {
      if (f.wire != Wire::bytes) return;
      if (f.number == 1) result.nodes.push_back(node(f.bytes, depth));
      if (f.number == 2) result.name = f.bytes;
      if (f.number == 5) result.initializers.push_back(tensor(f.bytes));
      if (f.number == 11) result.inputs.push_back(value_info(f.bytes));
      if (f.number == 12) result.outputs.push_back(value_info(f.bytes));
      if (f.number == 13) result.values.push_back(value_info(f.bytes));
      if (f.number == 15) fail("GraphProto", "a sparse initializer");
    });
    return result;
  }

  Node node(std::string_view bytes, int depth) const {
    Node result;
    each(bytes, "NodeProto", [&](const Field& f) {
      if (f.wire != Wire::bytes) return;
      if (f.number == 1) result.inputs.emplace_back(f.bytes);
      if (f.number == 2) result.outputs.emplace_back(f.bytes);
      if (f.number == 3) result.name = f.bytes;
      if (f.number == 4) result.op = f.bytes;
      if (f.number == 5) attribute(f.bytes, result, depth);
      if (f.number == 7) result.domain = f.bytes;
    });
    if (result.domain == "ai.onnx") result.domain.clear();
    return result;
  }

  void attribute(std::string_view bytes, Node& owner, int depth) const {
    std::string name;
    Attribute result;
    each(bytes, "AttributeProto", [&](const Field& f) {
      if (f.number == 1 && f.wire == Wire::bytes) name = f.bytes;
      if (f.number == 2 && f.wire == Wire::fixed32) result.f = static_cast<double>(f.as_float());
      if (f.number == 3 && f.wire == Wire::varint) result.i = f.integer();
      if (f.number == 4 && f.wire == Wire::bytes) result.s = f.bytes;
      if (f.number == 5 && f.wire == Wire::bytes) result.t = tensor(f.bytes);
      if (f.number == 6 && f.wire == Wire::bytes) result.g = std::make_shared<Graph>(graph(f.bytes, depth + 1));
      if (f.number == 7) floats(f, result.floats);
      if (f.number == 8 && !protobuf::append_integers(f, result.ints)) fail("AttributeProto", "damaged integers");
    });
    owner.attributes.insert_or_assign(name, std::move(result));
  }

  static void floats(const Field& f, std::vector<double>& values) {
    if (f.wire == Wire::fixed32) values.push_back(static_cast<double>(f.as_float()));
    if (f.wire != Wire::bytes) return;
    for (std::size_t at = 0; at + 4 <= f.bytes.size(); at += 4) values.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(f.bytes.substr(at, 4))))));
  }

  static std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) value |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
    return value;
  }

  Tensor tensor(std::string_view bytes) const {
    Tensor result;
    std::vector<std::int64_t> integers;
    std::vector<double> reals;
    std::string_view raw;
    each(bytes, "TensorProto", [&](const Field& f) {
      bool good = true;
      if (f.number == 1) good = protobuf::append_integers(f, result.dims);
      if (f.number == 2 && f.wire == Wire::varint) result.data_type = f.integer();
      if (f.number == 4) floats(f, reals);
      if (f.number == 5 || f.number == 7) good = protobuf::append_integers(f, integers);
      if (f.number == 8 && f.wire == Wire::bytes) result.name = f.bytes;
      if (f.number == 9 && f.wire == Wire::bytes) raw = f.bytes;
      if (f.number == 14 && f.wire == Wire::varint) result.external = f.value == 1;
      if (f.number == 10 && f.wire == Wire::bytes && f.bytes.size() == 8) reals.push_back(std::bit_cast<double>(little_endian(f.bytes)));
      if (!good) fail("TensorProto", "damaged integers");
    });
    result.has_data = !raw.empty() || !integers.empty() || !reals.empty();
    for (const std::int64_t dim : result.dims) {
      if (dim < 0 || dim > (std::int64_t{1} << 40)) fail("TensorProto " + result.name, fmt::format("a dimension of {}", dim));
    }
    set_values(result, integers, reals, raw);
    return result;
  }

  /// Elements as numbers, of tensors small enough to be sizes.
  static void set_values(Tensor& tensor, const std::vector<std::int64_t>& integers, const std::vector<double>& reals, std::string_view raw) {
    double elements = 1.0;
    for (const std::int64_t dim : tensor.dims) elements *= static_cast<double>(dim);
    if (tensor.external || elements > static_cast<double>(kMostValues)) return;
    const auto count = static_cast<std::size_t>(elements);
    std::vector<double> values;
    if (integers.size() == count && count > 0) {
      values.assign(integers.begin(), integers.end());
    } else if (reals.size() == count && count > 0) {
      values = reals;
    } else if (!raw.empty()) {
      const std::size_t size = tensor.data_type == 1 || tensor.data_type == 6 ? 4 : tensor.data_type == 7 || tensor.data_type == 11 ? 8 : tensor.data_type == 9 ? 1 : 0;
      if (size == 0 || raw.size() != count * size) return;
      for (std::size_t i = 0; i < count; ++i) values.push_back(number(tensor.data_type, little_endian(raw.substr(i * size, size))));
    } else if (count > 0) {
      return;
    }
    tensor.values = std::move(values);
  }

  static double number(std::int64_t data_type, std::uint64_t bits) {
    if (data_type == 1) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    if (data_type == 6) return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)));
    if (data_type == 7) return static_cast<double>(static_cast<std::int64_t>(bits));
    if (data_type == 11) return std::bit_cast<double>(bits);
    return static_cast<double>(bits);
  }

  ValueInfo value_info(std::string_view bytes) const {
    ValueInfo result;
    each(bytes, "ValueInfoProto", [&](const Field& f) {
      if (f.number == 1 && f.wire == Wire::bytes) result.name = f.bytes;
      if (f.number != 2 || f.wire != Wire::bytes) return;
      each(f.bytes, "TypeProto", [&](const Field& type) {
        if (type.number == 1 && type.wire == Wire::bytes) tensor_type(type.bytes, result);
      });
    });
    return result;
  }

  void tensor_type(std::string_view bytes, ValueInfo& result) const {
    each(bytes, "TypeProto.Tensor", [&](const Field& f) {
      if (f.number == 1 && f.wire == Wire::varint) result.data_type = f.integer();
      if (f.number != 2 || f.wire != Wire::bytes) return;
      result.shape.emplace();
      each(f.bytes, "TensorShapeProto", [&](const Field& dim) {
        if (dim.number != 1 || dim.wire != Wire::bytes) return;
        Dimension dimension;
        each(dim.bytes, "Dimension", [&](const Field& d) {
          if (d.number == 1 && d.wire == Wire::varint) dimension.size = d.integer();
          if (d.number == 2 && d.wire == Wire::bytes) dimension.symbol = d.bytes;
        });
        result.shape->push_back(std::move(dimension));
      });
    });
  }

  const std::string& file_;
};

}  // namespace

Model parse_model(std::string_view bytes, const std::string& file) { return Parser(file).model(bytes); }

std::optional<graph::DType> dtype_of(std::int64_t data_type) {
  using graph::DType;
  switch (data_type) {
    case 1: return DType::float32;
    case 2: return DType::uint8;
    case 3: return DType::int8;
    case 4: return DType::uint16;
    case 5: return DType::int16;
    case 6: return DType::int32;
    case 7: return DType::int64;
    case 9: return DType::bool_;
    case 10: return DType::float16;
    case 11: return DType::float64;
    case 12: return DType::uint32;
    case 13: return DType::uint64;
    case 14: return DType::complex64;
    case 15: return DType::complex128;
    case 16: return DType::bfloat16;
    case 17: return DType::float8_e4m3fn;
    case 19: return DType::float8_e5m2;
    default: return std::nullopt;
  }
}

}  // namespace sgsim::import::onnx
