#include "sim/replay/rescale.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include <map>
#include <vector>

#include "sim/cluster/placement.h"
#include "sim/core/error.h"
#include "sim/replay/program_builder.h"

namespace sgsim::replay {
namespace {

using trace::KernelKind;

enum class Role : std::uint16_t { tensor = 0, data = 1 };

std::vector<GpuId> members(const Sizes& sizes, Role role, int of) {
  std::vector<GpuId> result;
  const int count = role == Role::tensor ? sizes.tp : sizes.dp;
  for (int i = 0; i < count; ++i) result.push_back(GpuId{static_cast<std::uint32_t>(role == Role::tensor ? of * sizes.tp + i : i * sizes.tp + of)});
  return result;
}

double model_time(const Machine& machine, const Sizes& sizes, Role role, graph::CollectiveOp op, Bytes bytes, Diagnostics& report) {
  const std::vector<GpuId> group = members(sizes, role, 0);
  if (group.size() < 2) return 0.0;
  const double concurrent = role == Role::tensor ? 1.0 : static_cast<double>(std::min(sizes.tp, machine.cluster.node.gpus));
  return cost::collective_time(machine.profile, op, bytes, cluster::group_shape(machine.cluster, group, concurrent), report).time().value();
}

class Rescaler {
 public:
  Rescaler(const trace::ImportedRun& run, const trace::Matching& matching, const trace::Dependencies& d, const Rescale& request)
      : run_(run), rank_(run.ranks.front()), d_(d), request_(request) {
    for (const trace::Matched& m : matching.operations) {
      for (const trace::Member& member : m.members) {
        if (member.rank == 0 && m.members.size() > 1) least_[member.collective] = m.transfer;
      }
    }
  }

