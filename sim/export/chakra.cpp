#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/core/protobuf_wire.h"
#include "sim/export/export.h"
#include "sim/export/times.h"

namespace sgsim::exporting {
namespace {

using protobuf::Writer;

// NodeType and field numbers of MLCommons Chakra's et_def, schema 0.0.4.
constexpr std::uint64_t kMemoryLoad = 2, kMemoryStore = 3, kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;
constexpr std::uint32_t kInt32 = 7, kInt64 = 9, kBool = 27, kString = 29;

Writer integer_attribute(std::string_view name, std::uint32_t field, std::int64_t value) { return Writer().text(1, name).integer(field, value); }

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

class RankWriter {
 public:
  RankWriter(const trace::ImportedRun& run, const trace::RankTrace& rank, Diagnostics& report) : run_(run), rank_(rank), report_(report), timed_(has_times(rank)) {}

  std::string write() {
    host_ids_ = static_cast<std::uint32_t>(rank_.ops.size());
    collect_dependencies();
    put(Writer().text(1, "0.0.4"));
    for (std::uint32_t i = 0; i < rank_.ops.size(); ++i) write_host_op(i);
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) write_device_op(i);
    return std::move(out_);
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { report_.add(fmt::format("export.chakra.{}", what), severity, example); }

  void put(const Writer& message) {
    protobuf::put_varint(out_, message.bytes().size());
    out_ += message.bytes();
  }

  [[nodiscard]] std::optional<std::uint32_t> id_of(const trace::Node& node) const {
    if (node.table == trace::NodeTable::ops && node.index < rank_.ops.size()) return node.index;
    if (node.table == trace::NodeTable::device_ops && node.index < rank_.device_ops.size()) return host_ids_ + node.index;
    return std::nullopt;
  }

  void depend(std::uint32_t from, std::uint32_t to, bool data) {
    if (from == to) return;
    (data ? data_ : control_)[to].insert(from);
  }

  void collect_dependencies() {
    for (const trace::Edge& edge : rank_.edges) {
      const auto from = id_of(edge.from), to = id_of(edge.to);
      if (from && to) {
        depend(*from, *to, edge.data);
      } else {
        count("edge_of_a_call", Severity::warning, "API calls are no nodes of Chakra");
      }
    }
    if (!timed_) return;
    std::map<std::uint32_t, std::uint32_t> last;  // by stream; device operations stand in order of their start
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) {
      const trace::DeviceOp& op = rank_.device_ops[i];
      if (const auto before = last.find(op.stream); before != last.end()) depend(host_ids_ + before->second, host_ids_ + i, true);
      last.insert_or_assign(op.stream, i);
      if (op.op != trace::kNone) depend(op.op, host_ids_ + i, false);
    }
  }

  void put_dependencies(std::uint32_t id, Writer& node) const {
    for (const auto* table : {&control_, &data_}) {
      const auto found = table->find(id);
      if (found != table->end()) node.packed(table == &control_ ? 4 : 5, std::vector<std::uint64_t>(found->second.begin(), found->second.end()));
    }
  }

  void put_times(trace::Nanoseconds start, trace::Nanoseconds duration, Writer& node) {
    if (timed_ && start != trace::kNoTime) {
      if (start < 0) count("negative_time", Severity::warning, "a start before 0 is written as 0");
      node.varint(6, static_cast<std::uint64_t>(std::max<trace::Nanoseconds>(0, start) / 1000));
    }
    node.varint(7, static_cast<std::uint64_t>(std::max<trace::Nanoseconds>(0, duration) + 500) / 1000);
  }

  void write_host_op(std::uint32_t i) {
    const trace::HostOp& op = rank_.ops[i];
    Writer node;
    node.varint(1, i).text(2, run_.strings.at(op.name)).varint(3, kCompute);
    put_dependencies(i, node);
    put_times(op.start, op.duration, node);
    if (op.shapes != 0) node.message(8, Writer().text(2, run_.strings.at(op.shapes)));
    node.message(10, integer_attribute("is_cpu_op", kBool, 1)).message(10, integer_attribute("tid", kInt64, op.thread)).message(10, integer_attribute("duration_ns", kInt64, op.duration));
    put(node);
    count("host_op", Severity::info, run_.strings.at(op.name));
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
    Writer node;
    node.varint(1, host_ids_ + i).text(2, run_.strings.at(op.name)).varint(3, type);
    put_dependencies(host_ids_ + i, node);
    put_times(op.start, op.duration, node);
    node.message(10, integer_attribute("is_cpu_op", kBool, 0)).message(10, integer_attribute("duration_ns", kInt64, op.duration));
    if (op.stream < rank_.streams.size()) node.message(10, integer_attribute("stream", kInt64, rank_.streams[op.stream].stream));
    if (type == kMemoryLoad || type == kMemoryStore) node.message(10, integer_attribute("tensor_size", 13, static_cast<std::int64_t>(op.bytes)));
    if (op.collective != trace::kNone) put_collective(rank_.collectives[op.collective], type, node);
    put(node);
    count(type == kCompute ? "compute" : type >= kSend ? "communication" : "memory", Severity::info, run_.strings.at(op.name));
  }

  void put_collective(const trace::Collective& collective, std::uint64_t type, Writer& node) {
    if (type == kCompute) {
      count("communication_as_compute", Severity::error, std::string("Chakra has no ") + trace::name_of(collective.kind));
      return;
    }
    if (type == kCollective) node.message(10, integer_attribute("comm_type", kInt64, comm_type(collective.kind)));
    if (collective.bytes < 0) count("size_unknown", Severity::error, fmt::format("{}: written as 0 bytes", run_.strings.at(collective.name)));
    node.message(10, integer_attribute("comm_size", kInt64, static_cast<std::int64_t>(std::max(0.0, collective.bytes))));
    if (type != kCollective) {
      node.message(10, integer_attribute(type == kSend ? "comm_dst" : "comm_src", kInt32, std::max(0, collective.peer))).message(10, integer_attribute("comm_tag", kInt32, collective.sequence));
      if (collective.peer < 0) count("peer_unknown", Severity::error, run_.strings.at(collective.name));
    }
    if (collective.group != trace::kNone) node.message(10, Writer().text(1, "pg_name").text(kString, run_.strings.at(run_.groups[collective.group].name)));
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  Diagnostics& report_;
  bool timed_;
  std::uint32_t host_ids_ = 0;  // device operations are numbered after the host's
  std::map<std::uint32_t, std::set<std::uint32_t>> control_, data_;
  std::string out_;
};

}  // namespace

std::string chakra(const trace::ImportedRun& run, std::size_t rank, Diagnostics& report) { return RankWriter(run, run.ranks.at(rank), report).write(); }

std::string chakra_groups(const trace::ImportedRun& run) {
  nlohmann::json groups = nlohmann::json::object();
  for (const trace::Group& group : run.groups) {
    if (!group.ranks.empty()) groups[run.strings.at(group.name)] = group.ranks;
  }
  return groups.empty() ? std::string() : groups.dump(1) + "\n";
}

}  // namespace sgsim::exporting
