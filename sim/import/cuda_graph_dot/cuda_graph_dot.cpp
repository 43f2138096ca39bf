#include "sim/import/cuda_graph_dot/cuda_graph_dot.h"

#include <set>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/order.h"
#include "sim/import/cuda_graph_dot/dot.h"
#include "sim/import/cuda_graph_dot/node_label.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::cuda_graph_dot {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30;

class Reader {
 public:
  Reader(const dot::Graph& graph, const std::string& file) : graph_(graph), file_(file) {
    run_.format = "cuda_graph_dot";
    run_.ranks.resize(1);
    run_.ranks[0].file = file;
  }

  trace::ImportedRun run() {
    for (const dot::Edge& edge : graph_.edges) pairs_.emplace_back(edge.from, edge.to);
    check_cycles(pairs_);  // before the labels: of any digraph a cycle is the first thing to know
    read_labels();
    expand_children();
    std::sort(pairs_.begin(), pairs_.end());
    pairs_.erase(std::unique(pairs_.begin(), pairs_.end()), pairs_.end());
    const std::vector<std::uint32_t> order = check_cycles(pairs_);
    add_operations(order);
    add_edges(order);
    return std::move(run_);
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { run_.report.add(fmt::format("import.cuda_graph_dot.{}", what), severity, example); }

  std::vector<std::uint32_t> check_cycles(const Pairs& pairs) const {
    Order order = order_of(static_cast<std::uint32_t>(graph_.nodes.size()), pairs);
    if (order.cycle.empty()) return std::move(order.order);
    std::vector<std::string> names;
    for (const std::uint32_t i : order.cycle) names.push_back(graph_.nodes[i].id);
    throw InputError({.file = file_, .where = "", .found = fmt::format("a cycle of {} nodes: {}", names.size(), cycle_text(names)), .expected = "a graph without cycles", .hint = "take one of these dependencies out"});
  }

  void read_labels() {
    for (const dot::Node& node : graph_.nodes) {
      auto label = read_label(node.label);
      if (!label) {
        throw InputError({.file = file_, .where = "node \"" + node.id + "\"", .found = node.label.empty() ? "a node without label" : "the label \"" + node.label.substr(0, 60) + "\"",
                          .expected = "a kind of CUDA graph node (KERNEL, MEMCPY, ...) or a kernel with its launch configuration", .hint = "this digraph is no dump of cudaGraphDebugDotPrint"});
      }
      labels_.push_back(std::move(*label));
    }
  }

  /// The cluster of the child graph behind a node: the one its label names, else the next unused cluster that is not the
  /// node's own.
  std::uint32_t cluster_of(std::uint32_t node) {
    const std::string& child = labels_[node].child;
    for (std::uint32_t c = 1; c < graph_.clusters.size(); ++c) {
      if (!child.empty() && (graph_.clusters[c].label == child || graph_.clusters[c].name == "cluster_" + child.substr(6)) && c != graph_.nodes[node].cluster) return c;
    }
    for (std::uint32_t c = graph_.nodes[node].cluster + 1; c < graph_.clusters.size(); ++c) {
      if (used_.contains(c)) continue;
      count("child_by_order", Severity::warning, fmt::format("{} is taken for the body of {}", graph_.clusters[c].name, graph_.nodes[node].id));
      return c;
    }
    return 0;
  }

  /// A child graph starts after what its node waits for, and what waits for the node waits for its ends.
  void expand_children() {
    std::vector<std::vector<std::uint32_t>> members(graph_.clusters.size());
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) members[graph_.nodes[i].cluster].push_back(i);
    const Pairs own = pairs_;
    std::vector<std::vector<std::uint32_t>> after(graph_.nodes.size());
    for (const auto& [from, to] : own) after[from].push_back(to);
    std::vector<bool> has_before(graph_.nodes.size(), false), has_after(graph_.nodes.size(), false);
    for (const auto& [from, to] : own) {
      if (graph_.nodes[from].cluster != graph_.nodes[to].cluster) continue;
      has_before[to] = has_after[from] = true;
    }
    for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
      if (labels_[i].kind != NodeKind::child_graph && labels_[i].kind != NodeKind::conditional) continue;
      const std::uint32_t cluster = cluster_of(i);
      if (cluster == 0) {
        count("child_without_body", Severity::error, graph_.nodes[i].id);
        continue;
      }
      used_.insert(cluster);
      count(labels_[i].kind == NodeKind::conditional ? "conditional_once" : "child_graph", labels_[i].kind == NodeKind::conditional ? Severity::warning : Severity::info, graph_.nodes[i].id);
      for (const std::uint32_t member : members[cluster]) {
        if (!has_before[member]) pairs_.emplace_back(i, member);
        if (has_after[member]) continue;
        for (const std::uint32_t to : after[i]) {
          if (graph_.nodes[to].cluster != cluster) pairs_.emplace_back(member, to);
        }
      }
    }
  }

  [[nodiscard]] bool works(std::uint32_t node) const { return labels_[node].kind == NodeKind::kernel || labels_[node].kind == NodeKind::copy || labels_[node].kind == NodeKind::set; }

  void add_operations(const std::vector<std::uint32_t>& order) {
    trace::RankTrace& rank = run_.ranks[0];
    rank.streams.push_back({.device = 0, .stream = 0, .name = run_.strings.intern("graph")});
    index_.assign(graph_.nodes.size(), trace::kNone);
    for (const std::uint32_t i : order) {
      const NodeLabel& label = labels_[i];
      if (!works(i)) {
        if (label.kind != NodeKind::child_graph && label.kind != NodeKind::conditional) count(label.kind == NodeKind::host ? "host_node" : "passive_node", Severity::warning, fmt::format("{} {}", graph_.nodes[i].id, label.word));
        continue;
      }
      trace::DeviceOp op;
      op.kind = label.kind == NodeKind::kernel ? trace::DeviceKind::kernel : label.kind == NodeKind::copy ? trace::DeviceKind::copy : trace::DeviceKind::set;
      op.name = run_.strings.intern(label.name.empty() ? label.word : label.kind == NodeKind::kernel ? label.name : label.word + " " + label.name);
      op.graph_node = static_cast<std::int64_t>(i) + 1;
      op.blocks = label.blocks;
      op.bytes = label.bytes;
      index_[i] = static_cast<std::uint32_t>(rank.device_ops.size());
      rank.device_ops.push_back(op);
      count(label.kind == NodeKind::kernel ? "kernel" : label.kind == NodeKind::copy ? "copy" : "set", Severity::info, graph_.nodes[i].id);
    }
  }

  /// Edges between working nodes; a node that does nothing hands on what it waits for.
  void add_edges(const std::vector<std::uint32_t>& order) {
    std::vector<std::vector<std::uint32_t>> before(graph_.nodes.size());
    for (const auto& [from, to] : pairs_) before[to].push_back(from);
    std::vector<std::set<std::uint32_t>> passed(graph_.nodes.size());  // of nodes that do nothing: the working ones before them
    for (const std::uint32_t i : order) {
      std::set<std::uint32_t> sources;
      for (const std::uint32_t from : before[i]) {
        if (works(from)) {
          sources.insert(index_[from]);
        } else {
          sources.insert(passed[from].begin(), passed[from].end());
        }
      }
      if (!works(i)) {
        passed[i] = std::move(sources);
        continue;
      }
      for (const std::uint32_t source : sources) {
        run_.ranks[0].edges.push_back({.from = {trace::NodeTable::device_ops, source}, .to = {trace::NodeTable::device_ops, index_[i]}, .data = false});
        count("edge", Severity::info, graph_.nodes[i].id);
      }
    }
  }

  const dot::Graph& graph_;
  const std::string& file_;
  trace::ImportedRun run_;
  Pairs pairs_;
  std::vector<NodeLabel> labels_;
  std::vector<std::uint32_t> index_;
  std::set<std::uint32_t> used_;
};

