#include "sim/replay/captured_work.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "sim/trace/kernel_kind.h"

namespace sgsim::replay {
namespace {

using graph::DType;
using trace::kNone;
using trace::KernelKind;

constexpr double kElement = 2.0;  // bytes, where a file does not name the type: training in 16 bits

/// "[[4096], [8192, 4096], []] [c10::Half, ...]" as lists of sizes.
std::vector<std::vector<std::int64_t>> sizes_in_text(std::string_view text) {
  std::vector<std::vector<std::int64_t>> lists;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' && ++depth == 2) lists.emplace_back();
    if (c == ']' && --depth == 0) break;  // the types follow
    if (depth < 2 || c < '0' || c > '9' || lists.empty()) continue;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data() + i, text.data() + text.size(), value);
    if (error != std::errc()) return {};
    lists.back().push_back(value);
    i = static_cast<std::size_t>(end - text.data()) - 1;
  }
  return lists;
}

DType type_in(std::string_view shapes) { return shapes.find("c10::BFloat16") != std::string_view::npos ? DType::bfloat16 : shapes.find("c10::Half") != std::string_view::npos ? DType::float16 : DType::float32; }

bool is_whole(double value) { return std::fabs(value - std::round(value)) < 1e-6 * std::max(1.0, std::fabs(value)); }

std::vector<graph::Matmul> layouts(graph::Matmul product) {
  std::vector<graph::Matmul> result;
  for (const bool a : {false, true}) {
    for (const bool b : {true, false}) {
      if (a && b) continue;  // no layer has both
      product.a_transposed = a, product.b_transposed = b;
      result.push_back(product);
    }
  }
  return result;
}

graph::MemoryKind memory_kind(KernelKind kind) {
  switch (kind) {
    case KernelKind::reduction: return graph::MemoryKind::reduction;
    case KernelKind::normalisation: return graph::MemoryKind::norm;
    case KernelKind::softmax_loss: return graph::MemoryKind::softmax;
    case KernelKind::embedding_index: return graph::MemoryKind::embedding;
    case KernelKind::optimizer: return graph::MemoryKind::optimizer;
    default: return graph::MemoryKind::pointwise;
  }
}

}  // namespace

CapturedWork::CapturedWork(const trace::ImportedRun& run, const trace::RankTrace& rank, double share) : run_(run), rank_(rank), share_(share) { find_undivided(); }

std::int64_t CapturedWork::divided(std::int64_t extent) const { return std::max<std::int64_t>(1, std::llround(static_cast<double>(extent) * share_)); }

