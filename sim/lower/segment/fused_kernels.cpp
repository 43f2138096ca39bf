#include "sim/lower/segment/fused_kernels.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "sim/compile/passes.h"
#include "sim/graph/dtype.h"
#include "sim/lower/segment/fused_softmax.h"

namespace sgsim::lower::segment {
namespace {

using compile::Kernel;
using graph::MemoryBound;
using graph::MemoryKind;
using graph::ValueRef;

/// Producer and consumer that a hand-written kernel joins, by their operators. Megatron-LM model/fused_bias_dropout.py and
/// fused_bias_swiglu.py; scale, mask and softmax: fused_softmax.h.
constexpr std::pair<std::string_view, std::string_view> kJoined[] = {
    {"mul", "masked_fill"}, {"mul", "_softmax"}, {"masked_fill", "_softmax"}, {"_to_copy", "_softmax"}, {"_softmax", "_to_copy"},
    {"_softmax_backward_data", "masked_fill"}, {"_softmax_backward_data", "mul"}, {"masked_fill", "mul"}, {"masked_fill", "masked_fill"},
    {"native_dropout", "add"}, {"silu", "mul"}, {"silu_backward", "mul"}, {"mul", "silu_backward"}};

bool is_rotary(std::string_view name) { return name == "mul" || name == "neg" || name == "cat" || name == "add" || name == "slice_backward"; }

Bytes bytes_of(const graph::TensorType& type) {
  double elements = 1.0;
  for (std::int64_t extent : type.shape) elements *= static_cast<double>(extent);
  return Bytes(elements * graph::size_of(type.dtype));
}

class Joiner {
 public:
  Joiner(compile::CompiledGraph& compiled, const std::vector<bool>& recomputed) : compiled_(compiled), kernels_(compiled.kernels), recomputed_(recomputed), gone_(kernels_.size(), false), readers_(kernels_.size()) {
    for (std::uint32_t k = 0; k < kernels_.size(); ++k) {
      for (KernelId input : kernels_[k].inputs) readers_[input.value].insert(k);
    }
    for (ValueRef v : compiled.graph.outputs) kept_.insert(v);
    for (const auto& [parameter, gradient] : compiled.graph.gradients) kept_.insert(gradient);
  }

  void run() {
    for (std::uint32_t k = 0; k < kernels_.size(); ++k) {
      for (bool joined = true; joined;) {
        joined = false;
        const std::vector<KernelId> inputs = kernels_[k].inputs;
        for (KernelId input : inputs) joined = joined || try_join(input.value, k);
      }
    }
    drop_gone();
  }

 private:
  [[nodiscard]] const MemoryBound* memory_of(std::uint32_t k) const { return kernels_[k].is_communication ? nullptr : std::get_if<MemoryBound>(&kernels_[k].work); }

  [[nodiscard]] int pass_of(std::uint32_t k) const {
    const Kernel& kernel = kernels_[k];
    const bool again = !kernel.nodes.empty() && recomputed_[kernel.nodes.front().value];
    return again ? 2 : static_cast<int>(kernel.phase);
  }

  [[nodiscard]] bool wanted(const Kernel& producer, const Kernel& consumer) const {
    const std::pair<std::string_view, std::string_view> names{producer.name, consumer.name};
    if (producer.nodes == consumer.nodes) return producer.name == "masked_fill";  // a copy, then the fill
    if (is_softmax_chain(producer.name, consumer.name) && !has_fused_softmax(scores_of(compiled_.graph, producer))) return false;
    if (std::find(std::begin(kJoined), std::end(kJoined), names) != std::end(kJoined)) return true;
    if (producer.module != consumer.module || !producer.module.valid()) return false;
    const std::string& type = compiled_.graph.module_types[producer.module.value];
    if (type.find("RMSNorm") != std::string::npos) return true;
    return type.find("LlamaAttention") != std::string::npos && is_rotary(producer.name) && is_rotary(consumer.name);
  }

  bool try_join(std::uint32_t from, std::uint32_t into) {
    if (gone_[from] || memory_of(from) == nullptr || memory_of(into) == nullptr || pass_of(from) != pass_of(into)) return false;
    if (!wanted(kernels_[from], kernels_[into])) return false;
    bool needed_later = false;
    for (std::uint32_t reader : readers_[from]) {
      if (reader == into) continue;
      if (reader < into || pass_of(reader) == pass_of(into)) return false;
      needed_later = true;
    }
    join(from, into, needed_later);
    return true;
  }

