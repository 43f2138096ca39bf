#include "sim/lower/binding/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/stop.h"
#include "sim/lower/binding/layout.h"
#include "sim/lower/binding/price.h"

namespace sgsim::lower {
namespace {

constexpr std::uint32_t kNone = 0xffffffffu;

struct Communicator {
  Slot kind = Slot::data;
  int stage = 0;                    // of its leader
  std::vector<int> nodes;           // ascending, each once
  [[nodiscard]] bool crosses() const { return nodes.size() > 1; }
};

class Binder {
 public:
  Binder(std::vector<Skeleton> stages, const plan::Plan& plan, int shard_group, const cluster::Cluster& cluster, const ShapeOf& shape_of, const TaskCosts& costs)
      : stages_(std::move(stages)), plan_(plan), shard_group_(shard_group), cluster_(cluster), shape_of_(shape_of), costs_(costs) {}

  Bound bind();

 private:
  GroupId group(Slot slot, const Coordinates& at);
  void bind_ranks();
  void count_nodes();
  [[nodiscard]] double concurrent(const Communicator& c) const;
  [[nodiscard]] std::vector<int> signature(const Group& group, int concurrent_groups) const;
  void find_shapes();
  void make_programs();
  [[nodiscard]] bool merging_is_exact() const;
  [[nodiscard]] double speed_of(GpuId gpu) const;

