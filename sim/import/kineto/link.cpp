#include <algorithm>
#include <numeric>

#include "sim/import/kineto/rank_builder.h"

namespace sgsim::import::kineto {
namespace {

using trace::HostCall;
using trace::HostOp;
using trace::kNone;

// Sorts a table and says where each old index went.
template <class T, class Less>
std::vector<std::uint32_t> sort_table(std::vector<T>& table, Less less) {
  std::vector<std::uint32_t> order(table.size()), place(table.size());
  std::iota(order.begin(), order.end(), 0U);
  if (std::is_sorted(table.begin(), table.end(), less)) return order;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return less(table[a], table[b]); });
  std::vector<T> sorted;
  sorted.reserve(table.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    sorted.push_back(std::move(table[order[i]]));
    place[order[i]] = i;
  }
  table = std::move(sorted);
  return place;
}

// Innermost operator around each call, and the parent of each operator, by nesting in time on their thread.
std::vector<std::uint32_t> nest(trace::RankTrace& rank) {
  std::vector<std::uint32_t> parent(rank.ops.size(), kNone);
  std::vector<std::vector<std::uint32_t>> open(rank.threads.size());
  const auto innermost = [&](std::uint32_t thread, trace::Nanoseconds at) {
    auto& stack = open[thread];
    while (!stack.empty() && rank.ops[stack.back()].start + rank.ops[stack.back()].duration < at) stack.pop_back();
    return stack.empty() ? kNone : stack.back();
  };
  std::uint32_t next = 0;
  const auto enter_until = [&](trace::Nanoseconds at) {
    for (; next < rank.ops.size() && rank.ops[next].start <= at; ++next) {
      const HostOp& op = rank.ops[next];
      parent[next] = innermost(op.thread, op.start);
      open[op.thread].push_back(next);
    }
  };
  for (HostCall& call : rank.calls) {
    enter_until(call.start);
    call.op = innermost(call.thread, call.start);
  }
  if (!rank.ops.empty()) enter_until(rank.ops.back().start);
  return parent;
}

void link_by_id(trace::RankTrace& rank, const std::vector<std::int64_t>& ids) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_id;
  for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
    if (rank.ops[i].id > 0) by_id.emplace_back(rank.ops[i].id, i);
  }
  if (!std::is_sorted(by_id.begin(), by_id.end())) std::sort(by_id.begin(), by_id.end());
  for (std::size_t i = 0; i < rank.calls.size(); ++i) {
    if (rank.calls[i].op != kNone || ids[i] <= 0) continue;
    const auto found = std::lower_bound(by_id.begin(), by_id.end(), std::pair(ids[i], 0U));
    if (found != by_id.end() && found->first == ids[i]) rank.calls[i].op = found->second;
  }
}

bool launches(const HostCall& call) {
  return call.kind == trace::CallKind::launch || call.kind == trace::CallKind::graph_launch || call.kind == trace::CallKind::copy || call.kind == trace::CallKind::set;
}

void link_launches(trace::RankTrace& rank, trace::ImportedRun& run, Tally& tally) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_correlation;
  for (std::uint32_t i = 0; i < rank.calls.size(); ++i) {
    if (rank.calls[i].correlation > 0) by_correlation.emplace_back(rank.calls[i].correlation, i);
  }
  if (!std::is_sorted(by_correlation.begin(), by_correlation.end())) std::sort(by_correlation.begin(), by_correlation.end());
  std::vector<bool> used(rank.calls.size(), false);
  for (trace::DeviceOp& op : rank.device_ops) {
    const auto first = std::lower_bound(by_correlation.begin(), by_correlation.end(), std::pair(op.correlation, 0U));
    std::uint32_t chosen = kNone;
    int candidates = 0;
    for (auto it = first; op.correlation > 0 && it != by_correlation.end() && it->first == op.correlation; ++it, ++candidates) {
      const HostCall& call = rank.calls[it->second];
      if (chosen == kNone || (call.start <= op.start && (launches(call) || !launches(rank.calls[chosen])))) chosen = it->second;
    }
    if (candidates > 1) tally.add(Count::launch_ambiguous, run.strings.at(op.name));
    if (chosen == kNone) {
      tally.add(Count::kernel_without_launch, run.strings.at(op.name));
      continue;
    }
    op.call = chosen;
    op.op = rank.calls[chosen].op;
    used[chosen] = true;
  }
  for (std::size_t i = 0; !rank.device_ops.empty() && i < rank.calls.size(); ++i) {
    if (launches(rank.calls[i]) && !used[i]) tally.add(Count::launch_without_kernel, run.strings.at(rank.calls[i].name));
  }
}

