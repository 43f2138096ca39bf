#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>

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

struct Span {
  double begin, end;
};

/// What the host was doing when it launched a kernel.
class Launches {
 public:
  explicit Launches(const json& events) {
    for (const json& e : events) {
      const std::string category = e.value("cat", ""), name = e.value("name", "");
      const auto args = e.find("args");
      const auto number = [&](const char* key) { return args != e.end() && args->is_object() ? args->value(key, json()) : json(); };
      if (category == "user_annotation" && name.starts_with("Optimizer.step")) steps_.push_back({e.value("ts", 0.0), e.value("ts", 0.0) + e.value("dur", 0.0)});
      if (category == "cuda_runtime" || category == "cuda_driver") {
        if (const json id = number("correlation"); id.is_number_integer()) launched_[id.get<std::int64_t>()] = e.value("ts", 0.0);
      }
      if (category == "cpu_op" && name.find("conv") != std::string::npos && name.starts_with("aten::")) {
        if (const json id = number("External id"); id.is_number_integer()) convolutions_.insert(id.get<std::int64_t>());
      }
    }
  }
  /// Launched by an optimizer's step: every kernel and copy of it, one by one over the parameters or not.
  [[nodiscard]] bool in_optimizer(const json& kernel) const {
    const auto at = launched_.find(id_of(kernel, "correlation"));
    return at != launched_.end() && std::any_of(steps_.begin(), steps_.end(), [&](const Span& s) { return s.begin <= at->second && at->second <= s.end; });
  }
  /// Launched by a convolution, which may well run as a matrix product.
  [[nodiscard]] bool in_convolution(const json& kernel) const { return convolutions_.contains(id_of(kernel, "External id")); }

 private:
  static std::int64_t id_of(const json& kernel, const char* key) {
    const auto args = kernel.find("args");
    if (args == kernel.end() || !args->is_object()) return -1;
    const auto id = args->find(key);
    return id != args->end() && id->is_number_integer() ? id->get<std::int64_t>() : -1;
  }

  std::vector<Span> steps_;
  std::unordered_map<std::int64_t, double> launched_;
  std::unordered_set<std::int64_t> convolutions_;
};

/// By what launched them, else by the names that NCCL, cuDNN, cuBLAS and PyTorch give their kernels.
KernelClass class_of(const json& kernel, const std::string& name, const std::string& category, const Launches& launches) {
  if (name.starts_with("nccl")) return KernelClass::communication;
  if (launches.in_optimizer(kernel)) return KernelClass::optimizer;
  if (category != "kernel") return KernelClass::copy;
  if (any_of(name, {"sdpa", "fmha", "flash_fwd", "flash_bwd", "compute_dot_do_o", "convert_dq_to_16bits"})) return KernelClass::attention;
  if (launches.in_convolution(kernel)) return KernelClass::convolution;
  if (any_of(name, {"wgrad", "dgrad", "fprop", "implicit_gemm", "ImplicitGemm", "nhwcAddPadding", "init_device_workspace"})) return KernelClass::convolution;
  if (any_of(name, {"nvjet", "gemm", "Gemm", "splitK", "SplitK", "cutlass"})) return KernelClass::product;
  if (any_of(name, {"adam", "Adam"})) return KernelClass::optimizer;
  // Of the kernels over lists of tensors, FSDP2's only copy; the rest are norms and scalings of clipped gradients.
  if (name.find("multi_tensor_apply") != std::string::npos && name.find("::Copy<") == std::string::npos) return KernelClass::optimizer;
  return KernelClass::bandwidth;
}

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
  const Launches launches(root.at("traceEvents").json());
  std::vector<Span> communication, others, all;
  std::set<std::string> steps;
  double step_time = 0.0, kernel_count = 0.0;
  for (const json& e : root.at("traceEvents").json()) {
    const std::string category = e.value("cat", "");
    if (category == "user_annotation" && e.value("name", "").starts_with("ProfilerStep#")) {
      if (steps.insert(e.value("name", "")).second) step_time += e.value("dur", 0.0) * 1e-6;
    }
    if (category != "kernel" && category != "gpu_memcpy" && category != "gpu_memset") continue;
    const KernelClass kind = class_of(e, e.value("name", ""), category, launches);
    const double begin = e.value("ts", 0.0) * 1e-6, time = e.value("dur", 0.0) * 1e-6;
    // The records count kernels; the runtime's copies and fills are none.
    kernel_count += category == "kernel" ? 1.0 : 0.0;
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
  double n = static_cast<double>(steps.size());
  if (n == 0.0 && kernels_a_step > 0.0) n = std::round(kernel_count / kernels_a_step);
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
