#include "sim/replay/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/cluster/placement.h"
#include "sim/core/error.h"
#include "sim/cost/cost.h"

namespace sgsim::replay {
namespace {

using trace::KernelKind;

/// Standard errors of the cost model within which a captured time is all transfer.
constexpr double kErrors = 2.0;

// "8 (84 collectives)": what the file's own groups say about the sizes that are not given.
std::string group_sizes(const trace::ImportedRun& run) {
  std::map<std::uint32_t, std::uint64_t> uses;
  for (const trace::Collective& c : run.ranks.front().collectives) {
    if (c.device_op != trace::kNone && c.group != trace::kNone && run.groups[c.group].size > 1) ++uses[run.groups[c.group].size];
  }
  std::string text;
  for (const auto& [size, count] : uses) text += fmt::format("{}{} ({} collectives)", text.empty() ? "" : ", ", size, count);
  return text;
}

}  // namespace

std::optional<Role> role_in(std::string_view description) {
  std::string word;
  const auto role = [&]() -> std::optional<Role> {
    if (word == "tp" || word == "tensor") return Role::tensor;
    if (word == "dp" || word == "data" || word == "fsdp" || word == "ddp") return Role::data;
    if (word == "pp" || word == "pipeline") return Role::pair;
    if (word == "embedding" || word == "model") return Role::other;
    return std::nullopt;
  };
  for (std::size_t i = 0; i <= description.size(); ++i) {
    const char c = i < description.size() ? description[i] : ' ';
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      continue;
    }
    if (const auto found = role()) return found;
    word.clear();
  }
  return std::nullopt;
}

std::optional<int> tensor_size_said(const trace::ImportedRun& run) {
  std::uint32_t size = 0;
  for (const trace::Group& group : run.groups) {
    if (role_in(run.strings.at(group.description)) == Role::tensor) size = std::max(size, group.size);
  }
  return size > 0 ? std::optional(static_cast<int>(size)) : std::nullopt;
}

std::vector<GpuId> members(const Sizes& sizes, Role role, int of) {
  std::vector<GpuId> result;
  const int count = role == Role::tensor ? sizes.tp : sizes.dp;
  for (int i = 0; i < count; ++i) result.push_back(GpuId{static_cast<std::uint32_t>(role == Role::tensor ? of * sizes.tp + i : i * sizes.tp + of)});
  return result;
}

Scaling::Scaling(const trace::ImportedRun& run, const trace::Matching& matching, const Rescale& request) : run_(run), request_(request) {
  for (const trace::Matched& m : matching.operations) {
    for (const trace::Member& member : m.members) {
      if (m.members.size() < 2) continue;
      least_[{member.rank, member.collective}] = m.transfer;
      if (m.members.size() >= run.groups[m.group].size || m.channel != 0) complete_.insert({member.rank, member.collective});
    }
  }
}

void Scaling::refuse(std::string found, std::string expected, std::string hint) const {
  throw InputError({.file = run_.ranks.front().file, .where = "", .found = std::move(found), .expected = std::move(expected), .hint = std::move(hint)});
}

