#include "calibrate/record/key_work.h"

#include "sim/core/error.h"
#include "sim/cost/profile_names.h"

namespace sgsim::calibrate {
namespace {

/// The enumeration's value of a word that profiles use.
template <class Enum>
Enum value_of(const std::string& word) {
  std::size_t i = 0;
  for (const std::string_view known : cost::Names<Enum>::words) {
    if (known == word) return static_cast<Enum>(i);
    ++i;
  }
  throw InputError({.file = "", .where = std::string(cost::Names<Enum>::what), .found = "'" + word + "'", .expected = "a word of the profile format", .hint = ""});
}

graph::Matmul product(const Key& key) {
  const std::string& layout = key.label("layout");
  const graph::DType dtype = dtype_of(key);
  return {.batch = key.size("batch"), .m = key.size("m"), .n = key.size("n"), .k = key.size("k"), .a_transposed = layout[0] == 't', .b_transposed = layout[1] == 't',
          .dtype = dtype, .out_dtype = dtype == graph::DType::float8_e4m3fn ? graph::DType::bfloat16 : dtype, .bias = key.is("epilogue", "bias")};
}

graph::Attention attention(const Key& key) {
  return {.batch = key.size("batch"), .heads = key.size("heads"), .kv_heads = key.size("kv_heads"), .q_len = key.size("length"), .kv_len = key.size("length"),
          .head_dim = key.size("head_dim"), .causal = key.is("causal", "yes"), .dense_mask = key.is("mask", "dense"), .dtype = dtype_of(key),
          .pass = value_of<graph::Pass>(key.label("pass"))};
}

graph::Convolution convolution(const Key& key) {
  return {.batch = key.size("batch"), .in_channels = key.size("in_channels"), .out_channels = key.size("out_channels"), .in_height = key.size("height"),
          .in_width = key.size("height"), .kernel_height = key.size("kernel"), .kernel_width = key.size("kernel"), .stride = key.size("stride"), .padding = key.size("padding"),
          .groups = 1, .dtype = dtype_of(key), .pass = value_of<graph::ConvolutionPass>(key.label("pass"))};
}

}  // namespace

graph::CollectiveOp collective_op(const std::string& name) { return value_of<graph::CollectiveOp>(name); }
graph::MemoryKind memory_kind(const std::string& name) { return value_of<graph::MemoryKind>(name); }

graph::DType dtype_of(const Key& key) {
  const auto dtype = graph::dtype_from_text(key.label("dtype"));
  if (!dtype) throw InputError({.file = "", .where = to_text(key), .found = "type '" + key.label("dtype") + "'", .expected = "an element type", .hint = ""});
  return *dtype;
}

std::optional<graph::Work> work_of(const Key& key, std::optional<double> bytes_moved) {
  if (key.group == "matmul") return product(key);
  if (key.group == "attention" && key.is("kernel", "flash")) return attention(key);
  if (key.group == "convolution") return convolution(key);
  if (key.group != "memory") return std::nullopt;
  // Of most kinds only the sum of bytes enters the time. A softmax and the gradient of a cross-entropy, which some profiles count by the
  // larger of read and written, write as much as they read.
  const graph::MemoryKind kind = memory_kind(key.label("kind"));
  const double bytes = bytes_moved.value_or(static_cast<double>(key.size("bytes")));
  const bool half = kind == graph::MemoryKind::softmax || (kind == graph::MemoryKind::cross_entropy && key.is("op", "backward"));
  return graph::MemoryBound{.kind = kind, .read = Bytes(half ? bytes / 2.0 : bytes), .written = Bytes(half ? bytes / 2.0 : 0.0), .flops = Flops(0.0)};
}

}  // namespace sgsim::calibrate