  Rescaled make() {
    check_sizes();
    ProgramInput input;
    scale_kernels(input);
    for (std::uint32_t c = 0; c < rank_.collectives.size(); ++c) scale_collective(c, input);
    Built built;
    built.origin = std::numeric_limits<Nanoseconds>::max();
    for (const std::uint32_t op : d_.order) built.origin = std::min(built.origin, d_.issue[op]);
    for (const trace::HostWait& w : d_.waits) built.origin = std::min(built.origin, rank_.calls[w.call].start);
    auto [program, task_of] = build_program(run_, 0, d_, input, built);
    program.name = "as " + program.name;
    result_.report.merge(built.report);
    result_.workload.programs.push_back(std::move(program));
    bind();
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string found, std::string expected, std::string hint) const {
    throw InputError({.file = rank_.file, .where = "", .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
  }

  void check_sizes() const {
    const Sizes &a = request_.captured, &b = request_.wanted;
    if (a.dp < 1 || a.tp < 1 || b.dp < 1 || b.tp < 1) refuse("a parallel size below 1", "sizes of at least 1", "");
    if ((a.tp == 1 && b.tp > 1) || (a.dp == 1 && b.dp > 1)) {
      refuse(fmt::format("captured {} parallel size 1, wanted {}", a.tp == 1 && b.tp > 1 ? "tensor" : "data", a.tp == 1 && b.tp > 1 ? b.tp : b.dp), "a captured size of at least 2",
             "a program of size 1 has none of the collectives that it would need: capture two ranks, or simulate from a graph (sgsim simulate)");
    }
    if (rank_.world_size > 0 && static_cast<int>(rank_.world_size) != a.ranks()) {
      refuse(fmt::format("{} ranks in the file, dp {} x tp {} as captured", rank_.world_size, a.dp, a.tp), "captured sizes that multiply to the ranks of the file", "pipeline stages are not rescaled");
    }
    for (const Machine* m : {&request_.from, &request_.to}) {
      const int ranks = m == &request_.from ? a.ranks() : b.ranks();
      if (m->cluster.gpus() < ranks) refuse(fmt::format("{} GPUs in {}", m->cluster.gpus(), m->cluster.name), fmt::format("at least {}", ranks), "");
    }
  }

  // By size; dp and tp of the same size cannot be told apart, unless one of them is all there is.
  Role role_of(const trace::Collective& c) const {
    const Sizes& a = request_.captured;
    const std::uint32_t size = c.group == trace::kNone ? 0 : run_.groups[c.group].size;
    const bool tensor = static_cast<int>(size) == a.tp, data = static_cast<int>(size) == a.dp;
    if (tensor != data) return tensor ? Role::tensor : Role::data;
    if (tensor) refuse(fmt::format("a group of {} ranks, which is dp as well as tp", size), "captured sizes that differ", "");
    if (static_cast<int>(size) == a.ranks()) return a.dp > 1 ? Role::data : Role::tensor;
    refuse(fmt::format("a group of {} ranks", size), fmt::format("groups of {} (tp) or {} (dp) ranks", a.tp, a.dp), "pipeline, context and expert groups are not rescaled");
  }

  void scale_kernels(ProgramInput& input) {
    const auto factor = [&](KernelKind k) -> double& { return input.factor[static_cast<std::size_t>(k)]; };
    const double tensor = static_cast<double>(request_.captured.tp) / request_.wanted.tp;
    if (tensor != 1.0) {
      for (const KernelKind k : {KernelKind::matmul, KernelKind::attention, KernelKind::optimizer}) factor(k) *= tensor;
      result_.report.add("import.rescale.kernels_by_tensor_size", Severity::warning, fmt::format("matrix products, attention and optimizer x {:.3g}, at the efficiency of the captured shapes", tensor));
    }
    const cost::Datasheet &from = request_.from.profile.gpu, &to = request_.to.profile.gpu;
    if (from.name == to.name) return;
    const auto peak = [](const cost::Datasheet& d) { return d.peak.at(graph::DType::bfloat16).value; };
    const double compute = peak(from) / peak(to), memory = from.hbm_bandwidth.value / to.hbm_bandwidth.value;
    for (std::size_t k = 0; k < trace::kKernelKinds; ++k) {
      const auto kind = static_cast<KernelKind>(k);
      const bool arithmetic = kind == KernelKind::matmul || kind == KernelKind::attention || kind == KernelKind::convolution;
      if (kind != KernelKind::communication) input.factor[k] *= arithmetic ? compute : memory;
    }
    result_.report.add("import.rescale.kernels_by_datasheet", Severity::warning, fmt::format("{} to {}: arithmetic x {:.3g} (bfloat16 peak), memory x {:.3g}", from.name, to.name, compute, memory));
  }

  void scale_collective(std::uint32_t index, ProgramInput& input) {
    const trace::Collective& c = rank_.collectives[index];
    if (c.device_op == trace::kNone) return;
    const auto op = trace::collective_op(c.kind);
    if (!op || *op == graph::CollectiveOp::send_receive) {
      result_.report.add("import.rescale.communication_kept", Severity::warning, run_.strings.at(c.name));
      return;
    }
    const Role role = role_of(c);
    const auto least = least_.find(index);
    if (least == least_.end()) result_.report.add("import.rescale.transfer_with_waiting", Severity::warning, run_.strings.at(c.name));
    const Nanoseconds captured = least != least_.end() ? least->second : rank_.device_ops[c.device_op].duration;
    const double bytes = std::max(0.0, c.bytes);
    // Gradients shrink with the tensor size; activations that tensor groups exchange do not.
    const double wanted_bytes = role == Role::data ? bytes * request_.captured.tp / request_.wanted.tp : bytes;
    const double before = model_time(request_.from, request_.captured, role, *op, Bytes(bytes), result_.report);
    const double after = model_time(request_.to, request_.wanted, role, *op, Bytes(wanted_bytes), result_.report);
    if (before <= 0.0) refuse("a collective of a group of one rank", "captured sizes that fit the trace", "");
    input.transfers[index] = static_cast<Nanoseconds>(static_cast<double>(captured) * after / before);
    input.slots[c.group] = static_cast<std::uint16_t>(role);
    result_.report.add(role == Role::tensor ? "import.rescale.tensor_collectives" : "import.rescale.data_collectives", Severity::info, run_.strings.at(c.name));
  }

  void bind() {
    const Sizes& sizes = request_.wanted;
    lower::Workload& w = result_.workload;
    const bool used[2] = {uses(Role::tensor), uses(Role::data)};
    for (int r = 0; r < sizes.ranks(); ++r) w.ranks.push_back({.program = ProgramId{0}, .gpu = GpuId{static_cast<std::uint32_t>(r)}, .speed = 1.0, .groups = std::vector<GroupId>(2)});
    for (const Role role : {Role::tensor, Role::data}) {
      if (!used[static_cast<int>(role)]) continue;
      const int groups = role == Role::tensor ? sizes.dp : sizes.tp;
      for (int g = 0; g < groups; ++g) {
        lower::Group group{.kind = role == Role::tensor ? "tp" : "dp", .members = {}};
        for (const GpuId gpu : members(sizes, role, g)) {
          group.members.push_back(RankId{gpu.value});
          w.ranks[gpu.value].groups[static_cast<std::size_t>(role)] = GroupId{static_cast<std::uint32_t>(w.groups.size())};
        }
        w.groups.push_back(std::move(group));
      }
    }
  }

  bool uses(Role role) const {
    for (const lower::Comm& comm : result_.workload.programs.front().comms) {
      if (comm.slot == static_cast<std::uint16_t>(role)) return true;
    }
    return false;
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  const trace::Dependencies& d_;
  const Rescale& request_;
  std::map<std::uint32_t, Nanoseconds> least_;
  Rescaled result_;
};

}  // namespace

Rescaled rescale(const trace::ImportedRun& run, const trace::Matching& matching, const trace::Dependencies& dependencies, const Rescale& request) {
  if (dependencies.order.empty()) throw InputError({.file = run.ranks.front().file, .where = "", .found = "no device operation with times", .expected = "a trace of a GPU", .hint = ""});
  return Rescaler(run, matching, dependencies, request).make();
}

}  // namespace sgsim::replay
