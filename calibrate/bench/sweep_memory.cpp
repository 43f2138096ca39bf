#include <array>

#include "calibrate/bench/draw.h"
#include "calibrate/bench/sweeps.h"

namespace sgsim::calibrate {
namespace {

/// One kernel of our own: its kind (as the simulator's MemoryKind is called), what it does, and the row lengths it is
/// measured with (0: no rows).
struct Kernel {
  const char* kind;
  const char* op;
  std::vector<std::int64_t> columns;
};

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> all = {
      {"pointwise", "gelu", {0}},          {"pointwise", "add", {0}},           {"reduction", "row_sum", {4096}}, {"reduction", "column_sum", {4096}},
      {"norm", "layer_norm", {1024, 4096}}, {"norm", "rms_norm", {4096, 8192}},  {"norm", "rms_norm_backward", {4096}}, {"softmax", "softmax", {1024, 4096}},
      {"cross_entropy", "forward", {32000, 128256}}, {"cross_entropy", "backward", {32000}}, {"embedding", "gather", {4096}},
      {"embedding_gradient", "scatter_add", {4096}}, {"copy", "cast_to_bfloat16", {0}}, {"copy", "cast_to_float32", {0}}, {"copy", "copy", {0}},
      {"transpose", "transpose", {4096}},  {"optimizer", "adam", {0}},          {"gather_scatter", "permute_rows", {4096}}, {"pooling", "max_pool", {64}}};
  return all;
}

Key point(const Kernel& kernel, std::int64_t columns, std::int64_t bytes, const char* set) {
  return {.group = "memory", .labels = {{"kind", kernel.kind}, {"op", kernel.op}, {"set", set}}, .sizes = {{"bytes", bytes}, {"columns", columns}}};
}

constexpr std::int64_t kLeast = 1 << 12, kMost = 1ll << 32;

/// Bytes that a few rows move at least; smaller points would be empty. Pooling: two images; a transpose: two tiles of rows;
/// a loss over a vocabulary: a row for each of some 130 SMs, since no training step has fewer.
std::int64_t least_bytes(const Kernel& kernel, std::int64_t columns) {
  const std::string kind = kernel.kind;
  if (kind == "pooling") return 4 << 20;
  if (kind == "transpose") return columns * 4 * 128;
  if (kind == "cross_entropy") return columns * 2 * 132;
  return std::max<std::int64_t>(kLeast, columns * 16);
}

}  // namespace

std::vector<Key> held_out_memory() {
  std::vector<Key> points;
  Draw draw(20260103);
  for (const Kernel& kernel : kernels()) {
    for (int i = 0; i < 10; ++i) {
      const std::int64_t columns = draw.one_of(kernel.columns);
      points.push_back(point(kernel, columns, draw.log_uniform(std::max<std::int64_t>(least_bytes(kernel, columns), 1 << 16), kMost / 2, 4096), "held_out"));
    }
  }
  return points;
}

std::vector<Key> memory_sweep() {
  std::vector<Key> points;
  for (const Kernel& kernel : kernels()) {
    for (const std::int64_t columns : kernel.columns) {
      for (std::int64_t bytes = kLeast; bytes <= kMost; bytes *= 2) {
        for (const std::int64_t size : {bytes, bytes + bytes / 2}) {
          if (size >= least_bytes(kernel, columns) && size <= kMost) points.push_back(point(kernel, columns, size, "grid"));
        }
      }
    }
  }
  // Without a pause: what the power limit does to kernels that move bytes.
  for (const Kernel& kernel : kernels()) {
    const std::string op = kernel.op;
    if (op != "add" && op != "rms_norm" && op != "adam" && op != "cast_to_bfloat16") continue;
    for (const std::int64_t bytes : {1ll << 28, 1ll << 30}) points.push_back(point(kernel, kernel.columns.front(), bytes, "sustained"));
  }
  return points;
}

}  // namespace sgsim::calibrate