  void join(std::uint32_t from, std::uint32_t into, bool needed_later) {
    Kernel& a = kernels_[from];
    Kernel& b = kernels_[into];
    auto& work = std::get<MemoryBound>(b.work);
    const auto& before = std::get<MemoryBound>(a.work);
    work.flops = {};  // written by hand to read vectors: what ATen's kernels spend on each element is not theirs
    if (a.nodes == b.nodes) {  // one operator's kernels: in place
      work.read += before.read;
      work.written = std::max(work.written, before.written);
      take_over(from, into);
      return;
    }
    Bytes passed;  // from one to the other
    for (ValueRef v : a.saved) {
      const auto read = std::find(b.reads.begin(), b.reads.end(), v);
      if (read == b.reads.end()) continue;
      b.reads.erase(read);
      passed += bytes_of(compiled_.graph.type(v));
    }
    work.read = std::max(Bytes(0.0), work.read - passed) + before.read;
    if (!needed_later) {
      std::erase_if(a.saved, [&](ValueRef v) { return !read_elsewhere(v, from, into) && !kept_.contains(v); });
      work.written += std::max(Bytes(0.0), before.written - passed);
    } else {
      work.written += before.written;
    }
    if (before.kind == MemoryKind::softmax || before.kind == MemoryKind::norm) work.kind = before.kind;
    for (ValueRef v : a.reads) {
      if (std::find(b.reads.begin(), b.reads.end(), v) == b.reads.end()) b.reads.push_back(v);
    }
    b.saved.insert(b.saved.end(), a.saved.begin(), a.saved.end());
    b.nodes.insert(b.nodes.end(), a.nodes.begin(), a.nodes.end());
    b.scratch += a.scratch;
    b.host_operators += std::max(0, a.host_operators - 1);
    take_over(from, into);
  }

  /// Inputs and readers of `from` become those of `into`.
  void take_over(std::uint32_t from, std::uint32_t into) {
    Kernel& a = kernels_[from];
    Kernel& b = kernels_[into];
    std::set<std::uint32_t> inputs;
    for (KernelId input : a.inputs) inputs.insert(input.value);
    for (KernelId input : b.inputs) {
      if (input.value != from) inputs.insert(input.value);
    }
    b.inputs.clear();
    for (std::uint32_t input : inputs) {
      b.inputs.push_back(KernelId{input});
      readers_[input].erase(from);
      readers_[input].insert(into);
    }
    for (std::uint32_t reader : readers_[from]) {
      if (reader == into) continue;
      for (KernelId& input : kernels_[reader].inputs) {
        if (input.value == from) input.value = into;
      }
      readers_[into].insert(reader);
    }
    gone_[from] = true;
  }

  [[nodiscard]] bool read_elsewhere(ValueRef v, std::uint32_t from, std::uint32_t into) const {
    return std::any_of(readers_[from].begin(), readers_[from].end(), [&](std::uint32_t reader) {
      return reader != into && std::find(kernels_[reader].reads.begin(), kernels_[reader].reads.end(), v) != kernels_[reader].reads.end();
    });
  }

  void drop_gone() {
    std::vector<std::uint32_t> place(kernels_.size());
    std::vector<Kernel> left;
    for (std::uint32_t k = 0; k < kernels_.size(); ++k) {
      if (gone_[k]) continue;
      place[k] = static_cast<std::uint32_t>(left.size());
      left.push_back(std::move(kernels_[k]));
    }
    for (Kernel& kernel : left) {
      for (KernelId& input : kernel.inputs) input.value = place[input.value];
      std::sort(kernel.inputs.begin(), kernel.inputs.end());
      kernel.inputs.erase(std::unique(kernel.inputs.begin(), kernel.inputs.end()), kernel.inputs.end());
    }
    kernels_ = std::move(left);
  }

  compile::CompiledGraph& compiled_;
  std::vector<Kernel>& kernels_;
  const std::vector<bool>& recomputed_;
  std::vector<bool> gone_;
  std::vector<std::set<std::uint32_t>> readers_;
  std::set<ValueRef> kept_;
};

}  // namespace

compile::CompiledGraph compile_fused_kernels(const graph::OperatorGraph& graph, const std::vector<bool>& recomputed, Diagnostics& diagnostics) {
  compile::CompiledGraph compiled = compile::compile(graph, compile::Execution::eager, diagnostics);
  Joiner(compiled, recomputed).run();
  for (Kernel& kernel : compiled.kernels) {  // norms by apex and TransformerEngine, bound by their bytes
    auto* work = kernel.is_communication ? nullptr : std::get_if<MemoryBound>(&kernel.work);
    if (work != nullptr && work->kind == MemoryKind::norm) work->flops = {};
  }
  price_softmax(compiled);
  return compiled;
}

}  // namespace sgsim::lower::segment
