#include "sim/lower/segment/liveness.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "sim/lower/segment/storage.h"

namespace sgsim::lower::segment {
namespace {

using graph::NodeKind;
using graph::Phase;
using graph::ValueRef;

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

/// One piece of memory on the time line of kernels (forward positions upwards, then backward positions downwards).
struct Life {
  Bytes bytes;
  std::uint32_t made = 0, last_read = 0;   // steps
  std::uint32_t keeper = kNever;           // position that keeps it for the backward pass
};

class Timeline {
 public:
  Timeline(const compile::CompiledGraph& compiled, const KernelLists& lists)
      : compiled_(compiled), lists_(lists), count_(static_cast<std::uint32_t>(lists.forward.size())) {
    order_steps();
    collect();
  }

  std::vector<Footprint> run() {
    std::vector<Footprint> result(count_);
    for (const Life& life : lives_) {
      if (life.keeper != kNever) result[life.keeper].saved += life.bytes;
    }
    for (std::uint32_t at = 0; at < count_; ++at) {
      result[at].forward_peak = peak(at, forward_begin_[at], forward_begin_[at + 1]) - result[at].saved;
      result[at].backward_peak = peak(at, backward_begin_[at], backward_end_[at]) - result[at].saved;
      result[at].forward_peak = std::max(result[at].forward_peak, Bytes(0.0));
      result[at].backward_peak = std::max(result[at].backward_peak, Bytes(0.0));
    }
    return result;
  }

 private:
  void order_steps() {
    step_.assign(compiled_.kernels.size(), 0);
    std::uint32_t now = 0;
    const auto run = [&](const std::vector<std::uint32_t>& kernels) {
      for (std::uint32_t k : kernels) step_[k] = now++;
    };
    for (std::uint32_t at = 0; at < count_; ++at) {
      forward_begin_.push_back(now);
      run(lists_.forward[at]);
    }
    forward_begin_.push_back(now);
    backward_begin_.assign(count_, 0);
    backward_end_.assign(count_, 0);
    for (std::uint32_t at = count_; at-- > 0;) {
      backward_begin_[at] = now;
      run(lists_.recompute[at]);
      run(lists_.backward[at]);
      backward_end_[at] = now;
    }
  }

  void collect() {
    const std::vector<bool> trained = depends_on_parameters(compiled_.graph);
    const Storage storage(compiled_.graph);
    std::set<ValueRef> gradients;
    for (const auto& [parameter, gradient] : compiled_.graph.gradients) gradients.insert(storage.owner(gradient));
    std::map<ValueRef, std::size_t> life_of;
    std::vector<std::uint32_t> scratch_read(compiled_.kernels.size(), 0);
    std::vector<std::vector<std::uint32_t>> scratch_kept(compiled_.kernels.size());  // generated backward kernels that read it
    std::vector<std::uint32_t> earliest_reader;  // of each life: smallest position of its backward readers
    for (std::uint32_t k = 0; k < compiled_.kernels.size(); ++k) {
      for (ValueRef v : compiled_.kernels[k].saved) {
        if (gradients.contains(storage.owner(v)) || compiled_.graph.node(v.node).kind != NodeKind::call) continue;
        if (!life_of.try_emplace(v, lives_.size()).second) continue;
        lives_.push_back({compiled_.graph.type(v).bytes(), step_[k], step_[k], kNever});
        earliest_reader.push_back(kNever);
      }
      for (KernelId input : compiled_.kernels[k].inputs) {
        scratch_read[input.value] = std::max(scratch_read[input.value], step_[k]);
        const bool generated = std::holds_alternative<graph::MemoryBound>(compiled_.kernels[k].work) && !compiled_.kernels[k].is_communication;
        if (generated && compiled_.kernels[k].phase == Phase::backward) scratch_kept[input.value].push_back(k);
      }
    }
    for (std::uint32_t k = 0; k < compiled_.kernels.size(); ++k) {
      for (ValueRef v : compiled_.kernels[k].reads) {
        const auto found = life_of.find(v);
        if (found == life_of.end()) continue;
        Life& life = lives_[found->second];
        life.last_read = std::max(life.last_read, step_[k]);
        if (compiled_.kernels[k].phase == Phase::backward && life.made < forward_begin_.back()) {
          std::uint32_t& earliest = earliest_reader[found->second];
          earliest = std::min(earliest, lists_.position[k]);
        }
      }
    }
    for (const auto& [v, index] : life_of) {
      if (earliest_reader[index] == kNever) continue;
      const std::uint32_t made_at = position_of_step(lives_[index].made);
      lives_[index].keeper = trained[v.node.value] ? std::max(made_at, earliest_reader[index]) : made_at;
    }
    for (std::uint32_t k = 0; k < compiled_.kernels.size(); ++k) {
      const Bytes scratch = compiled_.kernels[k].scratch;
      if (scratch == Bytes(0.0)) continue;
      if (compiled_.kernels[k].phase == Phase::backward || scratch_kept[k].empty()) {
        lives_.push_back({scratch, step_[k], std::max(step_[k], scratch_read[k]), kNever});
        continue;
      }
      // What has no value in the graph is kept for the backward pass too: the normalised inputs of layer norms. One kernel may make those of
      // several layers: each reader has its share.
      for (const std::uint32_t reader : scratch_kept[k]) {
        lives_.push_back({scratch / static_cast<double>(scratch_kept[k].size()), step_[k], std::max(step_[k], step_[reader]), lists_.position[reader]});
      }
    }
  }

