#include "sim/replay/untimed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/cluster/builders.h"
#include "sim/cluster/placement.h"
#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "sim/replay/channels.h"
#include "sim/replay/scaling.h"
#include "sim/replay/untimed_order.h"
#include "sim/replay/untimed_waits.h"
#include "sim/trace/all_ranks.h"

namespace sgsim::replay {
namespace {

using lower::Task;
using lower::TaskKind;
using trace::kNone;

constexpr int kMostRanks = 1'000'000;
constexpr std::size_t kMostStreams = 60'000;  // a program counts its streams in 16 bits

Seconds seconds(Nanoseconds t) { return Seconds(static_cast<double>(t) * 1e-9); }

std::optional<Role> role_of(const trace::ImportedRun& run, const trace::Group& group) {
  const auto described = role_in(run.strings.at(group.description));
  return described ? described : role_in(run.strings.at(group.name));
}

/// As the file says, else as given: of groups that are neither tensor nor data the whole job.
std::uint32_t size_of(const trace::ImportedRun& run, const trace::Group& group, const Sizes& said) {
  if (group.size > 0) return group.size;
  if (said.dp == 0 && said.tp == 0) return 0;
  const auto role = role_of(run, group);
  if (!role) return static_cast<std::uint32_t>(std::max(1, said.dp) * std::max(1, said.tp));
  return static_cast<std::uint32_t>(role == Role::tensor ? said.tp : role == Role::data ? said.dp : 0);
}

/// What the files contradict each other in, as the import says it.
std::string contradictions(const Diagnostics& matching) {
  std::string text;
  for (const char* what : {"operations_differ", "counts_differ", "sizes_differ", "sends_and_receives_differ"}) {
    const auto found = matching.entries().find(std::string("import.match.") + what);
    if (found != matching.entries().end()) text += (text.empty() ? "" : "; ") + found->second.example;
  }
  return text;
}

std::uint32_t largest(const trace::ImportedRun& run, Role role, const Sizes& said) {
  std::uint32_t most = static_cast<std::uint32_t>(std::max(1, role == Role::tensor ? said.tp : said.dp));
  for (const trace::Group& group : run.groups) {
    if (role_of(run, group) == role) most = std::max(most, group.size);
  }
  return most;
}

std::string machines_text() {
  std::string names;
  for (const std::string& name : cluster::builtin_cluster_names()) names += (names.empty() ? "one of: " : ", ") + name;
  return names + "; or a cluster file";
}

/// Times of communications that have none in the file, from a network.
class Network {
 public:
  Network(const trace::ImportedRun& run, const trace::Matching& matching, const Machine* machine, const Sizes& said, Diagnostics& report)
      : run_(run), differ_(contradictions(matching.report)), machine_(machine), said_(said), report_(report), told_(trace::ranks_told(run)), complete_(trace::ranks_missing(run, told_).empty()), ranks_(ranks_of(run, said)), tensor_(largest(run, Role::tensor, said)) {}

  Nanoseconds time(const trace::RankTrace& rank, const trace::Collective& c, const trace::Matched* matched) {
    const std::string& name = run_.strings.at(c.name);
    const auto op = trace::collective_op(c.kind);
    if (!op || c.bytes < 0.0) {
      const char* why = op ? "no size and no duration in the file" : "not in the cost model, and no duration in the file";
      report_.add("import.replay.communication_without_time", Severity::error, fmt::format("{}: {}; it takes no time", name, why));
      return 0;
    }
    if (machine_ == nullptr) {
      throw InputError({.file = rank.file, .where = "", .found = fmt::format("communication without a duration ({})", trace::operation_name(run_, c)),
                        .expected = "--machine, whose network carries it", .hint = machines_text()});
    }
    check_agreement(rank, c, matched);
    const bool pairwise = *op == graph::CollectiveOp::send_receive;
    const std::vector<GpuId> group = pairwise ? pair(rank, c, matched) : members(rank, c, matched);
    if (group.size() < 2) return 0;
    report_.add("import.replay.communication_from_network", Severity::warning, fmt::format("{} over {} ranks of {}", name, group.size(), machine_->cluster.name));
    const auto shape = cluster::group_shape(machine_->cluster, group, pairwise ? 1.0 : beside(group));
    return static_cast<Nanoseconds>(cost::collective_time(machine_->profile, *op, Bytes(bytes_of(c, group.size())), shape, report_).time().value() * 1e9);
  }

 private:
  GpuId gpu_of(std::uint32_t rank) const { return GpuId{run_.ranks[rank].rank >= 0 ? static_cast<std::uint32_t>(run_.ranks[rank].rank) : rank}; }

