#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "sim/check/kernels.h"
#include "sim/core/json_value.h"
#include "sim/core/text_file.h"
#include "sim/cost/make/traces.h"
#include "sim/graph/work.h"

namespace sgsim::check {
namespace {

using nlohmann::json;

bool any_of(const std::string& text, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](const char* part) { return text.find(part) != std::string::npos; });
}

/// By the names that NCCL, cuDNN, cuBLAS and PyTorch give their kernels.
KernelClass class_of(const std::string& name, const std::string& category) {
  if (category != "kernel") return KernelClass::copy;
  if (name.starts_with("nccl")) return KernelClass::communication;
  if (any_of(name, {"sdpa", "fmha", "flash_fwd", "flash_bwd", "compute_dot_do_o", "convert_dq_to_16bits"})) return KernelClass::attention;
  if (any_of(name, {"wgrad", "dgrad", "fprop", "implicit_gemm", "ImplicitGemm", "nhwcAddPadding", "init_device_workspace"})) return KernelClass::convolution;
  if (any_of(name, {"nvjet", "gemm", "Gemm", "splitK", "SplitK", "cutlass"})) return KernelClass::product;
  if (any_of(name, {"multi_tensor_apply", "adam", "Adam"})) return KernelClass::optimizer;
  return KernelClass::bandwidth;
}

struct Span {
  double begin, end;
};

/// Time covered by any of the spans.
double covered(std::vector<Span>& spans) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  double total = 0.0, until = -1e300;
  for (const Span& s : spans) {
    total += std::max(0.0, s.end - std::max(s.begin, until));
    until = std::max(until, s.end);
  }
  return total;
}

}  // namespace

const char* name_of(KernelClass kind) {
  constexpr std::array<const char*, kKernelClasses> kNames = {"matrix products", "attention", "convolutions", "bandwidth-bound", "optimizer", "copies and fills", "communication"};
  return kNames[static_cast<std::size_t>(kind)];
}

KernelSide read_kernels(const std::string& path, double kernels_a_step) {
  const json trace = parse_json(read_text_file(path), path);
  const JsonValue root(trace, path);
  KernelSide side;
  std::vector<Span> communication, others, all;
  std::set<std::string> steps;
  double step_time = 0.0;
  for (const json& e : root.at("traceEvents").json()) {
    const std::string category = e.value("cat", "");
    if (category == "user_annotation" && e.value("name", "").starts_with("ProfilerStep#")) {
      if (steps.insert(e.value("name", "")).second) step_time += e.value("dur", 0.0) * 1e-6;
    }
    if (category != "kernel" && category != "gpu_memcpy" && category != "gpu_memset") continue;
    const KernelClass kind = class_of(e.value("name", ""), category);
    const double begin = e.value("ts", 0.0) * 1e-6, time = e.value("dur", 0.0) * 1e-6;
    KernelTime& sum = side.by_class[static_cast<std::size_t>(kind)];
    sum.seconds += time;
    sum.launches += 1.0;
    (kind == KernelClass::communication ? communication : others).push_back({begin, begin + time});
    all.push_back({begin, begin + time});
  }
  const auto add = [](std::map<std::int64_t, KernelTime>& into, const auto& work, double us, int calls) {
    KernelTime& sum = into[std::llround(graph::flops_of(work).value())];
    sum.seconds += us * 1e-6 * calls;
    sum.launches += calls;
  };
  const auto kernels = cost::make::read_trace(path);
  for (const auto& t : cost::make::traced_products(kernels)) add(side.products, t.work, t.us, t.calls);
  for (const auto& t : cost::make::traced_attention(kernels)) add(side.attention, t.work, t.us, t.calls);
  side.busy = covered(all);
  side.overlapped = std::max(0.0, covered(communication) + covered(others) - side.busy);
  // The records count kernels; the runtime's copies and fills are none.
  double launches = -side.by_class[static_cast<std::size_t>(KernelClass::copy)].launches;
  for (const KernelTime& t : side.by_class) launches += t.launches;
  double n = static_cast<double>(steps.size());
  if (n == 0.0 && kernels_a_step > 0.0) n = std::round(launches / kernels_a_step);
  n = std::max(1.0, n);
  if (step_time == 0.0 && !all.empty()) step_time = std::max_element(all.begin(), all.end(), [](const Span& a, const Span& b) { return a.end < b.end; })->end - all.front().begin;
  side.step = step_time / n;
  side.busy /= n;
  side.overlapped /= n;
  const auto divide = [n](KernelTime& t) {
    t.seconds /= n;
    t.launches /= n;
  };
  for (KernelTime& t : side.by_class) divide(t);
  for (auto* map : {&side.products, &side.attention}) {
    for (auto& [flops, t] : *map) divide(t);
  }
  return side;
}

}  // namespace sgsim::check
