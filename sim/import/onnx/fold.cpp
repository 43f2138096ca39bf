// Arithmetic on shapes, carried out while reading.
#include <cmath>

#include "sim/import/onnx/converter.h"

namespace sgsim::import::onnx {
namespace {

using Values = std::vector<double>;

std::size_t elements(const Dims& shape) {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || size > static_cast<std::int64_t>(kMostValues)) return kMostValues + 1;
    product *= size;
    if (product > static_cast<std::int64_t>(kMostValues)) return kMostValues + 1;
  }
  return static_cast<std::size_t>(product);
}

double apply(std::string_view op, double a, double b, bool integers) {
  if (op == "Add") return a + b;
  if (op == "Sub") return a - b;
  if (op == "Mul") return a * b;
  if (op == "Div") return b == 0.0 ? 0.0 : integers ? std::trunc(a / b) : a / b;
  if (op == "Mod") return b == 0.0 ? 0.0 : a - std::floor(a / b) * b;
  if (op == "Pow") return std::pow(a, b);
  if (op == "Equal") return a == b ? 1.0 : 0.0;
  if (op == "Less") return a < b ? 1.0 : 0.0;
  if (op == "Greater") return a > b ? 1.0 : 0.0;
  if (op == "Max") return std::max(a, b);
  return std::min(a, b);
}

bool is_binary(std::string_view op) {
  for (const std::string_view known : {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "Equal", "Less", "Greater", "Max", "Min"}) {
    if (op == known) return true;
  }
  return false;
}

/// Element-wise, where one side is single or both have the same shape.
bool fold_binary(Converter& c, const Node& node) {
  const Constant *a = c.constant(node, 0), *b = c.constant(node, 1);
  if (a == nullptr || b == nullptr || node.inputs.size() != 2) return false;
  if (a->values.size() != b->values.size() && a->values.size() != 1 && b->values.size() != 1) return false;
  if (a->values.empty() || b->values.empty()) return false;
  const Constant& longer = a->values.size() >= b->values.size() ? *a : *b;
  Constant result{.dtype = longer.dtype, .shape = longer.shape, .values = {}};
  for (std::size_t i = 0; i < longer.values.size(); ++i) {
    result.values.push_back(apply(node.op, a->values[a->values.size() == 1 ? 0 : i], b->values[b->values.size() == 1 ? 0 : i], !graph::is_floating(longer.dtype)));
  }
  if (node.op == "Equal" || node.op == "Less" || node.op == "Greater") result.dtype = DType::bool_;
  c.set(node, 0, std::move(result));
  return true;
}

bool fold_constant(Converter& c, const Node& node) {
  Constant result;
  for (const auto& [key, attribute] : node.attributes) {
    if (key == "value" && attribute.t && attribute.t->values && dtype_of(attribute.t->data_type)) {
      result = {.dtype = *dtype_of(attribute.t->data_type), .shape = attribute.t->dims, .values = *attribute.t->values};
    } else if (key == "value_int") {
      result = {.dtype = DType::int64, .shape = {}, .values = {static_cast<double>(attribute.i)}};
    } else if (key == "value_float") {
      result = {.dtype = DType::float32, .shape = {}, .values = {attribute.f}};
    } else if (key == "value_ints") {
      result = {.dtype = DType::int64, .shape = {static_cast<std::int64_t>(attribute.ints.size())}, .values = Values(attribute.ints.begin(), attribute.ints.end())};
    } else {
      return false;
    }
    c.set(node, 0, std::move(result));
    return true;
  }
  return false;
}

bool fold_shape(Converter& c, const Node& node) {
  const Constant* known = c.constant(node, 0);
  const Dims shape = known != nullptr ? known->shape : c.type(c.required(node, 0)).shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamp = [&](std::int64_t at) { return std::max<std::int64_t>(0, std::min(rank, at < 0 ? at + rank : at)); };
  const std::int64_t begin = clamp(c.integer(node, "start", 0)), end = clamp(c.integer(node, "end", rank));
  Constant result{.dtype = DType::int64, .shape = {std::max<std::int64_t>(0, end - begin)}, .values = {}};
  for (std::int64_t i = begin; i < end; ++i) result.values.push_back(static_cast<double>(shape[static_cast<std::size_t>(i)]));
  c.set(node, 0, std::move(result));
  return true;
}

/// Elements of a list by their numbers; scalar indices give a scalar.
bool fold_gather(Converter& c, const Node& node) {
  const Constant *data = c.constant(node, 0), *index = c.constant(node, 1);
  if (data == nullptr || index == nullptr || data->shape.size() != 1 || c.integer(node, "axis", 0) != 0) return false;
  Constant result{.dtype = data->dtype, .shape = index->shape, .values = {}};
  const auto size = static_cast<double>(data->values.size());
  for (const double i : index->values) {
    const double at = i < 0 ? i + size : i;
    if (!(at >= 0 && at < size)) c.fail(node, "an index out of range", "an index of the list");
    result.values.push_back(data->values[static_cast<std::size_t>(at)]);
  }
  c.set(node, 0, std::move(result));
  return true;
}

bool fold_concat(Converter& c, const Node& node) {
  Constant result;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const Constant* part = c.constant(node, i);
    if (part == nullptr || part->shape.size() != 1) return false;
    result.dtype = part->dtype;
    result.values.insert(result.values.end(), part->values.begin(), part->values.end());
    if (result.values.size() > kMostValues) return false;
  }
  result.shape = {static_cast<std::int64_t>(result.values.size())};
  c.set(node, 0, std::move(result));
  return true;
}