void Scaling::check_sizes() const {
  const Sizes &a = request_.captured, &b = request_.wanted;
  for (const Sizes& s : {a, b}) {
    for (const int size : {s.dp, s.tp, s.pp, s.micro_batches}) {
      if (size < 1 || size > 1'000'000) refuse(fmt::format("a parallel size of {}", size), "sizes from 1 to 1000000", "check --dp, --tp, --pp, --micro-batches and their --captured ones");
    }
  }
  if ((a.tp == 1 && b.tp > 1) || (a.dp == 1 && b.dp > 1)) {
    refuse(fmt::format("captured {} parallel size 1, wanted {}", a.tp == 1 && b.tp > 1 ? "tensor" : "data", a.tp == 1 && b.tp > 1 ? b.tp : b.dp), "a captured size of at least 2",
           (group_sizes(run_).empty() ? std::string() : "communicators of the trace have these sizes: " + group_sizes(run_) + "; if one of them is of that role, give --captured-tp and --captured-dp; else ") +
               "a program of size 1 has none of the collectives that it would need: capture two ranks, or simulate from a graph (sgsim simulate)");
  }
  const auto& collectives = run_.ranks.front().collectives;
  const bool tensor_groups = std::any_of(collectives.begin(), collectives.end(), [&](const trace::Collective& c) { return c.device_op != trace::kNone && role_of(c) == Role::tensor; });
  if (a.tp > 1 && a.tp != b.tp && !tensor_groups && !collectives.empty()) {
    refuse(fmt::format("captured tensor parallel size {}, and no collective of such a group", a.tp), "a size that the trace's communicators have", "they have these sizes: " + group_sizes(run_));
  }
  if (a.pp > 1 && b.pp == 1) refuse(fmt::format("{} captured pipeline stages, wanted 1", a.pp), "at least 2 wanted stages", "no captured rank has the whole model: simulate from a graph (sgsim simulate)");
  const std::uint32_t world = run_.ranks.front().world_size;
  if (world > 0 && static_cast<std::int64_t>(world) != std::int64_t{a.dp} * a.tp * a.pp) {
    refuse(fmt::format("{} ranks in the file, dp {} x tp {} x pp {} as captured", world, a.dp, a.tp, a.pp), "captured sizes that multiply to the ranks of the file", "communicators of the trace have these sizes: " + group_sizes(run_));
  }
  for (const Machine* m : {&request_.from, &request_.to}) {
    const Sizes& s = m == &request_.from ? a : b;
    if (m->cluster.gpus() < std::int64_t{s.dp} * s.tp * s.pp) refuse(fmt::format("{} GPUs in {}", m->cluster.gpus(), m->cluster.name), fmt::format("at least {}", std::int64_t{s.dp} * s.tp * s.pp), "take smaller sizes, or a cluster of more nodes");
  }
}

std::array<double, trace::kKernelKinds> Scaling::kernel_factors(Diagnostics& report) const {
  std::array<double, trace::kKernelKinds> factors{};
  factors.fill(1.0);
  const auto factor = [&](KernelKind k) -> double& { return factors[static_cast<std::size_t>(k)]; };
  const double tensor = static_cast<double>(request_.captured.tp) / request_.wanted.tp;
  if (tensor != 1.0 && sequence_is_divided()) {
    for (std::size_t k = 0; k < trace::kKernelKinds; ++k) {
      const auto kind = static_cast<KernelKind>(k);
      if (kind != KernelKind::communication && kind != KernelKind::copy && kind != KernelKind::set) factors[k] *= tensor;
    }
    report.add("import.rescale.kernels_by_tensor_size", Severity::warning, fmt::format("all kernels x {:.3g}, at the efficiency of the captured shapes: tensor groups gather and scatter, so the sequence is divided between products", tensor));
  } else if (tensor != 1.0) {
    for (const KernelKind k : {KernelKind::matmul, KernelKind::attention, KernelKind::optimizer}) factor(k) *= tensor;
    report.add("import.rescale.kernels_by_tensor_size", Severity::warning, fmt::format("matrix products, attention and optimizer x {:.3g}, at the efficiency of the captured shapes", tensor));
  }
  const cost::Datasheet &from = request_.from.profile.gpu, &to = request_.to.profile.gpu;
  if (from.name == to.name) return factors;
  const auto peak = [](const cost::Datasheet& d) { return d.peak.at(graph::DType::bfloat16).value; };
  const double compute = peak(from) / peak(to), memory = from.hbm_bandwidth.value / to.hbm_bandwidth.value;
  for (std::size_t k = 0; k < trace::kKernelKinds; ++k) {
    const auto kind = static_cast<KernelKind>(k);
    const bool arithmetic = kind == KernelKind::matmul || kind == KernelKind::attention || kind == KernelKind::convolution;
    if (kind != KernelKind::communication) factors[k] *= arithmetic ? compute : memory;
  }
  report.add("import.rescale.kernels_by_datasheet", Severity::warning, fmt::format("{} to {}: arithmetic x {:.3g} (bfloat16 peak), memory x {:.3g}", from.name, to.name, compute, memory));
  return factors;
}

// Sequence parallelism: tensor groups gather before products and scatter after them, where they would reduce.
bool Scaling::sequence_is_divided() const {
  const auto& collectives = run_.ranks.front().collectives;
  return std::any_of(collectives.begin(), collectives.end(), [&](const trace::Collective& c) {
    const bool divides = c.kind == trace::CommKind::reduce_scatter || c.kind == trace::CommKind::all_gather;
    return divides && c.device_op != trace::kNone && role_of(c) == Role::tensor;
  });
}

