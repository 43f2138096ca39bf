#include "sim/lower/segment/fused_loss.h"

#include <algorithm>
#include <set>
#include <vector>

#include "sim/compile/operator_effects.h"
#include "sim/graph/dtype.h"

namespace sgsim::lower::segment {
namespace {

using compile::Kernel;
using graph::MemoryBound;
using graph::MemoryKind;
using graph::ValueRef;

// One exponential a logit: two operations around it and the special-function unit's 16 (as kSoftmaxFlops in sim/compile/arithmetic.cpp).
constexpr double kFlopsOfLogit = 24.0;

double elements_of(const graph::TensorType& type) {
  double elements = 1.0;
  for (const std::int64_t extent : type.shape) elements *= static_cast<double>(extent);
  return elements;
}

/// The cast that `kernel` reads, or its own place.
std::size_t cast_before(const std::vector<Kernel>& kernels, std::size_t k) {
  for (KernelId input : kernels[k].inputs) {
    if (kernels[input.value].name == "_to_copy") return input.value;
  }
  return k;
}

/// The cast that reads `k`, or its own place.
std::size_t cast_after(const std::vector<Kernel>& kernels, std::size_t k) {
  const KernelId id{static_cast<std::uint32_t>(k)};
  for (std::size_t r = k + 1; r < kernels.size(); ++r) {
    if (kernels[r].name == "_to_copy" && std::find(kernels[r].inputs.begin(), kernels[r].inputs.end(), id) != kernels[r].inputs.end()) return r;
  }
  return k;
}

/// A launch that moves nothing and leaves nothing.
void empty(Kernel& kernel, std::set<ValueRef>& gone) {
  kernel.work = MemoryBound{.kind = MemoryKind::pointwise, .read = {}, .written = {}, .flops = {}};
  gone.insert(kernel.saved.begin(), kernel.saved.end());
  kernel.saved.clear();
}

}  // namespace

void fuse_cross_entropy(compile::CompiledGraph& compiled) {
  std::vector<Kernel>& kernels = compiled.kernels;
  std::set<ValueRef> gone;
  std::vector<std::pair<std::size_t, std::vector<ValueRef>>> readers;  // kernels that read the logits themselves
  std::vector<ValueRef> logits;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    Kernel& kernel = kernels[k];
    if (kernel.is_communication) continue;
    if (kernel.name == "_log_softmax") {
      const std::size_t cast = cast_before(kernels, k);
      logits = kernels[cast].reads;
      const double elements = elements_of(compiled.graph.type({kernel.nodes.front(), 0}));
      const Bytes narrow = cast == k ? Bytes(elements * graph::size_of(compiled.graph.type({kernel.nodes.front(), 0}).dtype)) : std::get<MemoryBound>(kernels[cast].work).read;
      if (cast != k) empty(kernels[cast], gone);
      empty(kernel, gone);
      kernel.work = MemoryBound{.kind = MemoryKind::norm, .read = narrow, .written = {}, .flops = Flops(elements * kFlopsOfLogit)};
      readers.emplace_back(k, logits);
    } else if (kernel.name == "nll_loss_backward") {
      empty(kernel, gone);
    } else if (kernel.name == "_log_softmax_backward_data") {
      const std::size_t cast = cast_after(kernels, k);
      const double elements = elements_of(compiled.graph.type({kernel.nodes.front(), 0}));
      const Bytes narrow = std::get<MemoryBound>(kernels[cast].work).written;
      if (cast != k) empty(kernel, gone);
      kernels[cast].work = MemoryBound{.kind = MemoryKind::norm, .read = narrow, .written = narrow, .flops = Flops(elements * kFlopsOfLogit)};
      readers.emplace_back(cast, logits);
    } else if (kernel.name == "nll_loss_forward") {
      kernel.work = MemoryBound{.kind = MemoryKind::pointwise, .read = {}, .written = {}, .flops = {}};
    }
  }
  for (Kernel& kernel : kernels) std::erase_if(kernel.reads, [&](ValueRef v) { return gone.contains(v); });
  for (const auto& [k, values] : readers) {
    for (ValueRef v : values) {
      if (std::find(kernels[k].reads.begin(), kernels[k].reads.end(), v) == kernels[k].reads.end()) kernels[k].reads.push_back(v);
    }
  }
}

}  // namespace sgsim::lower::segment
