#include "sim/compile/fuse/emit.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include "sim/compile/external.h"
#include "sim/compile/fuse/reduction_split.h"

namespace sgsim::compile::fuse {

using graph::MemoryBound;
using graph::MemoryKind;
using graph::OperatorClass;
using graph::ValueRef;

namespace {

/// Rows longer than this do not stay in the second-level cache between two passes of one kernel: a GPU of 108 to 132 SMs has
/// about four such rows of four blocks an SM in flight, and 40 to 50 MB of cache (A100 and H100 datasheets).
constexpr double kCachedRowBytes = 64.0 * 1024.0;

class Emitter {
 public:
  Emitter(const graph::OperatorGraph& graph, const OperatorTable& operators, const Program& program, const LoopProgram& loops,
          const std::vector<Group>& groups)
      : graph_(graph), operators_(operators), program_(program), loops_(loops), groups_(groups), group_of_(loops.nests.size()), maker_(loops.buffers.size(), kNone),
        last_kernel_(groups.size(), kNone) {}

  std::vector<Kernel> run() {
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      for (const std::uint32_t n : groups_[g].nests) {
        group_of_[n] = g;
        for (const Dependency& d : loops_.nests[n].writes) maker_[d.buffer] = g;
      }
    }
    find_outside_readers();
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      const LoopNest& first = loops_.nests[groups_[g].nests[0]];
      if (first.kind == LoopKind::fixed) add_fixed(g, first);
      else add_fused(g);
      last_kernel_[g] = static_cast<std::uint32_t>(kernels_.size() - 1);
    }
    return std::move(kernels_);
  }

 private:
  void find_outside_readers() {
    read_outside_.assign(loops_.buffers.size(), 0);
    for (std::uint32_t n = 0; n < loops_.nests.size(); ++n) {
      for (const Dependency& d : loops_.nests[n].reads) {
        if (maker_[d.buffer] != kNone && maker_[d.buffer] != group_of_[n]) read_outside_[d.buffer] = 1;
      }
    }
    for (std::uint32_t b = 0; b < loops_.buffers.size(); ++b) read_outside_[b] = read_outside_[b] || loops_.buffers[b].leaves;
  }

  [[nodiscard]] const graph::Node& node_of(std::uint32_t op) const { return graph_.node(program_.ops[op].node); }