// Without a description: by size; dp and tp of the same size cannot be told apart, unless one of them is all there is.
Role Scaling::role_of(const trace::Collective& c) const {
  const Sizes& a = request_.captured;
  const trace::Group* group = c.group == trace::kNone ? nullptr : &run_.groups[c.group];
  const std::uint32_t size = group == nullptr ? 0 : group->size;
  if (group != nullptr) {
    const auto said = role_in(run_.strings.at(group->description));
    const bool fits = said && (size == 0 || *said == Role::other || *said == Role::pair || static_cast<int>(size) == (*said == Role::tensor ? a.tp : a.dp));
    if (fits) return *said;
  }
  const auto op = trace::collective_op(c.kind);
  if (op && *op == graph::CollectiveOp::send_receive) return Role::pair;
  const bool tensor = static_cast<int>(size) == a.tp, data = static_cast<int>(size) == a.dp;
  if (tensor != data) return tensor ? Role::tensor : Role::data;
  if (tensor) refuse(fmt::format("a group of {} ranks, which is dp as well as tp", size), "captured sizes that differ, or groups whose description says tp or dp", "give --captured-tp and --captured-dp");
  if (static_cast<int>(size) == a.ranks()) return a.dp > 1 ? Role::data : Role::tensor;
  refuse(fmt::format("a group of {} ranks", size), fmt::format("groups of {} (tp) or {} (dp) ranks", a.tp, a.dp), fmt::format("communicators of the trace have these sizes: {}; give --captured-tp and --captured-dp; context and expert groups are not rescaled", group_sizes(run_)));
}

std::optional<cost::TransferEstimate> Scaling::model(const Machine& machine, const Sizes& sizes, Role role, graph::CollectiveOp op, Bytes bytes, Diagnostics& report) const {
  const std::vector<GpuId> group = members(sizes, role, 0);
  if (group.size() < 2) return std::nullopt;
  const double concurrent = role == Role::tensor ? 1.0 : static_cast<double>(std::min(sizes.tp, machine.cluster.node.gpus));
  return cost::collective_time(machine.profile, op, bytes, cluster::group_shape(machine.cluster, group, concurrent), report);
}

double Scaling::transfer_slowdown(const Machine& machine, const Sizes& sizes, Role role) {
  const std::vector<GpuId> group = members(sizes, role, 0);
  const bool crosses = std::any_of(group.begin(), group.end(), [&](GpuId gpu) { return machine.cluster.node_of(gpu) != machine.cluster.node_of(group.front()); });
  return std::max(1.0, cost::interference(machine.profile, crosses).transfer_slowdown);
}

// Kernels slow the transfers beside them, inside a node (links and SMs are shared) by another factor than between nodes. Where the wanted group goes another way than
// the captured one, the part of a transfer that was slowed (what it took beyond the model's time, at most the whole) is slowed by the other factor.
double Scaling::slowing(Role role, double captured_over_alone, Diagnostics& report) const {
  const double before = transfer_slowdown(request_.from, request_.captured, role), after = transfer_slowdown(request_.to, request_.wanted, role);
  if (before == after || before <= 1.0) return 1.0;
  const double slowed = std::clamp((captured_over_alone - 1.0) / (before - 1.0), 0.0, 1.0);
  report.add("import.rescale.slowing_by_kernels", Severity::info, fmt::format("transfers beside kernels x {:.3g} as captured, x {:.3g} as wanted", before, after));
  return (1.0 + slowed * (after - 1.0)) / (1.0 + slowed * (before - 1.0));
}

cost::TransferEstimate Scaling::pair_model(const Machine& machine, const Sizes& sizes, int stage, Bytes bytes, Diagnostics& report) const {
  const auto stride = static_cast<std::uint32_t>(sizes.dp * sizes.tp);
  const GpuId a{static_cast<std::uint32_t>(stage) * stride}, b{a.value + stride};
  const bool crosses = machine.cluster.node_of(a) != machine.cluster.node_of(b);
  const double concurrent = crosses ? std::min<double>(stride, machine.cluster.node.gpus) : 1.0;
  const std::array pair{a, b};
  return cost::collective_time(machine.profile, graph::CollectiveOp::send_receive, bytes, cluster::group_shape(machine.cluster, pair, concurrent), report);
}

