#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "sim/core/protobuf_wire.h"
#include "sim/export/chakra_groups.h"
#include "sim/export/export.h"
#include "sim/export/self_time.h"
#include "sim/export/times.h"
#include "sim/export/words.h"
#include "sim/trace/all_ranks.h"
#include "sim/trace/steps.h"

namespace sgsim::exporting {
namespace {

using protobuf::Writer;

// NodeType and field numbers of MLCommons Chakra's et_def, schema 0.0.4.
constexpr std::uint64_t kMemoryLoad = 2, kMemoryStore = 3, kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;
constexpr std::uint32_t kInt32 = 7, kInt64 = 9, kUint64 = 13, kBool = 27, kString = 29;

void put_integer(Writer& message, std::string_view name, std::int64_t value, std::uint32_t field = kInt64, std::uint32_t place = 10) { message.message(place, Writer().text(1, name).integer(field, value)); }
void put_text(Writer& message, std::string_view name, std::string_view value, std::uint32_t place = 10) { message.message(place, Writer().text(1, name).text(kString, value)); }

/// CollectiveCommType; -1 where Chakra has none.
std::int64_t comm_type(trace::CommKind kind) {
  using trace::CommKind;
  switch (kind) {
    case CommKind::all_reduce: return 0;
    case CommKind::reduce: return 1;
    case CommKind::all_gather: return 2;
    case CommKind::broadcast: return 5;
    case CommKind::all_to_all: return 6;
    case CommKind::reduce_scatter: return 7;
    case CommKind::barrier: return 9;
    default: return -1;
  }
}

/// Nodes are numbered: operators, calls, steps that are no operators, device operations.
class RankWriter {
 public:
  RankWriter(const trace::ImportedRun& run, const trace::RankTrace& rank, Diagnostics& report) : run_(run), rank_(rank), report_(report), timed_(has_times(rank)) {
    std::set<trace::Nanoseconds> marked;
    for (const trace::HostOp& op : rank_.ops) {
      if (run_.strings.at(op.name).starts_with(trace::kStepMark)) marked.insert(op.start);
    }
    for (std::uint32_t s = 0; s < rank_.steps.size(); ++s) {
      if (marked.count(rank_.steps[s].start) == 0) steps_.push_back(s);
    }
    first_call_ = static_cast<std::uint32_t>(rank_.ops.size());
    first_step_ = first_call_ + static_cast<std::uint32_t>(rank_.calls.size());
    first_device_ = first_step_ + static_cast<std::uint32_t>(steps_.size());
  }

  std::string write() {
    collect_dependencies();
    measure_host();
    write_header();
    for (std::uint32_t i = 0; i < rank_.ops.size(); ++i) write_host_op(i);
    for (std::uint32_t i = 0; i < rank_.calls.size(); ++i) write_call(i);
    for (std::uint32_t i = 0; i < steps_.size(); ++i) write_step(i);
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) write_device_op(i);
    for (const trace::Collective& c : rank_.collectives) {
      if (c.device_op == trace::kNone) count("collective_without_kernel", Severity::error, run_.strings.at(c.name));
    }
    return std::move(out_);
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { report_.add(fmt::format("export.chakra.{}", what), severity, example); }

  void put(const Writer& message) {
    protobuf::put_varint(out_, message.bytes().size());
    out_ += message.bytes();
  }

  [[nodiscard]] std::uint32_t id_of(const trace::Node& node) const {
    return node.index + (node.table == trace::NodeTable::ops ? 0 : node.table == trace::NodeTable::calls ? first_call_ : first_device_);
  }

  void depend(std::uint32_t from, std::uint32_t to, bool data) {
    if (from != to) (data ? data_ : control_)[to].insert(from);
  }

  void collect_dependencies() {
    for (const trace::Edge& edge : rank_.edges) depend(id_of(edge.from), id_of(edge.to), edge.data);
    if (!timed_) return;
    for (std::uint32_t i = 0; i < rank_.calls.size(); ++i) {
      if (rank_.calls[i].op != trace::kNone) depend(rank_.calls[i].op, first_call_ + i, false);
    }
    std::map<std::uint32_t, std::uint32_t> last;  // by stream; device operations stand in order of their start
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) {
      const trace::DeviceOp& op = rank_.device_ops[i];
      if (const auto before = last.find(op.stream); before != last.end()) depend(first_device_ + before->second, first_device_ + i, true);
      last.insert_or_assign(op.stream, i);
      if (op.op != trace::kNone) depend(op.op, first_device_ + i, false);
      if (op.call != trace::kNone) depend(first_call_ + op.call, first_device_ + i, false);
    }
  }

  void put_dependencies(std::uint32_t id, Writer& node) const {
    for (const auto* table : {&control_, &data_}) {
      const auto found = table->find(id);
      if (found != table->end()) node.packed(table == &control_ ? 4 : 5, std::vector<std::uint64_t>(found->second.begin(), found->second.end()));
    }
  }