  template <class T>
  static void sort_unique(std::vector<T>& list) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }

  /// What all kernels of a group share: operators, phase, module, dependencies.
  Kernel start(std::uint32_t g) const {
    Kernel kernel;
    for (const std::uint32_t n : groups_[g].nests) {
      const LoopNest& nest = loops_.nests[n];
      for (const std::uint32_t op : nest.ops) kernel.nodes.push_back(program_.ops[op].node);
      for (const Dependency& d : nest.reads) {
        if (maker_[d.buffer] == g) continue;
        if (maker_[d.buffer] != kNone) kernel.inputs.push_back(KernelId{last_kernel_[maker_[d.buffer]]});
        if (const ValueRef v = ref(d.buffer); v.node.valid()) kernel.reads.push_back(v);
      }
    }
    sort_unique(kernel.nodes);
    sort_unique(kernel.inputs);
    sort_unique(kernel.reads);
    const LoopNest& first = loops_.nests[groups_[g].nests[0]];
    kernel.phase = first.backward ? graph::Phase::backward : graph::Phase::forward;
    kernel.piece = first.piece;
    kernel.module = module_of(g);
    return kernel;
  }

  /// Module of the operator whose result the kernel's first nest is; of its latest operand that has one where it has none.
  [[nodiscard]] ModuleId module_of(std::uint32_t g) const {
    const auto& ops = loops_.nests[groups_[g].nests[0]].ops;
    for (std::size_t i = ops.size(); i-- > 0;) {
      if (node_of(ops[i]).module.valid()) return node_of(ops[i]).module;
    }
    return {};
  }

  [[nodiscard]] ValueRef ref(std::uint32_t buffer) const {
    const std::uint32_t value = loops_.buffers[buffer].value;
    return value == kNone ? ValueRef{} : program_.values[value].ref;
  }

  void add_fixed(std::uint32_t g, const LoopNest& nest) {
    const graph::Node& node = node_of(nest.op);
    Kernel kernel = start(g);
    save_results(kernel, g);
    if (program_.ops[nest.op].kind == OpKind::communication) {
      kernel.name = operators_.of(program_.ops[nest.op].node).name;
      kernel.is_communication = true;
      kernel.communication = communication_of(graph_, node);
      kernels_.push_back(std::move(kernel));
      return;
    }
    if (program_.ops[nest.op].kind != OpKind::external) {  // an unknown operator, or a fill by autograd
      MemoryBound work{.kind = MemoryKind::pointwise, .read = {}, .written = {}, .flops = {}};
      if (program_.ops[nest.op].kind == OpKind::constant) work.kind = MemoryKind::copy;
      for (const Dependency& d : nest.reads) work.read += Bytes(moved(d));
      for (const Dependency& d : nest.writes) work.written += Bytes(moved(d));
      kernel.name = operators_.of(program_.ops[nest.op].node).name;
      kernel.work = work;
      kernels_.push_back(std::move(kernel));
      return;
    }
    std::vector<NamedWork> works = external_work(graph_, node);
    for (std::size_t i = 0; i < works.size(); ++i) {
      Kernel part = kernel;
      part.name = std::move(works[i].name);
      part.work = std::move(works[i].work);
      if (i + 1 < works.size()) part.saved.clear();
      kernels_.push_back(std::move(part));
    }
  }

  void save_results(Kernel& kernel, std::uint32_t g) const {
    for (const std::uint32_t n : groups_[g].nests) {
      for (const Dependency& d : loops_.nests[n].writes) {
        if (!read_outside_[d.buffer]) continue;
        if (const ValueRef v = ref(d.buffer); v.node.valid()) kernel.saved.push_back(v);
        else kernel.scratch += Bytes(loops_.buffers[d.buffer].bytes());
      }
    }
  }

  void add_fused(std::uint32_t g) {
    Kernel kernel = start(g);
    save_results(kernel, g);
    MemoryBound work;
    work.read = read_bytes(g);
    work.written = written_bytes(g);
    bool reduces = false, outer = false;
    std::int64_t longest = 1;
    for (const std::uint32_t n : groups_[g].nests) {
      const LoopNest& nest = loops_.nests[n];
      work.flops += Flops(nest.flops * static_cast<double>(nest.kept) * static_cast<double>(nest.reduced));
      if (nest.kind != LoopKind::reduction) continue;
      reduces = true;
      outer = outer || nest.outer;
      longest = std::max(longest, nest.reduced);
    }
    work.kind = kind_of(g, reduces, work);
    const bool persistent = reduces && (groups_[g].mixed || is_persistent(longest, outer));
    kernel.name = std::string(reduces ? (persistent ? "triton_per_fused" : "triton_red_fused") : "triton_poi_fused") + operators_of(g);
    if (adds_mixed_parts(g)) kernel.name = "reduce_kernel";
    kernel.work = work;
    kernels_.push_back(std::move(kernel));
  }

  /// ATen's sum adds up the partial sums that a kernel over rows and columns leaves.
  [[nodiscard]] bool adds_mixed_parts(std::uint32_t g) const {
    const LoopNest& nest = loops_.nests[groups_[g].nests[0]];
    return nest.combines && !nest.reads.empty() && maker_[nest.reads[0].buffer] != kNone && groups_[maker_[nest.reads[0].buffer]].mixed;
  }

  /// Names of the operators in a group, sorted, each once.
  [[nodiscard]] std::string operators_of(std::uint32_t g) const {
    std::vector<std::string_view> names;
    for (const std::uint32_t n : groups_[g].nests) {
      const OperatorInfo* previous = nullptr;
      for (const std::uint32_t op : loops_.nests[n].ops) {
        const OperatorInfo& info = operators_.of(program_.ops[op].node);
        if (&info == previous || (program_.ops[op].kind == OpKind::view && program_.ops[op].view.kind == ViewKind::alias)) continue;
        previous = &info;
        names.push_back(info.name);
      }
    }
    sort_unique(names);
    std::string text;
    for (const std::string_view name : names) {
      text += '_';
      text += name;
    }
    return text;
  }

  /// How often the loops of each nest of a group run after the first: a nest that reads a row's result makes another pass
  /// over the row.
  [[nodiscard]] std::vector<int> passes_of(const Group& group) const {
    std::vector<int> pass(group.nests.size(), 0);
    for (std::size_t i = 0; i < group.nests.size(); ++i) {
      const LoopNest& nest = loops_.nests[group.nests[i]];
      for (std::size_t j = 0; j < i; ++j) {
        const LoopNest& producer = loops_.nests[group.nests[j]];
        const bool reads = std::any_of(nest.reads.begin(), nest.reads.end(), [&](const Dependency& r) {
          return std::any_of(producer.writes.begin(), producer.writes.end(), [&](const Dependency& w) { return w.buffer == r.buffer; });
        });
        if (reads) pass[i] = std::max(pass[i], pass[j] + (producer.kind == LoopKind::reduction && producer.reduced > 1 ? 1 : 0));
      }
    }
    return pass;
  }

  /// Bytes of a read or write. Partial results are read and written whole; fusion decides how many there are.
  [[nodiscard]] double moved(const Dependency& d) const {
    const Buffer& buffer = loops_.buffers[d.buffer];
    return (buffer.value == kNone ? buffer.elements : d.elements) * buffer.element_size;
  }

  [[nodiscard]] Bytes read_bytes(std::uint32_t g) const {
    const Group& group = groups_[g];
    const std::vector<int> pass = passes_of(group);
    struct Use {
      std::uint32_t buffer = 0;
      double bytes = 0.0;
      std::uint32_t passes = 0;  // bit p: read in pass p
    };
    std::vector<Use> uses;
    std::int64_t kept = 1, longest = 1;
    bool outer = false;
    for (const std::uint32_t n : group.nests) {
      const LoopNest& nest = loops_.nests[n];
      if (nest.kind != LoopKind::reduction) continue;
      kept = nest.kept;
      longest = std::max(longest, nest.reduced);
      outer = outer || nest.outer;
    }
    for (std::size_t i = 0; i < group.nests.size(); ++i) {
      for (const Dependency& d : loops_.nests[group.nests[i]].reads) {
        if (maker_[d.buffer] == g) continue;
        auto found = std::find_if(uses.begin(), uses.end(), [&](const Use& u) { return u.buffer == d.buffer; });
        if (found == uses.end()) found = uses.insert(found, Use{.buffer = d.buffer});
        Use& use = *found;
        const double bytes = moved(d);
        use.bytes = std::max(use.bytes, bytes);
        if (d.whole) use.passes |= 1U << std::min(pass[i], 31);
      }
    }
    double row = 0.0;
    for (const Use& use : uses) {
      if (std::popcount(use.passes) > 1) row += use.bytes / static_cast<double>(kept);
    }
    const bool again = !group.mixed && !is_persistent(longest, outer) && row > kCachedRowBytes;
    double total = 0.0;
    for (const Use& use : uses) total += use.bytes * (again ? std::max(std::popcount(use.passes), 1) : 1);
    return Bytes(total);
  }

  [[nodiscard]] Bytes written_bytes(std::uint32_t g) const {
    double total = 0.0;
    for (const std::uint32_t n : groups_[g].nests) {
      for (const Dependency& d : loops_.nests[n].writes) {
        if (read_outside_[d.buffer]) total += moved(d);
      }
    }
    return Bytes(total);
  }

  [[nodiscard]] MemoryKind kind_of(std::uint32_t g, bool reduces, const MemoryBound& work) const {
    bool loss = false, softmax = false, gathers = false, embeds = false, pools = false, arithmetic = false, whole = false, strided = false;
    std::int64_t elements = 2;
    for (const std::uint32_t n : groups_[g].nests) elements = std::max(elements, loops_.nests[n].kept * loops_.nests[n].reduced);
    for (const std::uint32_t n : groups_[g].nests) {
      const LoopNest& nest = loops_.nests[n];
      if (nest.scatters) return MemoryKind::embedding_gradient;
      whole = whole || (nest.kind == LoopKind::pointwise && nest.kept >= elements);
      for (const Dependency& d : nest.reads) strided = strided || (d.whole && !d.contiguous);
      for (const std::uint32_t op : nest.ops) {
        const OperatorInfo& info = operators_.of(program_.ops[op].node);
        const OperatorClass operator_class = info.operator_class;
        loss = loss || operator_class == OperatorClass::loss || (operator_class == OperatorClass::softmax && info.name.starts_with("_log_softmax"));
        softmax = softmax || operator_class == OperatorClass::softmax;
        pools = pools || operator_class == OperatorClass::pool;
        embeds = embeds || operator_class == OperatorClass::embedding;
        gathers = gathers || program_.ops[op].kind == OpKind::gather;
        arithmetic = arithmetic || (program_.ops[op].kind != OpKind::view && operator_class != OperatorClass::copy);
      }
    }
    if (loss) return MemoryKind::cross_entropy;
    if (softmax) return MemoryKind::softmax;
    if (reduces) return whole ? MemoryKind::norm : MemoryKind::reduction;
    if (pools) return MemoryKind::pooling;
    if (embeds) return MemoryKind::embedding;
    if (gathers && work.read * 2.0 > work.written) return MemoryKind::gather_scatter;  // not a mask made of a few positions
    if (!arithmetic) return strided ? MemoryKind::transpose : MemoryKind::copy;
    if (work.read == Bytes(0.0)) return MemoryKind::copy;  // fills
    return MemoryKind::pointwise;
  }

  const graph::OperatorGraph& graph_;
  const OperatorTable& operators_;
  const Program& program_;
  const LoopProgram& loops_;
  const std::vector<Group>& groups_;
  std::vector<std::uint32_t> group_of_;     // by nest
  std::vector<std::uint32_t> maker_;        // group that writes each buffer
  std::vector<std::uint32_t> last_kernel_;  // by group
  std::vector<char> read_outside_;          // by buffer
  std::vector<Kernel> kernels_;
};

}  // namespace

std::vector<Kernel> emit(const graph::OperatorGraph& graph, const OperatorTable& operators, const Program& program, const LoopProgram& loops,
                         const std::vector<Group>& groups) {
  return Emitter(graph, operators, program, loops, groups).run();
}

}  // namespace sgsim::compile::fuse