// A rank whose peers are not in the file may have waited for them: what the model cannot account for, slowed by kernels and with its error, is not the network's.
Nanoseconds Scaling::captured_time(std::uint32_t rank, std::uint32_t index, const cost::TransferEstimate& model, double slowdown, Diagnostics& report) const {
  const trace::Collective& c = run_.ranks[rank].collectives[index];
  const auto least = least_.find({rank, index});
  const Nanoseconds whole = least != least_.end() ? least->second : run_.ranks[rank].device_ops[c.device_op].duration;
  if (complete_.count({rank, index}) != 0 || trace::waiting_apart(run_)) return whole;
  const auto most = static_cast<Nanoseconds>(model.time().value() * 1e9 * slowdown * (1.0 + kErrors * model.sigma));
  if (c.bytes < 0.0 || whole <= most) {  // of what has no size the model accounts for nothing
    report.add("import.rescale.transfer_with_waiting", Severity::warning, run_.strings.at(c.name));
    return whole;
  }
  report.add(kWaitingLeftOut, Severity::warning, fmt::format("{}: {:.3f} ms in the file, at most {:.3f} of them transfer", run_.strings.at(c.name), static_cast<double>(whole) * 1e-6, static_cast<double>(most) * 1e-6));
  return most;
}

std::optional<Nanoseconds> Scaling::transfer(std::uint32_t rank, std::uint32_t index, Diagnostics& report) const {
  const trace::Collective& c = run_.ranks[rank].collectives[index];
  const auto op = trace::collective_op(c.kind);
  const Role role = !op ? Role::other : role_of(c);
  if (role == Role::other || role == Role::pair || *op == graph::CollectiveOp::send_receive) {
    report.add("import.rescale.communication_kept", Severity::warning, run_.strings.at(c.name));
    return std::nullopt;
  }
  const double bytes = std::max(0.0, c.bytes);
  // Gradients shrink with the tensor size; activations that tensor groups exchange do not.
  const double wanted_bytes = role == Role::data ? bytes * request_.captured.tp / request_.wanted.tp : bytes;
  const auto before = model(request_.from, request_.captured, role, *op, Bytes(bytes), report);
  const auto after = model(request_.to, request_.wanted, role, *op, Bytes(wanted_bytes), report);
  if (!before || before->time().value() <= 0.0) refuse("a collective of a group of one rank", "captured sizes that fit the trace", "communicators of the trace have these sizes: " + group_sizes(run_) + "; give --captured-tp and --captured-dp");
  report.add(role == Role::tensor ? "import.rescale.tensor_collectives" : "import.rescale.data_collectives", Severity::info, run_.strings.at(c.name));
  const double alone = before->time().value(), wanted = after ? after->time().value() : 0.0;
  const Nanoseconds captured = captured_time(rank, index, *before, transfer_slowdown(request_.from, request_.captured, role), report);
  return static_cast<Nanoseconds>(static_cast<double>(captured) * wanted / alone * slowing(role, static_cast<double>(captured) * 1e-9 / alone, report));
}

Nanoseconds Scaling::message(const std::optional<Message>& captured, int stage, Bytes& bytes, Diagnostics& report) const {
  if (captured) bytes = Bytes(std::max(0.0, run_.ranks[captured->rank].collectives[captured->collective].bytes));
  if (request_.boundary.value() >= 0.0) bytes = request_.boundary;
  const double after = pair_model(request_.to, request_.wanted, stage, bytes, report).time().value();
  if (!captured) {
    if (request_.boundary.value() < 0.0) refuse("no send between stages in the files", "the bytes of one micro-batch's activations", "give them with --boundary, for example --boundary \"64 MiB\"");
    report.add("import.rescale.transfer_from_model", Severity::warning, "no send was captured");
    return static_cast<Nanoseconds>(after * 1e9);
  }
  const Bytes captured_bytes(std::max(0.0, run_.ranks[captured->rank].collectives[captured->collective].bytes));
  const cost::TransferEstimate before = pair_model(request_.from, request_.captured, captured->stage, captured_bytes, report);
  return static_cast<Nanoseconds>(static_cast<double>(captured_time(captured->rank, captured->collective, before, 1.0, report)) * after / before.time().value());
}

}  // namespace sgsim::replay
