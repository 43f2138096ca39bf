#include "sim/lower/binding/bind.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/lower/binding/layout.h"
#include "sim/lower/binding/price.h"

namespace sgsim::lower {
namespace {

struct Communicator {
  Slot kind = Slot::data;
  int stage = 0;                    // of its leader
  std::vector<GpuId> gpus;
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
  void find_shapes();
  void make_programs();
  [[nodiscard]] double speed_of(GpuId gpu) const;
  [[nodiscard]] bool crosses(const Communicator& c) const;
  [[nodiscard]] std::set<int> busy_nodes(const Communicator& c) const;

  std::vector<Skeleton> stages_;
  const plan::Plan& plan_;
  int shard_group_;
  const cluster::Cluster& cluster_;
  const ShapeOf& shape_of_;
  const TaskCosts& costs_;
  Bound out_;
  std::vector<Communicator> communicators_;                       // parallel to workload.groups
  std::map<std::pair<Slot, RankId>, GroupId> groups_;
  std::map<std::tuple<Slot, int, int>, int> on_node_;             // kind, stage, node -> communicators that use its NICs
  std::vector<cluster::GroupShape> shapes_;
  std::vector<std::uint32_t> shape_of_group_;
};

GroupId Binder::group(Slot slot, const Coordinates& at) {
  const Slot kind = communicator_kind(slot);
  const RankId leader = leader_of(plan_, shard_group_, slot, at);
  const auto [found, added] = groups_.try_emplace({kind, leader}, GroupId{static_cast<std::uint32_t>(communicators_.size())});
  if (!added) return found->second;
  Communicator communicator{.kind = kind, .stage = coordinates_of(plan_, leader).pp, .gpus = {}};
  const auto members = members_of(plan_, shard_group_, slot, at);
  for (const RankId rank : members) communicator.gpus.push_back(GpuId{rank.value});
  communicators_.push_back(std::move(communicator));
  out_.workload.groups.push_back({.kind = to_text(kind), .members = members});
  return found->second;
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

bool Binder::crosses(const Communicator& c) const {
  return std::any_of(c.gpus.begin(), c.gpus.end(), [&](GpuId g) { return cluster_.node_of(g) != cluster_.node_of(c.gpus.front()); });
}

std::set<int> Binder::busy_nodes(const Communicator& c) const {
  std::set<int> nodes;
  for (const GpuId gpu : c.gpus) nodes.insert(cluster_.node_of(gpu));
  return nodes;
}

void Binder::count_nodes() {
  for (const Communicator& c : communicators_) {
    if (!crosses(c)) continue;
    for (const int node : busy_nodes(c)) ++on_node_[{c.kind, c.stage, node}];
  }
}

double Binder::concurrent(const Communicator& c) const {
  int most = 1;
  for (const int node : busy_nodes(c)) {
    const auto found = on_node_.find({c.kind, c.stage, node});
    if (found != on_node_.end()) most = std::max(most, found->second);
  }
  return most;
}

void Binder::find_shapes() {
  std::map<cluster::GroupShape, std::uint32_t> known;
  for (const Communicator& c : communicators_) {
    const cluster::GroupShape shape = shape_of_(c.gpus, crosses(c) ? concurrent(c) : 1.0);
    const auto [found, added] = known.try_emplace(shape, static_cast<std::uint32_t>(shapes_.size()));
    if (added) shapes_.push_back(shape);
    shape_of_group_.push_back(found->second);
  }
}

void Binder::make_programs() {
  std::map<std::pair<int, std::vector<std::uint32_t>>, std::uint32_t> classes;
  std::vector<int> of_stage(stages_.size(), 0);
  for (RankBinding& rank : out_.workload.ranks) {
    const int stage = coordinates_of(plan_, RankId{rank.gpu.value}).pp;
    std::vector<std::uint32_t> key;
    for (const GroupId g : rank.groups) key.push_back(shape_of_group_[g.value]);
    const auto [found, added] = classes.try_emplace({stage, std::move(key)}, static_cast<std::uint32_t>(out_.workload.programs.size()));
    rank.program = ProgramId{found->second};
    if (!added) continue;
    const Skeleton& skeleton = stages_[static_cast<std::size_t>(stage)];
    Program program = skeleton.program;
    if (++of_stage[static_cast<std::size_t>(stage)] > 1) program.name += fmt::format(", links {}", of_stage[static_cast<std::size_t>(stage)]);
    std::vector<cluster::GroupShape> shapes;
    for (const std::uint32_t id : found->first.second) shapes.push_back(shapes_[id]);
    price_communication(program, skeleton.uses, skeleton.slots, shapes, costs_);
    out_.workload.programs.push_back(std::move(program));
    out_.stage_of.push_back(static_cast<std::uint32_t>(stage));
  }
}

Bound Binder::bind() {
  bind_ranks();
  count_nodes();
  find_shapes();
  make_programs();
  return std::move(out_);
}

}  // namespace

Bound bind(std::vector<Skeleton> stages, const plan::Plan& plan, int shard_group, const cluster::Cluster& cluster, const ShapeOf& shape_of, const TaskCosts& costs) {
  return Binder(std::move(stages), plan, shard_group, cluster, shape_of, costs).bind();
}

}  // namespace sgsim::lower
