#include <limits>

#include <fmt/format.h>

#include "sim/import/onnx/converter.h"

namespace sgsim::import::onnx {
namespace {

/// Sizes that an input or an attribute gives.
Dims sizes(Converter& c, const Node& node, std::size_t input, std::string_view attribute) {
  if (auto values = c.integers(node, input)) return *values;
  if (auto values = c.integers(node, attribute)) return *values;
  c.fail(node, fmt::format("{} that is computed from data", attribute), "sizes that are known when the model is read (run onnx-simplifier, or bind symbolic dimensions)");
}

void reshape(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims from = c.type(x).shape;
  Dims to = sizes(c, node, 1, "shape");
  std::int64_t known = 1;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && c.integer(node, "allowzero", 0) == 0 && i < from.size()) to[i] = from[i];
    if (to[i] == -1) {
      open = i;
    } else {
      known = graph::wrapping_product(known, to[i]);
    }
  }
  if (open && known > 0) to[*open] = c.type(x).elements() / known;
  c.set(node, 0, c.reshape(node, x, std::move(to)));
}

void flatten(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims from = c.type(x).shape;
  const std::int64_t wanted = c.integer(node, "axis", 1);
  const std::size_t axis = wanted == static_cast<std::int64_t>(from.size()) ? from.size() : c.axis(node, wanted, from.size());
  Dims to = {1, 1};
  for (std::size_t i = 0; i < from.size(); ++i) to[i < axis ? 0 : 1] *= from[i];
  c.set(node, 0, c.reshape(node, x, std::move(to)));
}

void transpose(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  Dims order = c.integers(node, "perm").value_or(Dims{});
  if (order.empty()) {
    for (std::size_t i = c.type(x).shape.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  c.set(node, 0, c.call(node, "aten.permute.default", {{x}, list_argument(order)}));
}

void squeeze(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims from = c.type(x).shape;
  std::optional<Dims> axes = c.integers(node, std::size_t{1});
  if (!axes) axes = c.integers(node, "axes");
  std::vector<bool> gone(from.size(), false);
  for (std::size_t i = 0; i < from.size() && !axes; ++i) gone[i] = from[i] == 1;
  for (const std::int64_t index : axes.value_or(Dims{})) gone[c.axis(node, index, from.size())] = true;
  Dims to;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!gone[i]) to.push_back(from[i]);
  }
  c.set(node, 0, c.reshape(node, x, std::move(to)));
}

void unsqueeze(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims from = c.type(x).shape;
  const Dims axes = sizes(c, node, 1, "axes");
  if (axes.size() > 16) c.fail(node, fmt::format("{} new axes", axes.size()), "at most 16");
  std::vector<bool> added(from.size() + axes.size(), false);
  for (const std::int64_t index : axes) added[c.axis(node, index, added.size())] = true;
  Dims to;
  std::size_t next = 0;
  for (const bool one : added) to.push_back(one || next >= from.size() ? 1 : from[next++]);
  c.set(node, 0, c.reshape(node, x, std::move(to)));
}

void concat(Converter& c, const Node& node) {
  graph::ArgumentList parts;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) parts.push_back({c.required(node, i)});
  c.set(node, 0, c.call(node, "aten.cat.default", {{std::move(parts)}, {c.integer(node, "axis", 0)}}));
}

void split(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims shape = c.type(x).shape;
  const std::size_t axis = c.axis(node, c.integer(node, "axis", 0), shape.size());
  std::optional<Dims> parts = c.integers(node, std::size_t{1});
  if (!parts) parts = c.integers(node, "split");
  if (!parts) {
    const auto count = static_cast<std::int64_t>(node.outputs.size());
    if (count < 1) c.fail(node, "no outputs", "at least one");
    const std::int64_t each = (shape[axis] + count - 1) / count;
    parts.emplace();
    for (std::int64_t i = 0; i < count; ++i) parts->push_back(std::max<std::int64_t>(0, std::min(each, shape[axis] - i * each)));
  }
  const ValueRef result = c.call(node, "aten.split_with_sizes.default", {{x}, list_argument(*parts), {static_cast<std::int64_t>(axis)}});
  for (std::uint32_t i = 0; i < node.outputs.size() && i < parts->size(); ++i) c.set(node, i, ValueRef{.node = result.node, .output = i});
}

void slice(Converter& c, const Node& node) {
  ValueRef x = c.required(node, 0);
  const Dims starts = sizes(c, node, 1, "starts"), ends = sizes(c, node, 2, "ends");
  std::optional<Dims> axes = c.integers(node, std::size_t{3}), steps = c.integers(node, std::size_t{4});
  if (!axes) axes = c.integers(node, "axes");
  if (starts.size() != ends.size() || (axes && axes->size() != starts.size()) || (steps && steps->size() != starts.size())) c.fail(node, "starts, ends, axes and steps of different lengths", "equal lengths");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis = c.axis(node, axes ? (*axes)[i] : static_cast<std::int64_t>(i), c.type(x).shape.size());
    const std::int64_t step = steps ? (*steps)[i] : 1;
    if (step < 1) {  // backwards: a flip moves all the data
      x = c.call(node, "aten.flip.default", {{x}, list_argument({static_cast<std::int64_t>(axis)})});
      c.count("approximated_operator", Severity::warning, "Slice with a negative step: the whole axis is flipped");
      continue;
    }
    x = c.call(node, "aten.slice.Tensor", {{x}, {static_cast<std::int64_t>(axis)}, {starts[i]}, {ends[i]}, {step}});
  }
  c.set(node, 0, x);
}