  [[nodiscard]] std::uint32_t position_of_step(std::uint32_t step) const {
    return static_cast<std::uint32_t>(std::upper_bound(forward_begin_.begin(), forward_begin_.end(), step) - forward_begin_.begin()) - 1;
  }

  /// Most bytes alive at once over the steps [begin, end) of a position, without what earlier positions keep.
  [[nodiscard]] Bytes peak(std::uint32_t at, std::uint32_t begin, std::uint32_t end) const {
    if (begin == end) return Bytes(0.0);
    std::vector<double> change(end - begin + 1, 0.0);
    for (const Life& life : lives_) {
      if (life.keeper != kNever && life.keeper < at) continue;
      const std::uint32_t from = std::max(life.made, begin), to = std::min(life.last_read + 1, end);
      if (from >= to) continue;
      change[from - begin] += life.bytes.value();
      change[to - begin] -= life.bytes.value();
    }
    double live = 0.0, most = 0.0;
    for (double delta : change) {
      live += delta;
      most = std::max(most, live);
    }
    return Bytes(most);
  }

  const compile::CompiledGraph& compiled_;
  const KernelLists& lists_;
  std::uint32_t count_;
  std::vector<std::uint32_t> step_;                         // of each kernel
  std::vector<std::uint32_t> forward_begin_;                // of each position, and the end of the forward pass
  std::vector<std::uint32_t> backward_begin_, backward_end_;
  std::vector<Life> lives_;
};

}  // namespace

std::vector<Footprint> footprints(const compile::CompiledGraph& compiled, const KernelLists& lists) {
  return Timeline(compiled, lists).run();
}

std::vector<Bytes> boundaries(const graph::OperatorGraph& graph, const Cut& cut) {
  const std::vector<bool> trained = depends_on_parameters(graph);
  const Storage storage(graph);
  std::map<ValueRef, std::uint32_t> last_reader;  // largest position whose forward operators read it
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (node.kind != NodeKind::call || node.phase != Phase::forward) continue;
    graph::for_each_input(node, [&](ValueRef v) {
      const ValueRef owner = storage.owner(v);
      if (graph.node(owner.node).kind != NodeKind::call || !trained[owner.node.value]) return;
      std::uint32_t& last = last_reader[owner];
      last = std::max(last, cut.position[i]);
    });
  }
  std::vector<Bytes> result(cut.count());
  for (const auto& [value, last] : last_reader) {
    for (std::uint32_t at = cut.position[value.node.value]; at < last; ++at) result[at] += graph.type(value).bytes();
  }
  return result;
}

}  // namespace sgsim::lower::segment