// From the shapes of "aten::mm" and its kin; layout unknown.
std::optional<graph::Matmul> CapturedWork::product_of(const trace::DeviceOp& op) const {
  if (op.op == kNone || rank_.ops[op.op].shapes == 0) return std::nullopt;
  const std::string &name = run_.strings.at(rank_.ops[op.op].name), &shapes = run_.strings.at(rank_.ops[op.op].shapes);
  const bool batched = name == "aten::bmm" || name == "aten::baddbmm";
  const std::size_t first = name == "aten::addmm" || name == "aten::baddbmm" ? 1 : name == "aten::mm" || batched ? 0 : 9;
  const auto sizes = sizes_in_text(shapes);
  if (first == 9 || sizes.size() < first + 2) return std::nullopt;
  const auto &a = sizes[first], &b = sizes[first + 1];
  const std::size_t rank = batched ? 3 : 2;
  if (a.size() != rank || b.size() != rank || a[rank - 1] != b[rank - 2]) return std::nullopt;
  for (const auto* list : {&a, &b}) {
    if (std::any_of(list->begin(), list->end(), [](std::int64_t s) { return s < 1 || s > 1'000'000'000; })) return std::nullopt;
  }
  return graph::Matmul{.batch = rank == 3 ? a[0] : 1, .m = a[rank - 2], .n = b[rank - 1], .k = a[rank - 1], .dtype = type_in(shapes), .out_dtype = type_in(shapes)};
}

void CapturedWork::find_undivided() {
  std::map<std::pair<double, double>, double> found;  // flops, elements: time
  for (const trace::DeviceOp& op : rank_.device_ops) {
    if (trace::kernel_kind(run_, op) != KernelKind::matmul) continue;
    if (const auto product = product_of(op); product && product->batch == 1) {
      const double m = static_cast<double>(product->m), n = static_cast<double>(product->n), k = static_cast<double>(product->k);
      found[{2.0 * m * n * k, m * n + n * k + m * k}] += static_cast<double>(op.duration);
    } else if (op.flops > 0.0 && op.bytes > 0.0) {
      found[{op.flops, op.bytes / kElement}] += static_cast<double>(op.duration);
    }
  }
  std::vector<Product> products;
  for (const auto& [sizes, time] : found) products.push_back({sizes.first, sizes.second, time});
  constexpr std::size_t kMost = 64;  // the heaviest are enough, and pairs of them are tried
  std::sort(products.begin(), products.end(), [](const Product& a, const Product& b) { return a.time > b.time; });
  if (products.size() > kMost) products.resize(kMost);
  double best = 0.0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    for (std::size_t j = i + 1; j < products.size(); ++j) {
      if (products[i].flops == products[j].flops) continue;
      const double slope = (products[i].elements - products[j].elements) / (products[i].flops - products[j].flops);
      const double area = products[i].elements - slope * products[i].flops, sum = 2.0 * area * slope;
      const double root = sum * sum - 4.0 * area;
      if (area < 1.0 || sum < 2.0 || root < 0.0 || !is_whole(area) || !is_whole(sum) || !is_whole((sum + std::sqrt(root)) / 2.0)) continue;
      double time = 0.0;
      int count = 0;
      for (const Product& p : products) {
        const double x = p.flops / (2.0 * area);
        const bool fits = x >= 1.0 && is_whole(x) && std::fabs(area + x * sum - p.elements) < 1e-6 * p.elements;
        time += fits ? p.time : 0.0, count += fits ? 1 : 0;
      }
      if (count < 3 || time <= best) continue;  // any two lie on a line
      best = time;
      undivided_ = Undivided{std::llround((sum + std::sqrt(root)) / 2.0), std::llround((sum - std::sqrt(root)) / 2.0)};
    }
  }
}

std::vector<WorkPair> CapturedWork::products(const trace::DeviceOp& op) const {
  std::vector<graph::Matmul> captured;
  const double area = undivided_ ? static_cast<double>(undivided_->tokens) * static_cast<double>(undivided_->hidden) : 0.0;
  if (const auto product = product_of(op)) {
    captured = layouts(*product);
  } else if (undivided_ && op.flops > 0.0) {
    const double x = op.flops / (2.0 * area), elements = op.bytes / kElement;
    if (x < 1.0 || !is_whole(x) || std::fabs(area + x * static_cast<double>(undivided_->tokens + undivided_->hidden) - elements) > 1e-6 * elements) return {};
    std::array<std::int64_t, 3> extents{undivided_->tokens, undivided_->hidden, std::llround(x)};
    std::sort(extents.begin(), extents.end());
    do {
      for (const graph::Matmul& m : layouts({.m = extents[0], .n = extents[1], .k = extents[2]})) captured.push_back(m);
    } while (std::next_permutation(extents.begin(), extents.end()));
  }
  std::vector<WorkPair> pairs;
  for (const graph::Matmul& m : captured) {
    graph::Matmul wanted = m;
    if (share_ != 1.0) {
      if (!undivided_ || m.batch != 1) return {};
      const auto others = [&](std::int64_t a, std::int64_t b) { return a * b == undivided_->tokens * undivided_->hidden && a + b == undivided_->tokens + undivided_->hidden; };
      if (others(m.m, m.n)) wanted.k = divided(m.k);
      else if (others(m.m, m.k)) wanted.n = divided(m.n);
      else if (others(m.n, m.k)) wanted.m = divided(m.m);
      else return {};
    }
    pairs.push_back({m, wanted});
  }
  return pairs;
}

// PyTorch's operators take (batch, heads, length, size of a head), cuDNN's own ones too: recorded strides of grouped queries show it (16 and 4 heads are in the second
// extent). The own operators of flash attention and of memory-efficient attention have the length before the heads.
bool heads_come_first(std::string_view name) { return name.find("scaled_dot_product") != std::string_view::npos || name.find("cudnn_attention") != std::string_view::npos; }

// By shapes, else by flops and bytes: every number of heads and size of a head that gives both.
std::vector<graph::Attention> CapturedWork::attention_of(const trace::DeviceOp& op) const {
  std::vector<graph::Attention> result;
  const std::string& kernel = run_.strings.at(op.name);
  const std::string& name = op.op == kNone ? kernel : run_.strings.at(rank_.ops[op.op].name);
  const auto pass = name.find("backward") != std::string::npos || (op.op == kNone && kernel.find("bwd") != std::string::npos) ? graph::Pass::backward : graph::Pass::forward;
  if (op.op != kNone && rank_.ops[op.op].shapes != 0 && name.find("attention") != std::string::npos) {
    const std::string& shapes = run_.strings.at(rank_.ops[op.op].shapes);
    const auto sizes = sizes_in_text(shapes);
    const std::size_t first = pass == graph::Pass::backward ? 1 : 0;  // the gradient stands before the query
    if (sizes.size() < first + 2 || sizes[first].size() != 4 || sizes[first + 1].size() != 4) return {};
    const bool heads_first = heads_come_first(name);
    const auto &q = sizes[first], &k = sizes[first + 1];
    const std::size_t h = heads_first ? 1 : 2, s = heads_first ? 2 : 1;
    for (const bool causal : {true, false}) {
      result.push_back({.batch = q[0], .heads = q[h], .kv_heads = k[h], .q_len = q[s], .kv_len = k[s], .head_dim = q[3], .causal = causal, .dtype = type_in(shapes), .pass = pass});
    }
    return result;
  }
  if (!undivided_ || op.flops <= 0.0 || op.bytes <= 0.0) return {};
  const auto of_kernel = kernel.find("backward") != std::string::npos ? graph::Pass::backward : graph::Pass::forward;
  for (const std::int64_t tokens : {undivided_->tokens, undivided_->hidden}) {
    for (std::int64_t batch = 1; batch <= 64 && tokens % batch == 0; batch *= 2) {
      for (const std::int64_t size : {64, 80, 96, 128, 192, 256}) {
        for (const bool causal : {true, false}) {
          graph::Attention a{.batch = batch, .heads = 1, .kv_heads = 1, .q_len = tokens / batch, .kv_len = tokens / batch, .head_dim = size, .causal = causal, .pass = of_kernel};
          const double heads = op.flops / graph::flops_of(a).value();
          if (heads < 1.0 || !is_whole(heads) || heads > 1024.0) continue;
          a.heads = std::llround(heads);
          for (a.kv_heads = 1; a.kv_heads <= a.heads; ++a.kv_heads) {
            if (a.heads % a.kv_heads == 0 && std::fabs(graph::bytes_of(a).value() - op.bytes) < 1e-6 * op.bytes) result.push_back(a);
          }
        }
      }
    }
  }
  return result;
}

std::optional<std::int64_t> CapturedWork::heads_of(std::uint32_t device_op) const {
  const trace::DeviceOp& op = rank_.device_ops[device_op];
  const KernelKind kind = trace::kernel_kind(run_, op);
  if (kind == KernelKind::attention) {
    const std::vector<graph::Attention> found = attention_of(op);
    const bool sure = !found.empty() && std::all_of(found.begin(), found.end(), [&](const graph::Attention& a) { return a.heads == found.front().heads; });
    return sure ? std::optional(found.front().heads) : std::nullopt;
  }
  const auto product = kind == KernelKind::matmul ? product_of(op) : std::nullopt;
  return product && product->batch > 1 ? std::optional(product->batch) : std::nullopt;
}

bool CapturedWork::divides(const WorkPair& pair, double share) {
  const double before = graph::flops_of(pair.captured).value(), after = graph::flops_of(pair.wanted).value();
  return std::holds_alternative<graph::MemoryBound>(pair.captured) || std::fabs(after - before * share) < 1e-9 * after;
}

std::vector<WorkPair> CapturedWork::of(std::uint32_t device_op) const {
  const trace::DeviceOp& op = rank_.device_ops[device_op];
  const KernelKind kind = trace::kernel_kind(run_, op);
  if (kind == KernelKind::matmul) return products(op);
  std::vector<WorkPair> pairs;
  if (kind == KernelKind::attention) {
    for (const graph::Attention& a : attention_of(op)) {
      graph::Attention wanted = a;
      wanted.heads = divided(a.heads), wanted.kv_heads = divided(a.kv_heads);
      pairs.push_back({a, wanted});
    }
    return pairs;
  }
  // Bytes of kernels are in timelines of sgsim only.
  if (op.kind != trace::DeviceKind::kernel || op.bytes <= 0.0 || op.collective != kNone || kind == KernelKind::convolution) return {};
  const graph::MemoryBound captured{.kind = memory_kind(kind), .read = Bytes(op.bytes / 2.0), .written = Bytes(op.bytes / 2.0), .flops = Flops(op.flops)};
  return {{captured, graph::MemoryBound{.kind = captured.kind, .read = captured.read * share_, .written = captured.written * share_, .flops = captured.flops * share_}}};
}

}  // namespace sgsim::replay