void gather(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims shape = c.type(x).shape;
  const std::size_t axis = c.axis(node, c.integer(node, "axis", 0), shape.size());
  if (const Constant* index = c.constant(node, 1); index != nullptr && index->shape.empty() && index->values.size() == 1) {
    c.set(node, 0, c.call(node, "aten.select.int", {{x}, {static_cast<std::int64_t>(axis)}, {static_cast<std::int64_t>(index->values[0])}}));
    return;
  }
  const ValueRef index = c.required(node, 1);
  if (axis == 0 && shape.size() == 2) {
    c.set(node, 0, c.call(node, "aten.embedding.default", {{x}, {index}}));
    return;
  }
  Dims to(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
  to.insert(to.end(), c.type(index).shape.begin(), c.type(index).shape.end());
  to.insert(to.end(), shape.begin() + static_cast<std::ptrdiff_t>(axis) + 1, shape.end());
  graph::ArgumentList indices(axis);
  indices.push_back({index});
  c.set(node, 0, c.call(node, "aten.index.Tensor", {{x}, {std::move(indices)}}, {}, {graph::contiguous(std::move(to), c.type(x).dtype)}));
}

void gather_elements(Converter& c, const Node& node) { c.set(node, 0, c.call(node, "aten.gather.default", {{c.required(node, 0)}, {c.integer(node, "axis", 0)}, {c.required(node, 1)}})); }

void expand(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  Dims to = sizes(c, node, 1, "shape");
  const Dims from = c.type(x).shape;
  for (std::size_t i = 0; i < std::min(from.size(), to.size()); ++i) {  // 1 keeps a size here
    std::int64_t& size = to[to.size() - 1 - i];
    if (size == 1) size = from[from.size() - 1 - i];
  }
  if (to.size() < from.size()) to.insert(to.begin(), from.begin(), from.begin() + static_cast<std::ptrdiff_t>(from.size() - to.size()));
  c.set(node, 0, c.call(node, "aten.expand.default", {{x}, list_argument(to)}));
}

void tile(Converter& c, const Node& node) { c.set(node, 0, c.call(node, "aten.repeat.default", {{c.required(node, 0)}, list_argument(sizes(c, node, 1, "repeats"))})); }

void pad(Converter& c, const Node& node) {
  const ValueRef x = c.required(node, 0);
  const Dims pads = sizes(c, node, 1, "pads");
  const std::size_t rank = c.type(x).shape.size();
  if (pads.size() != 2 * rank) c.fail(node, fmt::format("{} pads for {} dimensions", pads.size(), rank), "two for each dimension");
  Dims order;
  for (std::size_t i = rank; i-- > 0;) {
    order.push_back(pads[i]);
    order.push_back(pads[rank + i]);
  }
  c.set(node, 0, c.call(node, "aten.constant_pad_nd.default", {{x}, list_argument(order), {0.0}}));
}

/// Weights of "light" models: their numbers left out, their shape kept.
void constant_of_shape(Converter& c, const Node& node) {
  const Dims shape = sizes(c, node, 0, "shape");
  const auto value = node.attributes.find("value");
  const DType dtype = value != node.attributes.end() && value->second.t ? dtype_of(value->second.t->data_type).value_or(DType::float32) : DType::float32;
  c.set(node, 0, c.absent_weight(node, graph::contiguous(shape, dtype)));
}

/// A constant too large to be a size.
void constant(Converter& c, const Node& node) {
  const auto value = node.attributes.find("value");
  if (value == node.attributes.end() || !value->second.t || !dtype_of(value->second.t->data_type)) c.fail(node, "a constant of no tensor type", "a tensor");
  c.set(node, 0, c.call(node, "aten.full.default", {list_argument(value->second.t->dims), {0.0}}, {}, {graph::contiguous(value->second.t->dims, *dtype_of(value->second.t->data_type))}));
}

void conditional(Converter& c, const Node& node) {
  const Constant* condition = c.constant(node, 0);
  const bool known = condition != nullptr && condition->values.size() == 1;
  if (!known) c.count("branch_taken", Severity::warning, "If: the condition is data; then_branch is taken");
  const auto branch = node.attributes.find(known && condition->values[0] == 0.0 ? "else_branch" : "then_branch");
  if (branch == node.attributes.end() || !branch->second.g) c.fail(node, "an If without its branch", "then_branch and else_branch");
  c.inline_graph(node, *branch->second.g);
}

}  // namespace

const std::map<std::string_view, Handler>& shape_handlers() {
  static const std::map<std::string_view, Handler> kHandlers = {
      {"Reshape", reshape}, {"Flatten", flatten}, {"Transpose", transpose}, {"Squeeze", squeeze}, {"Unsqueeze", unsqueeze}, {"Concat", concat}, {"Split", split}, {"Slice", slice},
      {"Gather", gather}, {"GatherElements", gather_elements}, {"Expand", expand}, {"Tile", tile}, {"Pad", pad}, {"ConstantOfShape", constant_of_shape}, {"Constant", constant}, {"If", conditional}};
  return kHandlers;
}

}  // namespace sgsim::import::onnx
