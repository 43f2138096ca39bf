#include "sim/import/chakra/own_attributes.h"

#include <algorithm>
#include <cstdlib>

#include "sim/trace/steps.h"

namespace sgsim::import::chakra {
namespace {

constexpr std::int64_t kMostRanks = 100'000'000;

}  // namespace

void read_header(const std::map<std::string, Value, std::less<>>& attributes, trace::RankTrace& rank) {
  const Node header{.attributes = attributes};
  rank.rank = static_cast<std::int32_t>(std::clamp<std::int64_t>(header.integer("rank").value_or(-1), -1, kMostRanks));
  rank.world_size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(header.integer("world_size").value_or(0), 0, kMostRanks));
  rank.gpu = header.text("gpu");
  rank.host = header.text("host");
  rank.ends_early = header.flag("ends_early").value_or(false);
}

bool is_call(const Node& node) { return node.text("category") == "cuda_runtime"; }

trace::HostCall call_of(const Node& node) {
  trace::HostCall call;
  const std::int64_t kind = node.integer("call_kind").value_or(-1);
  call.kind = kind >= 0 && kind <= static_cast<std::int64_t>(trace::CallKind::other) ? static_cast<trace::CallKind>(kind) : trace::CallKind::other;
  call.correlation = node.integer("correlation").value_or(-1);
  call.event = node.integer("event").value_or(-1);
  call.record_correlation = node.integer("record_correlation").value_or(-1);
  return call;
}

trace::HostKind kind_of(const Node& node) {
  const std::string category = node.text("category");
  return category == "user_annotation" ? trace::HostKind::annotation : category == "python_function" ? trace::HostKind::python : trace::HostKind::op;
}

std::optional<std::int64_t> step_of(const Node& node) {
  if (!node.name.starts_with(trace::kStepMark)) return std::nullopt;
  return std::strtoll(node.name.c_str() + trace::kStepMark.size(), nullptr, 10);
}

bool is_set(const Node& node) { return node.text("category") == "gpu_memset"; }

void read_own(const Node& node, trace::DeviceOp& op) {
  op.correlation = node.integer("correlation").value_or(op.correlation);
  op.graph_node = node.integer("graph_node").value_or(0);
  op.blocks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(node.integer("blocks").value_or(0), 0, 4'000'000'000));
  op.flops = static_cast<double>(std::max<std::int64_t>(0, node.integer("num_ops").value_or(0)));
}

std::optional<trace::CommKind> comm_kind_of(const Node& node) {
  const std::string name = node.text("comm_kind");
  if (name.empty()) return std::nullopt;
  for (int kind = 0; kind <= static_cast<int>(trace::CommKind::other); ++kind) {
    if (name == trace::name_of(static_cast<trace::CommKind>(kind))) return static_cast<trace::CommKind>(kind);
  }
  return std::nullopt;
}

void link(trace::RankTrace& rank) {
  using trace::NodeTable;
  for (const trace::Edge& edge : rank.edges) {
    if (edge.data) continue;
    if (edge.from.table == NodeTable::calls && edge.to.table == NodeTable::device_ops) rank.device_ops[edge.to.index].call = edge.from.index;
    if (edge.from.table == NodeTable::ops && edge.to.table == NodeTable::calls) rank.calls[edge.to.index].op = edge.from.index;
    if (edge.from.table == NodeTable::ops && edge.to.table == NodeTable::device_ops) rank.device_ops[edge.to.index].op = edge.from.index;
  }
  for (trace::DeviceOp& op : rank.device_ops) {
    if (op.op == trace::kNone && op.call != trace::kNone) op.op = rank.calls[op.call].op;
  }
}

}  // namespace sgsim::import::chakra
