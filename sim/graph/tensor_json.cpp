#include "sim/graph/tensor_json.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace sgsim::graph {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;  // of one dimension
constexpr double kMostElements = 1e15;                        // of one tensor: a petabyte

Dims sizes_from_json(const JsonValue& value) {
  Dims sizes;
  for (std::size_t i = 0; i < value.list_size(); ++i) sizes.push_back(value.item(i).integer_between(0, kLargestSize));
  return sizes;
}

}  // namespace

DType dtype_from_json(const JsonValue& value) {
  const auto dtype = dtype_from_text(value.text());
  if (!dtype) value.fail("an element type that PyTorch has, such as \"bfloat16\"");
  return *dtype;
}

Dims shape_from_json(const JsonValue& value) {
  Dims shape = sizes_from_json(value);
  double elements = 1.0;
  for (const std::int64_t size : shape) elements *= static_cast<double>(size);
  if (elements > kMostElements) value.fail("a tensor of at most 1e15 elements");
  return shape;
}

TensorType tensor_from_json(const JsonValue& value) {
  value.check_keys({"shape", "dtype", "stride"});
  Dims shape = shape_from_json(value.at("shape"));
  const DType dtype = dtype_from_json(value.at("dtype"));
  const auto stride_value = value.find("stride");
  if (!stride_value) return contiguous(std::move(shape), dtype);
  Dims stride = sizes_from_json(*stride_value);
  if (stride.size() != shape.size()) stride_value->fail(fmt::format("as many strides as sizes ({})", shape.size()));
  return strided(std::move(shape), dtype, std::move(stride));
}

nlohmann::json tensor_to_json(const TensorType& type) {
  nlohmann::json json = {{"shape", type.shape}, {"dtype", std::string(to_text(type.dtype))}};
  if (!type.stride.empty()) json["stride"] = type.stride;
  return json;
}

std::optional<double> number_from_name(std::string_view text) {
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

nlohmann::json number_to_json(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

}  // namespace sgsim::graph