Imported read(const std::vector<std::string>& paths, const Progress&) {
  if (paths.size() != 1) {
    throw InputError({.file = paths.at(1), .where = "", .found = fmt::format("{} graph dumps in one import", paths.size()), .expected = "one file", .hint = "import each by itself"});
  }
  Diagnostics packing;
  trace::ImportedRun run = parse(read_whole(paths.front(), "cuda_graph_dot", packing, kLargest), paths.front());
  run.report.merge(packing);
  return run;
}

}  // namespace

trace::ImportedRun parse(std::string_view text, const std::string& file) {
  const dot::Graph graph = dot::parse(text, file);
  if (graph.nodes.empty()) throw InputError({.file = file, .where = "", .found = "a digraph without nodes", .expected = "at least one node", .hint = ""});
  return Reader(graph, file).run();
}

Format format() {
  return {.name = "cuda_graph_dot",
          .description = "CUDA graph dump of cudaGraphDebugDotPrint (Graphviz)",
          .confidence = [](const FileHead& head) {
            const std::size_t begin = head.bytes.find_first_not_of(" \t\r\n");
            return begin != std::string::npos && std::string_view(head.bytes).substr(begin).starts_with("digraph") ? 80 : 0;
          },
          .read = read,
          .one_by_one = true};
}

}  // namespace sgsim::import::cuda_graph_dot