  std::vector<Skeleton> stages_;
  const plan::Plan& plan_;
  int shard_group_;
  const cluster::Cluster& cluster_;
  const ShapeOf& shape_of_;
  const TaskCosts& costs_;
  Bound out_;
  std::vector<Communicator> communicators_;                       // parallel to workload.groups
  std::vector<std::uint32_t> groups_;                             // by kind and leader
  std::map<std::pair<Slot, int>, std::vector<int>> on_node_;      // kind, stage -> by node, communicators that use its NICs
  std::vector<cluster::GroupShape> shapes_;
  std::vector<std::uint32_t> shape_of_group_;
};

GroupId Binder::group(Slot slot, const Coordinates& at) {
  const Slot kind = communicator_kind(slot);
  const RankId leader = leader_of(plan_, shard_group_, slot, at);
  std::uint32_t& known = groups_[static_cast<std::size_t>(kind) * static_cast<std::size_t>(plan_.world()) + leader.value];
  if (known != kNone) return GroupId{known};
  known = static_cast<std::uint32_t>(communicators_.size());
  Communicator communicator{.kind = kind, .stage = coordinates_of(plan_, leader).pp, .nodes = {}};
  std::vector<RankId> members = members_of(plan_, shard_group_, slot, at);
  for (const RankId rank : members) {
    const int node = cluster_.node_of(GpuId{rank.value});
    if (communicator.nodes.empty() || communicator.nodes.back() != node) communicator.nodes.push_back(node);
  }
  std::sort(communicator.nodes.begin(), communicator.nodes.end());
  communicator.nodes.erase(std::unique(communicator.nodes.begin(), communicator.nodes.end()), communicator.nodes.end());
  communicators_.push_back(std::move(communicator));
  out_.workload.groups.push_back({.kind = to_text(kind), .members = std::move(members)});
  return GroupId{known};
}

double Binder::speed_of(GpuId gpu) const {
  double speed = 1.0;
  for (const cluster::Fault& fault : cluster_.faults) {
    if (fault.kind == cluster::FaultKind::slow_gpu && fault.node == cluster_.node_of(gpu) && fault.index == cluster_.local_of(gpu)) speed *= fault.factor;
  }
  return speed;
}

void Binder::bind_ranks() {
  const int world = plan_.world();
  SGSIM_CHECK(world <= cluster_.gpus(), fmt::format("{} ranks on {} GPUs", world, cluster_.gpus()));
  groups_.assign(kSlots * static_cast<std::size_t>(world), kNone);
  out_.workload.ranks.reserve(static_cast<std::size_t>(world));
  for (int r = 0; r < world; ++r) {
    const RankId rank{static_cast<std::uint32_t>(r)};
    const GpuId gpu{rank.value};
    const Coordinates at = coordinates_of(plan_, rank);
    RankBinding binding{.program = ProgramId{}, .gpu = gpu, .speed = speed_of(gpu), .groups = {}};
    const std::vector<Slot>& slots = stages_[static_cast<std::size_t>(at.pp)].slots;
    binding.groups.reserve(slots.size());
    for (const Slot slot : slots) binding.groups.push_back(group(slot, at));
    out_.workload.ranks.push_back(std::move(binding));
  }
}

void Binder::count_nodes() {
  for (const Communicator& c : communicators_) {
    if (!c.crosses()) continue;
    std::vector<int>& count = on_node_[{c.kind, c.stage}];
    count.resize(static_cast<std::size_t>(cluster_.nodes));
    for (const int node : c.nodes) ++count[static_cast<std::size_t>(node)];
  }
}

double Binder::concurrent(const Communicator& c) const {
  if (!c.crosses()) return 1.0;
  const std::vector<int>& count = on_node_.at({c.kind, c.stage});
  int most = 1;
  for (const int node : c.nodes) most = std::max(most, count[static_cast<std::size_t>(node)]);
  return most;
}

// On a cluster without faults, groups with the same signature have the same shape: nodes differ by their place in a leaf only.
std::vector<int> Binder::signature(const Group& group, int concurrent_groups) const {
  const int first = cluster_.node_of(GpuId{group.members.front().value});
  std::vector<int> s{concurrent_groups, first % std::max(1, cluster_.fabric.nodes_per_leaf)};
  s.reserve(2 + 2 * group.members.size());
  for (const RankId rank : group.members) {
    s.push_back(cluster_.node_of(GpuId{rank.value}) - first);
    s.push_back(cluster_.local_of(GpuId{rank.value}));
  }
  return s;
}

void Binder::find_shapes() {
  std::map<cluster::GroupShape, std::uint32_t> known;
  std::map<std::vector<int>, std::uint32_t> by_signature;
  std::vector<GpuId> gpus;
  shape_of_group_.reserve(communicators_.size());
  for (std::size_t g = 0; g < communicators_.size(); ++g) {
    const Group& group = out_.workload.groups[g];
    const double others = concurrent(communicators_[g]);
    std::uint32_t* same = nullptr;
    if (cluster_.faults.empty()) {
      const auto [found, added] = by_signature.try_emplace(signature(group, static_cast<int>(others)), kNone);
      same = &found->second;
      if (!added) {
        shape_of_group_.push_back(*same);
        continue;
      }
    }
    gpus.clear();
    for (const RankId rank : group.members) gpus.push_back(GpuId{rank.value});
    const cluster::GroupShape shape = shape_of_(gpus, others);
    const auto [found, added] = known.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
    if (added) shapes_.push_back(shape);
    shape_of_group_.push_back(found->second);
    if (same != nullptr) *same = found->second;
  }
}

void Binder::make_programs() {
  std::map<std::pair<int, std::vector<std::uint32_t>>, std::uint32_t> classes;
  std::vector<int> of_stage(stages_.size(), 0);
  std::pair<int, std::vector<std::uint32_t>> key;
  for (RankBinding& rank : out_.workload.ranks) {
    key.first = coordinates_of(plan_, RankId{rank.gpu.value}).pp;
    key.second.clear();
    for (const GroupId g : rank.groups) key.second.push_back(shape_of_group_[g.value]);
    const auto found = classes.find(key);
    if (found != classes.end()) {
      rank.program = ProgramId{found->second};
      continue;
    }
    rank.program = ProgramId{static_cast<std::uint32_t>(out_.workload.programs.size())};
    classes.emplace(key, rank.program.value);
    const Skeleton& skeleton = stages_[static_cast<std::size_t>(key.first)];
    stop_if_asked();
    Program program = skeleton.program;
    int& count = of_stage[static_cast<std::size_t>(key.first)];
    if (++count > 1) program.name += fmt::format(", links {}", count);
    std::vector<cluster::GroupShape> shapes;
    for (const std::uint32_t id : key.second) shapes.push_back(shapes_[id]);
    price_communication(program, skeleton.uses, skeleton.slots, shapes, costs_);
    out_.workload.programs.push_back(std::move(program));
    out_.stage_of.push_back(static_cast<std::uint32_t>(key.first));
  }
}

// Groups of every kind go over into groups of the same kind when the ranks of all tensor-parallel groups move on by one place.
// Where programs and speeds do too, the workload is symmetric under that, and members of such a group are always at one point.
bool Binder::merging_is_exact() const {
  const auto& programs = out_.workload.programs;
  if (std::all_of(programs.begin(), programs.end(), [](const Program& p) { return p.parts.empty(); })) return true;
  if (std::any_of(programs.begin(), programs.end(), host_holds_back_middle)) return false;
  return std::all_of(out_.workload.ranks.begin(), out_.workload.ranks.end(), [&](const RankBinding& rank) {
    Coordinates first = coordinates_of(plan_, RankId{rank.gpu.value});
    first.tp = 0;
    return rank.speed == 1.0 && rank.program == out_.workload.ranks[rank_at(plan_, first).value].program;
  });
}

Bound Binder::bind() {
  bind_ranks();
  count_nodes();
  find_shapes();
  make_programs();
  out_.merging_is_exact = merging_is_exact();
  return std::move(out_);
}

}  // namespace

Bound bind(std::vector<Skeleton> stages, const plan::Plan& plan, int shard_group, const cluster::Cluster& cluster, const ShapeOf& shape_of, const TaskCosts& costs) {
  return Binder(std::move(stages), plan, shard_group, cluster, shape_of, costs).bind();
}

}  // namespace sgsim::lower