/// Reshape, Squeeze, Unsqueeze, Flatten of single numbers and lists, and what leaves the elements as they are.
bool fold_relabel(Converter& c, const Node& node) {
  const Constant* data = c.constant(node, 0);
  if (data == nullptr || data->shape.size() > 1) return false;
  Constant result = *data;
  const auto size = static_cast<std::int64_t>(data->values.size());
  if (node.op == "Unsqueeze") {
    if (!data->shape.empty()) return false;
    result.shape = {1};
  } else if (node.op == "Squeeze") {
    if (size != 1) return false;
    result.shape = {};
  } else if (node.op == "Reshape") {
    const auto to = c.integers(node, std::size_t{1});
    if (!to || to->size() > 1) return false;
    result.shape = to->empty() ? Dims{} : Dims{size};
  } else if (node.op == "Cast") {
    const auto dtype = dtype_of(c.integer(node, "to", 0));
    if (!dtype) return false;
    result.dtype = *dtype;
    if (!graph::is_floating(*dtype)) {
      for (double& value : result.values) value = std::trunc(value);
    }
  }
  c.set(node, 0, std::move(result));
  return true;
}

bool fold_slice(Converter& c, const Node& node) {
  const Constant* data = c.constant(node, 0);
  if (data == nullptr || data->shape.size() != 1) return false;
  auto starts = c.integers(node, std::size_t{1}), ends = c.integers(node, std::size_t{2}), steps = c.integers(node, std::size_t{4});
  if (!starts) starts = c.integers(node, "starts");
  if (!ends) ends = c.integers(node, "ends");
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || (steps && (steps->size() != 1 || (*steps)[0] < 1))) return false;
  const auto size = static_cast<std::int64_t>(data->values.size());
  const auto clamp = [&](std::int64_t at) { return std::max<std::int64_t>(0, std::min(size, at < 0 ? at + size : at)); };
  Constant result{.dtype = data->dtype, .shape = {}, .values = {}};
  for (std::int64_t i = clamp((*starts)[0]); i < clamp((*ends)[0]); i += steps ? (*steps)[0] : 1) result.values.push_back(data->values[static_cast<std::size_t>(i)]);
  result.shape = {static_cast<std::int64_t>(result.values.size())};
  c.set(node, 0, std::move(result));
  return true;
}

bool fold_reduce(Converter& c, const Node& node) {
  const Constant* data = c.constant(node, 0);
  if (data == nullptr || data->shape.size() > 1) return false;
  double value = node.op == "ReduceProd" ? 1.0 : 0.0;
  for (const double v : data->values) value = node.op == "ReduceProd" ? value * v : value + v;
  const bool keep = c.integer(node, "keepdims", 1) != 0 && !data->shape.empty();
  c.set(node, 0, Constant{.dtype = data->dtype, .shape = keep ? Dims{1} : Dims{}, .values = {value}});
  return true;
}

/// A list filled with one number; large ones are tensors (shapes_*: ConstantOfShape).
bool fold_filled(Converter& c, const Node& node) {
  const auto shape = c.integers(node, std::size_t{0});
  if (!shape || shape->size() > 1 || elements(*shape) > kMostValues) return false;
  const auto value = node.attributes.find("value");
  double fill = 0.0;
  DType dtype = DType::float32;
  if (value != node.attributes.end() && value->second.t) {
    if (value->second.t->values && !value->second.t->values->empty()) fill = value->second.t->values->front();
    dtype = dtype_of(value->second.t->data_type).value_or(DType::float32);
  }
  if (graph::is_floating(dtype)) return false;
  c.set(node, 0, Constant{.dtype = dtype, .shape = *shape, .values = Values(elements(*shape), fill)});
  return true;
}

bool fold_where(Converter& c, const Node& node) {
  const Constant *condition = c.constant(node, 0), *a = c.constant(node, 1), *b = c.constant(node, 2);
  if (condition == nullptr || a == nullptr || b == nullptr) return false;
  const Constant& longer = a->values.size() >= b->values.size() ? *a : *b;
  const auto at = [](const Constant& from, std::size_t i) { return from.values.size() == 1 ? from.values[0] : i < from.values.size() ? from.values[i] : 0.0; };
  Constant result{.dtype = longer.dtype, .shape = longer.shape, .values = {}};
  for (std::size_t i = 0; i < longer.values.size(); ++i) result.values.push_back(at(*condition, i) != 0.0 ? at(*a, i) : at(*b, i));
  c.set(node, 0, std::move(result));
  return true;
}

}  // namespace

bool fold(Converter& c, const Node& node) {
  if (node.op == "Constant") return fold_constant(c, node);
  if (node.op == "Shape") return fold_shape(c, node);
  if (node.op == "Gather") return fold_gather(c, node);
  if (node.op == "Concat") return fold_concat(c, node);
  if (node.op == "Slice") return fold_slice(c, node);
  if (node.op == "ConstantOfShape") return fold_filled(c, node);
  if (node.op == "Where") return fold_where(c, node);
  if (node.op == "ReduceProd" || node.op == "ReduceSum") return fold_reduce(c, node);
  if (node.op == "Reshape" || node.op == "Squeeze" || node.op == "Unsqueeze" || node.op == "Cast" || node.op == "Identity") return fold_relabel(c, node);
  return is_binary(node.op) && fold_binary(c, node);
}

}  // namespace sgsim::import::onnx