  void measure_host() {
    std::vector<Stretch> stretches;
    for (const trace::HostOp& op : rank_.ops) stretches.push_back({op.start, op.duration, op.thread});
    for (const trace::HostCall& call : rank_.calls) stretches.push_back({call.start, call.duration, call.thread});
    for (const std::uint32_t s : steps_) stretches.push_back({rank_.steps[s].start, rank_.steps[s].duration, rank_.steps[s].thread});
    self_ = self_times(stretches);
  }

  void write_header() {
    Writer header;
    header.text(1, "0.0.4");
    if (rank_.rank >= 0) put_integer(header, "rank", rank_.rank, kInt64, 2);
    if (rank_.world_size > 0) put_integer(header, "world_size", rank_.world_size, kInt64, 2);
    if (!rank_.gpu.empty()) put_text(header, "gpu", rank_.gpu, 2);
    if (!rank_.host.empty()) put_text(header, "host", rank_.host, 2);
    if (rank_.ends_early) put_integer(header, "ends_early", 1, kBool, 2);
    put(header);
  }

  /// Name, type, dependencies and times; `shown`: the duration in the schema's own field.
  Writer begin(std::uint32_t id, std::string_view name, std::uint64_t type, trace::Nanoseconds start, trace::Nanoseconds duration, trace::Nanoseconds shown) {
    Writer node;
    node.varint(1, id).text(2, name).varint(3, type);
    put_dependencies(id, node);
    const bool timed = timed_ && start != trace::kNoTime;
    if (timed) {
      if (start < 0) count("negative_time", Severity::warning, "start_time_micros of a start before 0 is written as 0");
      node.varint(6, static_cast<std::uint64_t>(std::max<trace::Nanoseconds>(0, start) / 1000));
    }
    node.varint(7, static_cast<std::uint64_t>(std::max<trace::Nanoseconds>(0, shown) + 500) / 1000);
    put_integer(node, "duration_ns", duration);
    if (timed) put_integer(node, "start_ns", start);
    return node;
  }

  Writer begin_host(std::uint32_t id, std::string_view name, const char* category, trace::Nanoseconds start, trace::Nanoseconds duration, std::uint32_t thread) {
    Writer node = begin(id, name, kCompute, start, duration, self_[id]);
    put_integer(node, "is_cpu_op", 1, kBool);
    put_integer(node, "tid", thread);
    put_text(node, "category", category);
    return node;
  }

  void write_host_op(std::uint32_t i) {
    const trace::HostOp& op = rank_.ops[i];
    Writer node = begin_host(i, run_.strings.at(op.name), category_of(op.kind), op.start, op.duration, op.thread);
    if (op.shapes != 0) node.message(8, Writer().text(2, run_.strings.at(op.shapes)));
    put(node);
    count("host_op", Severity::info, run_.strings.at(op.name));
  }

  void write_call(std::uint32_t i) {
    const trace::HostCall& call = rank_.calls[i];
    Writer node = begin_host(first_call_ + i, run_.strings.at(call.name), "cuda_runtime", call.start, call.duration, call.thread);
    put_integer(node, "call_kind", static_cast<std::int64_t>(call.kind));
    put_integer(node, "correlation", call.correlation);
    if (call.stream < rank_.streams.size()) put_stream(call.stream, node);
    if (call.event >= 0) put_integer(node, "event", call.event);
    if (call.record_correlation >= 0) put_integer(node, "record_correlation", call.record_correlation);
    put(node);
    count("call", Severity::info, run_.strings.at(call.name));
  }

  void write_step(std::uint32_t i) {
    const trace::Step& step = rank_.steps[steps_[i]];
    put(begin_host(first_step_ + i, trace::step_name(step.number), "user_annotation", step.start, step.duration, step.thread));
    count("step", Severity::info, trace::step_name(step.number));
  }

  void put_stream(std::uint32_t stream, Writer& node) const {
    put_integer(node, "stream", rank_.streams[stream].stream);
    put_integer(node, "device", rank_.streams[stream].device);
  }

  std::uint64_t type_of(const trace::DeviceOp& op) const {
    if (op.kind == trace::DeviceKind::copy) return run_.strings.at(op.name).find("DtoH") != std::string::npos ? kMemoryStore : kMemoryLoad;
    if (op.collective == trace::kNone) return kCompute;
    const trace::CommKind kind = rank_.collectives[op.collective].kind;
    if (kind == trace::CommKind::send) return kSend;
    if (kind == trace::CommKind::receive) return kReceive;
    return comm_type(kind) >= 0 ? kCollective : kCompute;
  }

