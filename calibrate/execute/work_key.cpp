#include "calibrate/execute/work_key.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/cost/profile_names.h"
#include "sim/graph/dtype.h"

namespace sgsim::calibrate {
namespace {

std::string text_of(graph::DType dtype) { return std::string(graph::to_text(dtype)); }

Key product(const graph::Matmul& w) {
  const std::string layout = {w.a_transposed ? 't' : 'n', w.b_transposed ? 't' : 'n'};
  Key key{.group = "matmul", .labels = {{"dtype", text_of(w.dtype)}, {"layout", layout}, {"set", "grid"}}, .sizes = {{"batch", w.batch}, {"m", w.m}, {"n", w.n}, {"k", w.k}}};
  if (w.bias) key.labels["epilogue"] = "bias";
  return key;
}

Key attention(const graph::Attention& w) {
  if (w.q_len != w.kv_len) throw NotExecutable{"attention with as many keys as queries only; here " + std::to_string(w.q_len) + " queries and " + std::to_string(w.kv_len) + " keys"};
  return {.group = "attention",
          .labels = {{"dtype", text_of(w.dtype)}, {"kernel", "flash"}, {"pass", std::string(cost::name_of(w.pass))}, {"causal", w.causal ? "yes" : "no"}, {"mask", w.dense_mask ? "dense" : "none"}, {"set", "grid"}},
          .sizes = {{"batch", w.batch}, {"heads", w.heads}, {"kv_heads", w.kv_heads}, {"length", w.q_len}, {"head_dim", w.head_dim}}};
}

/// Share of `read` in all bytes of the operations of each kind: the nearest one is taken.
struct Operation {
  graph::MemoryKind kind;
  const char* op;
  double read_share;
  std::int64_t columns;  // 0: none; -1: the model's row; -2: the vocabulary; else this many
};
constexpr std::int64_t kRow = -1, kVocabulary = -2;
using enum graph::MemoryKind;
constexpr Operation kOperations[] = {
    {pointwise, "gelu", 0.5, 0},        {pointwise, "add", 2.0 / 3.0, 0},
    {reduction, "row_sum", 1.0, 4096},
    {norm, "rms_norm", 0.5, kRow},      {norm, "rms_norm_backward", 2.0 / 3.0, kRow},
    {softmax, "softmax", 0.5, kRow},
    {cross_entropy, "forward", 1.0, kVocabulary}, {cross_entropy, "backward", 0.5, kVocabulary},
    {embedding, "gather", 0.5, kRow},   {embedding_gradient, "scatter_add", 0.6, kRow},
    {copy, "cast_to_bfloat16", 2.0 / 3.0, 0}, {copy, "cast_to_float32", 1.0 / 3.0, 0}, {copy, "copy", 0.5, 0},
    {transpose, "transpose", 0.5, kRow}, {optimizer, "adam", 4.0 / 7.0, 0},
    {gather_scatter, "permute_rows", 0.5, kRow}, {pooling, "max_pool", 0.8, 64}};

/// A row that our kernels take: a multiple of eight elements, at most as long as a block's registers hold.
std::int64_t row_of(std::int64_t elements, std::int64_t most) { return std::clamp<std::int64_t>((elements + 4) / 8 * 8, 64, most); }

Key memory(const graph::MemoryBound& w, std::int64_t row, std::int64_t vocabulary) {
  constexpr double kLeastBytes = 4096.0;  // a kernel of a few numbers, or of none (a scalar): a launch
  const double bytes = std::max(kLeastBytes, (w.read + w.written).value());
  const double share = w.read.value() / bytes;
  const Operation* best = nullptr;
  for (const Operation& op : kOperations) {
    if (op.kind == w.kind && (best == nullptr || std::abs(op.read_share - share) < std::abs(best->read_share - share))) best = &op;
  }
  if (best == nullptr) throw NotExecutable{"no kernel of kind " + std::string(cost::name_of(w.kind))};
  constexpr std::int64_t kLongestRow = 1024 * 8 * 4, kLongestVocabulary = 1 << 20;
  const std::int64_t columns = best->columns == kRow ? row_of(row, kLongestRow) : best->columns == kVocabulary ? row_of(vocabulary, kLongestVocabulary) : best->columns;
  return {.group = "memory", .labels = {{"kind", std::string(cost::name_of(w.kind))}, {"op", best->op}, {"set", "grid"}}, .sizes = {{"bytes", static_cast<std::int64_t>(std::llround(bytes))}, {"columns", columns}}};
}

}  // namespace

Key key_of(const graph::Work& work, std::int64_t row, std::int64_t vocabulary) {
  if (const auto* w = std::get_if<graph::Matmul>(&work)) return product(*w);
  if (const auto* w = std::get_if<graph::Attention>(&work)) return attention(*w);
  if (const auto* w = std::get_if<graph::MemoryBound>(&work)) return memory(*w, row, vocabulary);
  const auto& w = std::get<graph::Convolution>(work);
  if (w.groups != 1 || w.in_height != w.in_width || w.kernel_height != w.kernel_width) throw NotExecutable{"square convolutions of one group only"};
  return {.group = "convolution", .labels = {{"dtype", text_of(w.dtype)}, {"pass", std::string(cost::name_of(w.pass))}, {"set", "grid"}},
          .sizes = {{"batch", w.batch}, {"in_channels", w.in_channels}, {"out_channels", w.out_channels}, {"height", w.in_height}, {"kernel", w.kernel_height}, {"stride", w.stride}, {"padding", w.padding}}};
}

}  // namespace sgsim::calibrate