void count_overruns(const trace::RankTrace& rank, const trace::ImportedRun& run, Tally& tally) {
  std::vector<const trace::DeviceOp*> last(rank.streams.size(), nullptr);
  for (const trace::DeviceOp& op : rank.device_ops) {
    const trace::DeviceOp*& before = last[op.stream];
    if (before != nullptr && before->start + before->duration > op.start) tally.add(Count::stream_overrun, run.strings.at(before->name));
    if (before == nullptr || before->start + before->duration <= op.start + op.duration) before = &op;
  }
}

// First tensor of "Input Dims" and "Input type", as take_op joined them.
void facts_from_shapes(const std::string& shapes, CommFacts& facts, double& elements) {
  const std::size_t split = shapes.rfind(" [");
  if (split == std::string::npos) return;
  const std::size_t close = shapes.find(']');
  if (close == std::string::npos) return;
  elements = 1.0;
  bool any = false;
  for (const std::int32_t d : rank_list(std::string_view(shapes).substr(0, close))) elements *= d, any = true;
  if (!any) elements = -1.0;
  const std::size_t quote = shapes.find('"', split);
  const std::size_t end = quote == std::string::npos ? quote : shapes.find('"', quote + 1);
  if (facts.dtype.empty() && end != std::string::npos) facts.dtype = shapes.substr(quote + 1, end - quote - 1);
}

// "layers.3" of "FSDP::pre_forward (m.model.layers.3)" or "nn.Module: DecoderLayer_3"; empty when there is none.
std::string_view layer_in(std::string_view name) {
  for (const std::string_view word : {"layers.", "layer.", "blocks.", "h."}) {
    for (std::size_t at = name.find(word); at != std::string_view::npos; at = name.find(word, at + 1)) {
      const std::size_t digits = at + word.size();
      const std::size_t end = std::min(name.find_first_not_of("0123456789", digits), name.size());
      if (end > digits && (at == 0 || name[at - 1] == '.' || name[at - 1] == '(' || name[at - 1] == ' ')) return name.substr(at, end - at);
    }
  }
  if (name.rfind("nn.Module: ", 0) == 0 && (name.find("Layer_") != std::string_view::npos || name.find("Block_") != std::string_view::npos)) return name.substr(11);
  return {};
}

// A layer holds for everything inside of what names it.
void name_layers(trace::RankTrace& rank, trace::ImportedRun& run, const std::vector<std::uint32_t>& parent) {
  std::vector<trace::Text> known(run.strings.size(), kNone), of_op(rank.ops.size(), 0);
  for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
    const trace::Text name = rank.ops[i].name;
    if (known[name] == kNone) known[name] = run.strings.intern(layer_in(run.strings.at(name)));
    of_op[i] = known[name] != 0 ? known[name] : parent[i] == kNone ? 0 : of_op[parent[i]];
  }
  for (trace::DeviceOp& op : rank.device_ops) {
    if (op.layer == 0 && op.op != kNone) op.layer = of_op[op.op];
  }
}

class CollectiveMaker {
 public:
  CollectiveMaker(trace::RankTrace& rank, trace::ImportedRun& run, const std::vector<std::uint32_t>& parent,
                  const std::unordered_map<std::uint32_t, CommFacts>& kernel_comms, const std::unordered_map<std::uint32_t, CommFacts>& op_comms, Tally& tally)
      : rank_(rank), run_(run), parent_(parent), kernel_comms_(kernel_comms), op_comms_(op_comms), tally_(tally) {}