  /// Chakra's reader has taken as many parts of an all-gather over all ranks as the files tell of ranks; there may be more.
  double bytes_of(const trace::Collective& c, std::size_t ranks) const {
    const bool parts = run_.format == "chakra" && c.kind == trace::CommKind::all_gather && c.group != kNone && trace::is_all_ranks(run_, run_.groups[c.group]);
    return parts ? c.bytes * static_cast<double>(ranks) / told_ : c.bytes;
  }

  /// Of an operation that its communicator's other imported members do not have, or have with another size, no time can be told.
  void check_agreement(const trace::RankTrace& rank, const trace::Collective& c, const trace::Matched* matched) const {
    if (differ_.empty()) return;
    const auto bytes = [&](const trace::Member& m) { return run_.ranks[m.rank].collectives[m.collective].bytes; };
    const auto agrees = [&](const trace::Member& m) { return c.uneven || bytes(m) == c.bytes || bytes(m) < 0.0; };
    const bool alike = matched != nullptr && std::all_of(matched->members.begin(), matched->members.end(), agrees);
    const auto in_group = [&](const trace::Collective& other) { return other.group == c.group; };
    const auto uses = [&](const trace::RankTrace& r) { return std::any_of(r.collectives.begin(), r.collectives.end(), in_group); };
    if (alike || c.group == kNone || std::count_if(run_.ranks.begin(), run_.ranks.end(), uses) < 2) return;
    throw InputError({.file = rank.file, .where = "", .found = fmt::format("ranks that contradict each other at {} of {}: {}", trace::operation_name(run_, c), trace::rank_name(rank), differ_),
                      .expected = "one order, kind and size of operations on all ranks of a communicator", .hint = "sgsim import counts every such operation (import.match)"});
  }

  std::vector<GpuId> pair(const trace::RankTrace& rank, const trace::Collective& c, const trace::Matched* matched) const {
    if (matched != nullptr) return {gpu_of(matched->members.front().rank), gpu_of(matched->members.back().rank)};
    const trace::Group* group = c.group == kNone ? nullptr : &run_.groups[c.group];
    const bool within = group != nullptr && c.peer >= 0 && static_cast<std::size_t>(c.peer) < group->ranks.size();
    const std::int32_t peer = within ? group->ranks[static_cast<std::size_t>(c.peer)] : c.peer;
    if (rank.rank >= 0 && peer >= 0 && peer != rank.rank && peer < ranks_) return {GpuId{static_cast<std::uint32_t>(rank.rank)}, GpuId{static_cast<std::uint32_t>(peer)}};
    return {GpuId{0}, GpuId{1}};  // the peer is not known: taken to be the neighbour
  }

  /// As the file says, else as given, else (of all ranks) as many as the files tell of, else (where none is missing) those that are imported.
  std::vector<GpuId> members(const trace::RankTrace& rank, const trace::Collective& c, const trace::Matched* matched) {
    std::vector<GpuId> result;
    const trace::Group* group = c.group == kNone ? nullptr : &run_.groups[c.group];
    if (group != nullptr && !group->ranks.empty()) {
      for (const std::int32_t r : group->ranks) result.push_back(GpuId{static_cast<std::uint32_t>(r)});
      return result;
    }
    if (group != nullptr && trace::is_all_ranks(run_, *group) && (told_ > 1 || said_.dp > 0 || said_.tp > 0)) return all_ranks();
    const std::uint32_t size = group == nullptr ? 0 : size_of(run_, *group, said_);
    if (matched != nullptr && matched->members.size() > 1 && (size == 0 ? complete_ : size <= matched->members.size())) {
      for (const trace::Member& m : matched->members) result.push_back(gpu_of(m.rank));
      return result;
    }
    if (size == 0) refuse(rank, c);
    // Tensor groups are neighbours, data groups a tensor size apart.
    const std::uint32_t stride = role_of(run_, *group) == Role::data ? tensor_ : 1;
    report_.add("import.replay.group_members_guessed", Severity::warning, fmt::format("\"{}\": {} ranks, {} apart", run_.strings.at(group->name), size, stride));
    for (std::uint32_t i = 0; i < size; ++i) result.push_back(GpuId{i * stride});
    return result;
  }

  std::vector<GpuId> all_ranks() {
    const char* how = said_.dp > 0 || said_.tp > 0 ? "as given" : "as many as the files tell of";
    report_.add("import.replay.group_size_guessed", Severity::warning, fmt::format("the communicator without a name: {} ranks, {}", ranks_, how));
    std::vector<GpuId> result;
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(ranks_); ++i) result.push_back(GpuId{i});
    return result;
  }

