#include "sim/graph/arguments.h"

#include "sim/graph/tensor_type.h"

namespace sgsim::graph {

const Argument* Arguments::at(std::size_t position) const {
  return position < node_.args.size() ? &node_.args[position] : nullptr;
}

const TensorType* Arguments::type_of(const Argument* argument) const {
  if (argument == nullptr) return nullptr;
  const auto* ref = std::get_if<ValueRef>(&argument->value);
  if (ref == nullptr || ref->node.value >= graph_.nodes.size()) return nullptr;
  const Node& source = graph_.nodes[ref->node.value];
  if (ref->output >= source.outputs.size() || is_absent(source.outputs[ref->output])) return nullptr;
  return &source.outputs[ref->output];
}

const TensorType* Arguments::tensor(std::size_t position) const { return type_of(at(position)); }

std::vector<const TensorType*> Arguments::tensors(std::size_t position) const {
  std::vector<const TensorType*> types;
  const Argument* argument = at(position);
  if (argument == nullptr) return types;
  if (const auto* list = std::get_if<ArgumentList>(&argument->value)) {
    for (const Argument& item : *list) types.push_back(type_of(&item));
  }
  return types;
}

std::optional<std::int64_t> Arguments::integer(std::size_t position) const {
  const Argument* argument = at(position);
  if (argument == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&argument->value)) return *value;
  return std::nullopt;
}

std::int64_t Arguments::integer_or(std::size_t position, std::int64_t otherwise) const {
  return integer(position).value_or(otherwise);
}

bool Arguments::flag_or(std::size_t position, bool otherwise) const {
  const Argument* argument = at(position);
  if (argument == nullptr) return otherwise;
  const auto* value = std::get_if<bool>(&argument->value);
  return value != nullptr ? *value : otherwise;
}

std::optional<std::vector<std::int64_t>> Arguments::integers(std::size_t position, std::size_t repeat) const {
  const Argument* argument = at(position);
  if (argument == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::int64_t>(&argument->value)) return std::vector<std::int64_t>(repeat, *value);
  const auto* list = std::get_if<ArgumentList>(&argument->value);
  if (list == nullptr) return std::nullopt;
  std::vector<std::int64_t> values;
  for (const Argument& item : *list) {
    const auto* value = std::get_if<std::int64_t>(&item.value);
    if (value == nullptr) return std::nullopt;
    values.push_back(*value);
  }
  if (values.size() == 1 && repeat > 1) values.assign(repeat, values[0]);
  return values;
}

std::vector<bool> Arguments::flags(std::size_t position) const {
  std::vector<bool> values;
  const Argument* argument = at(position);
  if (argument == nullptr) return values;
  if (const auto* list = std::get_if<ArgumentList>(&argument->value)) {
    for (const Argument& item : *list) {
      const auto* value = std::get_if<bool>(&item.value);
      values.push_back(value != nullptr && *value);
    }
  }
  return values;
}

bool Arguments::is_list(std::size_t position) const {
  const Argument* argument = at(position);
  return argument != nullptr && std::holds_alternative<ArgumentList>(argument->value);
}

bool Arguments::is_float(std::size_t position) const {
  const Argument* argument = at(position);
  return argument != nullptr && std::holds_alternative<double>(argument->value);
}

std::optional<std::string_view> Arguments::text(std::size_t position) const {
  const Argument* argument = at(position);
  if (argument == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::string>(&argument->value)) return *value;
  return std::nullopt;
}

const Argument* Arguments::keyword(std::string_view key) const {
  for (const auto& [name, argument] : node_.kwargs) {
    if (name == key) return &argument;
  }
  return nullptr;
}

std::optional<DType> Arguments::dtype(std::string_view key) const {
  const Argument* argument = keyword(key);
  if (argument == nullptr) return std::nullopt;
  if (const auto* value = std::get_if<std::string>(&argument->value)) return dtype_from_text(*value);
  return std::nullopt;
}

bool Arguments::keyword_flag(std::string_view key, bool otherwise) const {
  const Argument* argument = keyword(key);
  if (argument == nullptr) return otherwise;
  const auto* value = std::get_if<bool>(&argument->value);
  return value != nullptr ? *value : otherwise;
}

const TensorType* Arguments::keyword_tensor(std::string_view key) const { return type_of(keyword(key)); }

std::vector<const TensorType*> Arguments::all_tensors() const {
  std::vector<const TensorType*> types;
  for_each_input(node_, [&](ValueRef ref) {
    if (ref.node.value >= graph_.nodes.size()) return;
    const Node& source = graph_.nodes[ref.node.value];
    if (ref.output < source.outputs.size() && !is_absent(source.outputs[ref.output])) {
      types.push_back(&source.outputs[ref.output]);
    }
  });
  return types;
}

}  // namespace sgsim::graph