  void make() {
    find_renamed();
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) {
      const trace::DeviceOp& op = rank_.device_ops[i];
      if (op.kind != trace::DeviceKind::kernel) continue;
      if (kernel_comms_.count(i) != 0 || is_comm_kernel(run_.strings.at(op.name))) {
        add(i, annotation_of(op.op));
      } else if (const std::uint32_t a = annotation_of(op.op); a != kNone && renamed_.count(a) != 0) {
        tally_.add(Count::collective_renamed, run_.strings.at(op.name));
        add(i, a);
      }
    }
    host_only();
  }

 private:
  // The nearest "nccl:..." annotation around an operator.
  std::uint32_t annotation_of(std::uint32_t op) const {
    for (; op != kNone; op = parent_[op]) {
      const std::string& name = run_.strings.at(rank_.ops[op].name);
      if (name.rfind("nccl:", 0) == 0) return op;
    }
    return kNone;
  }

  // Annotations whose one kernel has no name of NCCL's.
  void find_renamed() {
    std::map<std::uint32_t, std::pair<int, bool>> kernels;
    for (const trace::DeviceOp& op : rank_.device_ops) {
      if (op.kind != trace::DeviceKind::kernel || op.op == kNone) continue;
      const std::uint32_t a = annotation_of(op.op);
      if (a == kNone) continue;
      auto& [count, known] = kernels[a];
      ++count;
      known = known || is_comm_kernel(run_.strings.at(op.name));
    }
    for (const auto& [a, seen] : kernels) {
      if (seen.first == 1 && !seen.second) renamed_.emplace(a, 0);
    }
  }

  CommFacts facts_of(std::uint32_t kernel, std::uint32_t annotation, double& shape_elements) {
    CommFacts facts;
    if (const auto found = kernel_comms_.find(kernel); found != kernel_comms_.end()) facts = found->second;
    for (std::uint32_t op = annotation; op != kNone; op = parent_[op]) {
      if (const auto found = op_comms_.find(op); found != op_comms_.end()) {
        const CommFacts& more = found->second;
        if (facts.name.empty()) facts.name = more.name;
        if (facts.dtype.empty()) facts.dtype = more.dtype;
        if (facts.group.empty()) facts.group = more.group, facts.description = more.description, facts.ranks = more.ranks;
        if (facts.size == 0) facts.size = more.size;
        if (facts.in_elements < 0.0) facts.in_elements = more.in_elements, facts.out_elements = more.out_elements;
        if (facts.in_split.empty()) facts.in_split = more.in_split, facts.out_split = more.out_split;
        if (facts.peer < 0) facts.peer = more.peer;
      }
      if (shape_elements < 0.0) facts_from_shapes(run_.strings.at(rank_.ops[op].shapes), facts, shape_elements);
    }
    return facts;
  }

  trace::CommKind kind_of(const CommFacts& facts, std::string_view kernel, std::uint32_t annotation) const {
    trace::CommKind kind = comm_kind(facts.name);
    if (kind == trace::CommKind::other) kind = comm_kind(kernel);
    if (annotation != kNone && (kind == trace::CommKind::other || kind == trace::CommKind::send_receive)) {
      const trace::CommKind said = comm_kind(run_.strings.at(rank_.ops[annotation].name));
      if (said != trace::CommKind::other) kind = said;
    }
    return kind;
  }

  void add(std::uint32_t kernel, std::uint32_t annotation) {
    double shape_elements = -1.0;
    CommFacts facts = facts_of(kernel, annotation, shape_elements);
    const std::string name = kernel == kNone ? std::string() : run_.strings.at(rank_.device_ops[kernel].name);
    trace::Collective c{.kind = kind_of(facts, name, annotation), .device_op = kernel, .host_op = annotation};
    if (facts.in_elements < 0.0 && facts.out_elements < 0.0 && shape_elements >= 0.0) {
      facts.in_elements = shape_elements;
      tally_.add(Count::collective_size_guessed, name);
    }
    if (facts.group.empty() && facts.ranks.empty() && rank_.world_size > 0) {
      facts.group = "world";
      if (facts.size == 0) facts.size = rank_.world_size;
      tally_.add(Count::collective_group_guessed, name.empty() ? facts.name : name);
    }
    c.bytes = payload(c.kind, facts);
    c.group = group_of(run_, facts);
    c.name = run_.strings.intern(!facts.name.empty() ? std::string_view(facts.name) : annotation != kNone ? std::string_view(run_.strings.at(rank_.ops[annotation].name)) : std::string_view(name));
    c.dtype = run_.strings.intern(facts.dtype);
    c.peer = facts.peer;
    c.uneven = differs(facts.in_split) || differs(facts.out_split);
    c.sequence = next_[c.group]++;
    tally_.add(Count::collectives, trace::name_of(c.kind));
    kinds_[c.kind] += 1;
    if (c.kind == trace::CommKind::other) tally_.add(Count::collective_unknown_kind, run_.strings.at(c.name));
    if (c.uneven) tally_.add(Count::collective_uneven, facts.in_split + " -> " + facts.out_split);
    if (c.bytes == 0.0 && c.kind != trace::CommKind::barrier) tally_.add(Count::collective_empty, run_.strings.at(c.name));
    if (c.bytes < 0.0) tally_.add(Count::collective_size_unknown, run_.strings.at(c.name));
    if (kernel != kNone) rank_.device_ops[kernel].collective = static_cast<std::uint32_t>(rank_.collectives.size());
    if (annotation != kNone) linked_[annotation] = true;
    rank_.collectives.push_back(c);
  }

  // gloo and MPI have no kernels; an NCCL annotation without one is only counted.
  void host_only() {
    std::vector<std::uint32_t> ops;
    for (const auto& [op, facts] : op_comms_) ops.push_back(op);
    std::sort(ops.begin(), ops.end());
    for (const std::uint32_t op : ops) {
      const std::string& name = run_.strings.at(rank_.ops[op].name);
      if (name == "record_param_comms" || linked_.count(op) != 0) continue;
      if (name.rfind("nccl:", 0) == 0) {
        tally_.add(Count::collective_without_kernel, name);
      } else {
        add(kNone, op);
      }
    }
  }

  trace::RankTrace& rank_;
  trace::ImportedRun& run_;
  const std::vector<std::uint32_t>& parent_;
  const std::unordered_map<std::uint32_t, CommFacts>&kernel_comms_, &op_comms_;
  Tally& tally_;
  std::map<std::uint32_t, int> renamed_;
  std::map<std::uint32_t, bool> linked_;
  std::map<std::uint32_t, std::uint32_t> next_;
  std::map<trace::CommKind, std::uint64_t> kinds_;
};

}  // namespace