  [[noreturn]] void refuse(const trace::RankTrace& rank, const trace::Collective& c) const {
    const std::vector<std::uint32_t> missing = trace::ranks_missing(run_, told_);
    throw InputError({.file = rank.file, .where = "",
                      .found = fmt::format("{} of a communicator whose size is not in the file{}{}", trace::operation_name(run_, c), missing.empty() ? "" : ", and no files of ",
                                           missing.empty() ? "" : trace::ranks_text(missing)),
                      .expected = "the files of all ranks, or a communicator with members or size", .hint = "name the folder with all ranks' files, or give --captured-dp and --captured-tp"});
  }

  /// Groups like this one that use a node's NICs at the same time: the node's other GPUs are in some.
  double beside(const std::vector<GpuId>& group) const {
    const cluster::Cluster& cluster = machine_->cluster;
    const auto local = std::count_if(group.begin(), group.end(), [&](GpuId gpu) { return cluster.node_of(gpu) == cluster.node_of(group.front()); });
    return std::max(1.0, static_cast<double>(std::min(ranks_, cluster.node.gpus)) / static_cast<double>(local));
  }

  const trace::ImportedRun& run_;
  const std::string differ_;  // what the files contradict each other in; empty: nothing
  const Machine* machine_;
  const Sizes& said_;
  Diagnostics& report_;
  std::uint32_t told_;
  bool complete_;  // no rank of those is missing
  int ranks_;
  std::uint32_t tensor_;  // the largest group of that role
};

/// What a communication of a rank is in the simulation.
struct Transfer {
  const trace::Matched* matched = nullptr;  // of imported members; nothing: this rank alone
  std::uint16_t slot = 0;
  Nanoseconds time = 0;
};

class RankBuilder {
 public:
  RankBuilder(const trace::ImportedRun& run, std::uint32_t rank, const std::vector<Transfer>& transfers, Built& built) : run_(run), rank_(run.ranks[rank]), transfers_(transfers), built_(built) {
    program_.name = rank_.rank >= 0 ? "rank " + std::to_string(rank_.rank) : rank_.file;
    notes_.rank = rank;
    task_of_.assign(rank_.device_ops.size(), kNoTask);
  }

  void build() {
    const UntimedOrder order = order_of(run_, rank_);
    std::vector<lower::Dependency> place(order.before.size());  // of what was added, to wait for
    for (const std::uint32_t n : order.order) {
      Task task = task_for(order.node(n));
      task.first_dependency = static_cast<std::uint32_t>(program_.dependencies.size());
      for (const std::uint32_t from : order.before[n]) {
        if (place[from].stream != task.stream) program_.dependencies.push_back(place[from]);
      }
      task.dependency_count = static_cast<std::uint32_t>(program_.dependencies.size()) - task.first_dependency;
      place[n] = {.stream = task.stream, .position = ++position_[task.stream]};
      program_.tasks.push_back(task);
    }
    built_.workload.programs.push_back(std::move(program_));
    built_.notes.push_back(std::move(notes_));
    built_.task_of.push_back(std::move(task_of_));
  }

 private:
  Task task_for(const trace::Node& node) {
    Task task;
    if (node.table != trace::NodeTable::device_ops) {
      const bool call = node.table == trace::NodeTable::calls;
      const std::uint32_t thread = call ? rank_.calls[node.index].thread : rank_.ops[node.index].thread;
      task.stream = stream(fmt::format("host {}", thread));
      task.segment = segment(run_.strings.at(call ? rank_.calls[node.index].name : rank_.ops[node.index].name));
      task.device = task.issue_to_end = seconds(call ? rank_.calls[node.index].duration : rank_.ops[node.index].duration);
      notes_.tasks.push_back({.work = task.device});
      return task;
    }
    const trace::DeviceOp& op = rank_.device_ops[node.index];
    const trace::Stream& s = rank_.streams[op.stream];
    std::string on = fmt::format("device {} stream {}", s.device, s.stream);
    task.kind = op.kind == trace::DeviceKind::copy ? TaskKind::copy : TaskKind::compute;
    task.segment = segment(run_.strings.at(op.name));
    Nanoseconds time = op.duration;
    if (op.collective != kNone) {
      const Transfer& transfer = transfers_[op.collective];
      const trace::Collective& c = rank_.collectives[op.collective];
      on = stream_of(c, transfer);
      time = transfer.time;
      if (transfer.matched != nullptr) task.kind = TaskKind::collective, task.comm = comm(c, transfer);
    }
    task.stream = stream(on);
    task.device = task.issue_to_end = seconds(std::max<Nanoseconds>(0, time));
    task_of_[node.index] = static_cast<std::uint32_t>(program_.tasks.size());
    notes_.tasks.push_back({.work = task.device, .device_op = node.index, .communication = op.collective != kNone});
    return task;
  }