  void write_device_op(std::uint32_t i) {
    const trace::DeviceOp& op = rank_.device_ops[i];
    const std::uint64_t type = type_of(op);
    Writer node = begin(first_device_ + i, run_.strings.at(op.name), type, op.start, op.duration, op.duration);
    put_integer(node, "is_cpu_op", 0, kBool);
    put_text(node, "category", category_of(op.kind));
    put_integer(node, "correlation", op.correlation);
    if (op.stream < rank_.streams.size()) put_stream(op.stream, node);
    if (op.kind != trace::DeviceKind::kernel) put_integer(node, "tensor_size", static_cast<std::int64_t>(op.bytes), kUint64);
    if (op.graph_node != 0) put_integer(node, "graph_node", op.graph_node);
    if (op.blocks != 0) put_integer(node, "blocks", op.blocks);
    if (op.layer != 0) put_text(node, "layer", run_.strings.at(op.layer));
    if (op.flops > 0.0) put_integer(node, "num_ops", static_cast<std::int64_t>(op.flops), kUint64);
    if (op.collective != trace::kNone) put_collective(rank_.collectives[op.collective], type, node);
    put(node);
    count(op.kind == trace::DeviceKind::set ? "memset" : type == kCompute ? "compute" : type >= kSend ? "communication" : "memory", Severity::info, run_.strings.at(op.name));
  }

  void put_collective(const trace::Collective& collective, std::uint64_t type, Writer& node) {
    put_text(node, "collective", run_.strings.at(collective.name));
    put_text(node, "comm_kind", trace::name_of(collective.kind));
    if (collective.dtype != 0) put_text(node, "dtype", run_.strings.at(collective.dtype));
    if (collective.uneven) put_integer(node, "uneven", 1, kBool), count("splits_lost", Severity::warning, run_.strings.at(collective.name));
    put_group(collective, node);
    if (type == kCompute) {
      count("communication_as_compute", Severity::error, std::string("Chakra has no ") + trace::name_of(collective.kind));
      return;
    }
    if (type == kCollective) put_integer(node, "comm_type", comm_type(collective.kind));
    put_size(collective, node);
    if (collective.bytes < 0) put_integer(node, "size_unknown", 1, kBool), count("size_unknown", Severity::error, fmt::format("{}: written as 0 bytes", run_.strings.at(collective.name)));
    if (type != kCollective) put_peer(collective, type, node);
  }

  /// Chakra's size is what a rank puts in; of an all-gather that is a part of the gathered size, which stands beside it.
  void put_size(const trace::Collective& collective, Writer& node) {
    const auto bytes = static_cast<std::int64_t>(std::max(0.0, collective.bytes));
    const std::uint32_t ranks = collective.group == trace::kNone ? 0 : run_.groups[collective.group].size;
    const bool gathers = collective.kind == trace::CommKind::all_gather;
    if (gathers && ranks == 0) count("gathered_size", Severity::warning, fmt::format("{}: of a group of unknown size; the gathered size is written", run_.strings.at(collective.name)));
    put_integer(node, "comm_size", gathers && ranks > 0 ? bytes / ranks : bytes);
    if (gathers) put_integer(node, "gathered_size", bytes);
  }

  /// The other end as a rank of the run, as ASTRA-sim has it; our reader takes its place in the group beside it.
  void put_peer(const trace::Collective& collective, std::uint64_t type, Writer& node) {
    if (collective.peer < 0) count("peer_unknown", Severity::error, fmt::format("{}: written as rank 0", run_.strings.at(collective.name)));
    std::int32_t other = std::max(0, collective.peer);
    if (collective.group != trace::kNone) {
      const auto members = members_of(run_, run_.groups[collective.group]);
      if (members && static_cast<std::size_t>(other) < members->size()) other = (*members)[static_cast<std::size_t>(other)];
    }
    put_integer(node, type == kSend ? "comm_dst" : "comm_src", other, kInt32);
    put_integer(node, "comm_tag", collective.sequence, kInt32);
    if (collective.peer >= 0) put_integer(node, "peer", collective.peer);
  }

  void put_group(const trace::Collective& collective, Writer& node) {
    if (collective.group == trace::kNone) return;
    const trace::Group& group = run_.groups[collective.group];
    if (trace::is_all_ranks(run_, group)) return;  // without a name it is read as all ranks again
    put_text(node, "pg_name", std::to_string(chakra_group_number(collective.group)));
    put_text(node, "group_name", run_.strings.at(group.name));
    if (group.description != 0) put_text(node, "pg_desc", run_.strings.at(group.description));
    if (group.size != 0) put_integer(node, "pg_size", group.size);
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  Diagnostics& report_;
  bool timed_;
  std::vector<std::uint32_t> steps_;  // of RankTrace::steps, those that are no operators
  std::uint32_t first_call_ = 0, first_step_ = 0, first_device_ = 0;
  std::vector<trace::Nanoseconds> self_;  // by id, of the host's
  std::map<std::uint32_t, std::set<std::uint32_t>> control_, data_;
  std::string out_;
};

}  // namespace

std::string chakra(const trace::ImportedRun& run, std::size_t rank, Diagnostics& report) { return RankWriter(run, run.ranks.at(rank), report).write(); }

}  // namespace sgsim::exporting