std::uint32_t group_of(trace::ImportedRun& run, const CommFacts& facts) {
  if (facts.group.empty() && facts.ranks.empty()) return kNone;
  const std::vector<std::int32_t> ranks = rank_list(facts.ranks);
  const trace::Text name = run.strings.intern(facts.group);
  for (std::uint32_t i = 0; i < run.groups.size(); ++i) {
    trace::Group& g = run.groups[i];
    if (g.name != name) continue;
    const bool same = ranks.empty() || g.ranks.empty() ? (facts.size == 0 || g.size == 0 || facts.size == g.size) : ranks == g.ranks;
    if (!same) continue;
    if (g.ranks.empty()) g.ranks = ranks;
    if (g.size == 0) g.size = facts.size;
    return i;
  }
  run.groups.push_back({.name = name, .description = run.strings.intern(facts.description), .ranks = ranks,
                        .size = facts.size != 0 ? facts.size : static_cast<std::uint32_t>(ranks.size())});
  return static_cast<std::uint32_t>(run.groups.size() - 1);
}

void link_rank(trace::RankTrace& rank, trace::ImportedRun& run, const LinkInput& input, Tally& tally) {
  const auto op_place = sort_table(rank.ops, [](const HostOp& a, const HostOp& b) { return a.start != b.start ? a.start < b.start : a.duration > b.duration; });
  const auto call_place = sort_table(rank.calls, [](const HostCall& a, const HostCall& b) { return a.start < b.start; });
  const auto device_place = sort_table(rank.device_ops, [](const trace::DeviceOp& a, const trace::DeviceOp& b) { return a.start < b.start; });
  std::stable_sort(rank.steps.begin(), rank.steps.end(), [](const trace::Step& a, const trace::Step& b) { return a.start < b.start; });
  std::vector<std::int64_t> ids(input.call_ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[call_place[i]] = input.call_ids[i];
  std::unordered_map<std::uint32_t, CommFacts> kernel_comms, op_comms;
  for (const auto& [i, facts] : input.kernel_comms) kernel_comms.emplace(device_place[i], facts);
  for (const auto& [i, facts] : input.op_comms) op_comms.emplace(op_place[i], facts);

  const std::vector<std::uint32_t> parent = nest(rank);
  link_by_id(rank, ids);
  link_launches(rank, run, tally);
  count_overruns(rank, run, tally);
  name_layers(rank, run, parent);
  CollectiveMaker(rank, run, parent, kernel_comms, op_comms, tally).make();
}

}  // namespace sgsim::import::kineto