  std::string stream_of(const trace::Collective& c, const Transfer& transfer) const {
    const bool one_way = c.kind == trace::CommKind::send || c.kind == trace::CommKind::receive;
    const bool whole = transfer.matched == nullptr || transfer.matched->channel == 0;
    return fmt::format("communication {}{}{}", c.group == kNone ? "" : run_.strings.at(run_.groups[c.group].name), whole ? "" : fmt::format(", pair {}", transfer.matched->channel),
                       one_way ? fmt::format(", {}s", trace::name_of(c.kind)) : "");
  }

  std::uint32_t comm(const trace::Collective& c, const Transfer& transfer) {
    program_.comms.push_back({.slot = transfer.slot, .name = name(run_.strings.at(c.name)),
                              .transfer = {.latency = seconds(transfer.time), .wire_bytes = Bytes(0.0), .bandwidth = BytesPerSecond(0.0),
                                           .algorithm = "as a whole", .protocol = "as a whole", .source = cost::Source::measured},
                              .payload = Bytes(std::max(0.0, transfer.matched->bytes)), .op = trace::collective_op(c.kind).value_or(graph::CollectiveOp::all_reduce)});
    return static_cast<std::uint32_t>(program_.comms.size() - 1);
  }

  std::uint16_t stream(const std::string& text) {
    const auto [found, is_new] = streams_.try_emplace(text, static_cast<std::uint16_t>(program_.streams.size()));
    if (is_new) {
      if (program_.streams.size() == kMostStreams) {
        throw InputError({.file = rank_.file, .where = "", .found = "more streams and communicators", .expected = fmt::format("at most {}", kMostStreams), .hint = "name one rank's file"});
      }
      program_.streams.push_back(text);
      position_.push_back(0);
    }
    return found->second;
  }

  NameId name(const std::string& text) {
    const auto [found, is_new] = names_.try_emplace(text, static_cast<std::uint32_t>(program_.names.size()));
    if (is_new) program_.names.push_back(text);
    return NameId{found->second};
  }

  std::uint32_t segment(const std::string& text) {
    const auto [found, is_new] = segments_.try_emplace(text, static_cast<std::uint32_t>(program_.segments.size()));
    if (is_new) program_.segments.push_back({.name = name(text), .recompute = Seconds(0.0)});
    return found->second;
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  const std::vector<Transfer>& transfers_;
  Built& built_;
  lower::Program program_;
  ProgramNotes notes_;
  std::vector<std::uint32_t> task_of_, position_;
  std::map<std::string, std::uint16_t> streams_;
  std::map<std::string, std::uint32_t> names_, segments_;
};

/// Of every communication with a kernel, by rank and collective.
std::vector<std::vector<Transfer>> transfers_of(const trace::ImportedRun& run, const trace::Matching& matching, const Channels& channels, Network& network) {
  std::vector<std::vector<Transfer>> result;
  for (const trace::RankTrace& rank : run.ranks) result.emplace_back(rank.collectives.size());
  for (const trace::Matched& m : matching.operations) {
    const auto* slots = channels.slots_of(m);
    if (slots == nullptr) continue;
    const trace::RankTrace& first = run.ranks[m.members.front().rank];
    const Nanoseconds time = m.transfer > 0 ? m.transfer : network.time(first, first.collectives[m.members.front().collective], &m);
    for (const trace::Member& member : m.members) result[member.rank][member.collective] = {.matched = &m, .slot = (*slots)[member.rank], .time = time};
  }
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    for (std::size_t c = 0; c < result[r].size(); ++c) {
      const trace::Collective& collective = run.ranks[r].collectives[c];
      if (result[r][c].matched != nullptr || collective.device_op == kNone) continue;
      const Nanoseconds said = run.ranks[r].device_ops[collective.device_op].duration;
      result[r][c].time = said > 0 ? said : network.time(run.ranks[r], collective, nullptr);
    }
  }
  return result;
}

void check_durations(const trace::ImportedRun& run, Diagnostics& report) {
  bool any = false;
  for (const trace::RankTrace& rank : run.ranks) {
    for (const trace::DeviceOp& op : rank.device_ops) {
      any = any || op.duration > 0 || op.collective != kNone;
      if (op.duration != 0 || op.collective != kNone) continue;
      report.add("import.replay.kernels_without_duration", Severity::warning, run.strings.at(op.name) + ": the file gives no time for it, and it takes none");
    }
  }
  if (any) return;
  const trace::RankTrace& first = run.ranks.front();
  throw InputError({.file = first.file, .where = "", .found = fmt::format("{} kernels, copies and memsets, none with a duration or a start time", first.device_ops.size()),
                    .expected = "a trace or workload with times",
                    .hint = "what waits for what is read (sgsim import), but says nothing about how long it takes"});
}

/// Sizes that are given hold for all ranks: a job is not smaller than its files.
void check_said(const trace::ImportedRun& run, const Sizes& said) {
  const std::int64_t given = std::int64_t{std::max(1, said.dp)} * std::max(1, said.tp), told = trace::ranks_told(run);
  const bool asked = std::any_of(run.groups.begin(), run.groups.end(), [&](const trace::Group& group) { return trace::is_all_ranks(run, group); });
  if (!asked || (said.dp == 0 && said.tp == 0) || given >= told) return;
  throw InputError({.file = run.ranks.front().file, .where = "", .found = fmt::format("--captured-dp and --captured-tp of {} ranks, and files that tell of {}", given, told),
                    .expected = "sizes that hold all of them", .hint = "without these flags it is simulated as the files tell"});
}

void tell_missing(const trace::ImportedRun& run, int ranks, Diagnostics& report) {
  const std::vector<std::uint32_t> missing = not_in_files(run, ranks);
  if (missing.empty()) return;
  report.add("import.replay.ranks_not_in_files", Severity::warning, fmt::format("{} of {}: taken to do what those of the files do", trace::ranks_text(missing), ranks), missing.size());
}

std::vector<OneOperation> operations_of(const trace::ImportedRun& run, const trace::Matching& matching, const Channels& channels, const Built& built) {
  std::vector<OneOperation> result;
  for (const trace::Matched& m : matching.operations) {
    if (channels.slots_of(m) == nullptr) continue;
    OneOperation operation;
    for (const trace::Member& member : m.members) {
      const std::uint32_t op = run.ranks[member.rank].collectives[member.collective].device_op;
      if (op != kNone && built.task_of[member.rank][op] != kNoTask) operation.emplace_back(member.rank, built.task_of[member.rank][op]);
    }
    if (operation.size() > 1) result.push_back(std::move(operation));
  }
  return result;
}

}  // namespace

std::vector<std::uint32_t> not_in_files(const trace::ImportedRun& run, int ranks) {
  return run.ranks.size() == 1 && trace::ranks_told(run) == 1 && ranks == 1 ? std::vector<std::uint32_t>{} : trace::ranks_missing(run, static_cast<std::uint32_t>(ranks));
}

int ranks_of(const trace::ImportedRun& run, const Sizes& said) {
  std::int64_t most = static_cast<std::int64_t>(run.ranks.size());
  for (const trace::RankTrace& rank : run.ranks) most = std::max({most, std::int64_t{rank.rank} + 1, std::int64_t{rank.world_size}});
  for (const trace::Group& group : run.groups) {
    most = std::max(most, std::int64_t{group.size});
    for (const std::int32_t r : group.ranks) most = std::max(most, std::int64_t{r} + 1);
  }
  most = std::max(most, std::int64_t{largest(run, Role::tensor, said)} * largest(run, Role::data, said));
  if (most > kMostRanks) {
    throw InputError({.file = run.ranks.front().file, .where = "", .found = fmt::format("{} ranks", most), .expected = fmt::format("at most {}", kMostRanks),
                      .hint = "the numbers at the end of the files' names are taken to be ranks"});
  }
  return static_cast<int>(most);
}

Built build_untimed(const trace::ImportedRun& run, const trace::Matching& matching, const Machine* machine, const Sizes& said) {
  Built built;
  check_durations(run, built.report);
  check_said(run, said);
  tell_missing(run, ranks_of(run, said), built.report);
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) built.workload.ranks.push_back({.program = ProgramId{r}, .gpu = GpuId{r}, .speed = 1.0, .groups = {}});
  const Channels channels = add_channels(run, matching, built.workload);
  Network network(run, matching, machine, said, built.report);
  const auto transfers = transfers_of(run, matching, channels, network);
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) RankBuilder(run, r, transfers[r], built).build();
  check_waits(run, built, operations_of(run, matching, channels, built));
  count_collectives(run, built);
  return built;
}

}  // namespace sgsim::replay
