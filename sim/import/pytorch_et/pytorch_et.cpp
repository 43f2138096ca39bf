#include "sim/import/pytorch_et/pytorch_et.h"

#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/order.h"
#include "sim/import/pytorch_et/document.h"
#include "sim/import/whole_file.h"
#include "sim/trace/steps.h"

namespace sgsim::import::pytorch_et {
namespace {

class Builder {
 public:
  Builder(const Document& document, trace::ImportedRun& run) : document_(document), run_(run), rank_(run.ranks.emplace_back()) {
    rank_.file = document.file;
  }

  void build() {
    for (const ProcessGroup& group : document_.groups) add_group(group);
    add_ops();
    add_parents();
    add_data_edges();
    add_collectives();
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { run_.report.add(fmt::format("import.pytorch_et.{}", what), severity, example); }

  std::uint32_t thread(std::int64_t tid) {
    const auto [found, added] = threads_.try_emplace(tid, static_cast<std::uint32_t>(rank_.threads.size()));
    if (added) rank_.threads.push_back({.process = run_.strings.intern(std::to_string(document_.pid)), .thread = run_.strings.intern(std::to_string(tid)), .name = 0});
    return found->second;
  }

  void add_group(const ProcessGroup& group) {
    groups_.insert_or_assign(group.name, static_cast<std::uint32_t>(run_.groups.size()));
    run_.groups.push_back({.name = run_.strings.intern(group.name), .description = run_.strings.intern(group.description), .ranks = group.ranks, .size = group.size});
  }

  void add_ops() {
    for (const Node& node : document_.nodes) {
      trace::HostOp op;
      op.id = node.id;
      op.name = run_.strings.intern(node.name);
      op.shapes = run_.strings.intern(node.shapes);
      op.thread = thread(node.tid);
      const bool operation = node.name.find("::") != std::string::npos || node.name == "record_param_comms" || node.name.starts_with("triton_");
      op.kind = operation ? trace::HostKind::op : trace::HostKind::annotation;
      index_.emplace(node.id, static_cast<std::uint32_t>(rank_.ops.size()));
      rank_.ops.push_back(op);
      count(operation ? "op" : "annotation", Severity::info, node.name);
      if (node.name.starts_with(trace::kStepMark)) add_step(node);
    }
  }

  void add_step(const Node& node) {
    rank_.steps.push_back({.number = std::strtoll(node.name.c_str() + 13, nullptr, 10), .start = trace::kNoTime, .duration = 0, .thread = thread(node.tid)});
    count("step", Severity::info, node.name);
  }

  void add_parents() {
    has_child_.assign(rank_.ops.size(), false);
    Pairs pairs;
    for (std::uint32_t i = 0; i < document_.nodes.size(); ++i) {
      const auto parent = index_.find(document_.nodes[i].parent);
      if (parent == index_.end()) {
        count("parent_absent", Severity::warning, fmt::format("node {} \"{}\" under node {}, which is not in the file", document_.nodes[i].id, document_.nodes[i].name, document_.nodes[i].parent));
        continue;
      }
      if (parent->second == i) continue;  // the process node is its own parent
      has_child_[parent->second] = true;
      pairs.emplace_back(parent->second, i);
      rank_.edges.push_back({.from = {trace::NodeTable::ops, parent->second}, .to = {trace::NodeTable::ops, i}, .data = false});
      count("child_edge", Severity::info, document_.nodes[i].name);
    }
    const Order order = order_of(static_cast<std::uint32_t>(rank_.ops.size()), pairs);
    if (order.cycle.empty()) return;
    std::vector<std::string> names;
    for (const std::uint32_t i : order.cycle) names.push_back(fmt::format("{} \"{}\"", document_.nodes[i].id, document_.nodes[i].name));
    throw InputError({.file = document_.file, .where = "$.nodes", .found = fmt::format("a cycle of {} nodes: {}", names.size(), cycle_text(names)), .expected = "parents that contain their children", .hint = "take one of these dependencies out"});
  }

  /// From the last leaf that wrote a tensor to those that read it. What a leaf reads and writes in place counts as written.
  void add_data_edges() {
    std::map<TensorRef, std::uint32_t> writer;
    for (std::uint32_t i = 0; i < document_.nodes.size(); ++i) {
      if (has_child_[i]) continue;
      const Node& node = document_.nodes[i];
      std::uint32_t last = trace::kNone;
      for (const TensorRef& tensor : node.reads) {
        const auto found = writer.find(tensor);
        if (found == writer.end() || found->second == i || found->second == last) continue;
        last = found->second;
        rank_.edges.push_back({.from = {trace::NodeTable::ops, found->second}, .to = {trace::NodeTable::ops, i}, .data = true});
        count("data_edge", Severity::info, node.name);
      }
      for (const TensorRef& tensor : node.writes) writer.insert_or_assign(tensor, i);
    }
  }

  std::uint32_t group_of(const kineto::CommFacts& facts) {
    if (facts.group.empty() && facts.size == 0) return trace::kNone;
    const auto [found, added] = groups_.try_emplace(facts.group, static_cast<std::uint32_t>(run_.groups.size()));
    if (added) {
      run_.groups.push_back({.name = run_.strings.intern(facts.group), .description = run_.strings.intern(facts.description), .ranks = {}, .size = facts.size});
      count("group_by_use", Severity::warning, facts.group);
    }
    return found->second;
  }

  void add_collectives() {
    std::map<std::uint32_t, std::uint32_t> sequences;
    for (std::uint32_t i = 0; i < document_.nodes.size(); ++i) {
      const Node& node = document_.nodes[i];
      if (!node.communication) continue;
      const kineto::CommFacts& facts = *node.communication;
      if (facts.name == "wait" || facts.name == "init" || facts.name.empty()) {
        count(facts.name.empty() ? "communication_without_name" : "not_used_" + facts.name, facts.name.empty() ? Severity::error : Severity::info, fmt::format("node {}", node.id));
        continue;
      }
      trace::Collective collective;
      collective.kind = kineto::comm_kind(facts.name);
      collective.name = run_.strings.intern(facts.name);
      collective.group = group_of(facts);
      collective.sequence = sequences[collective.group]++;
      collective.dtype = run_.strings.intern(facts.dtype);
      kineto::CommFacts sized = facts;
      if (sized.size == 0 && collective.group != trace::kNone) sized.size = run_.groups[collective.group].size;
      collective.bytes = kineto::payload(collective.kind, sized);
      collective.uneven = kineto::differs(facts.in_split) || kineto::differs(facts.out_split);
      collective.host_op = i;
      count(std::string("collectives.") + trace::name_of(collective.kind), Severity::info, facts.name);
      if (collective.bytes < 0) count("size_unknown", Severity::warning, fmt::format("node {} {}", node.id, facts.name));
      rank_.collectives.push_back(collective);
    }
  }

  const Document& document_;
  trace::ImportedRun& run_;
  trace::RankTrace& rank_;
  std::unordered_map<std::int64_t, std::uint32_t> index_, threads_;
  std::unordered_map<std::string, std::uint32_t> groups_;
  std::vector<bool> has_child_;
};

void add_rank(std::string_view json, const std::string& file, trace::ImportedRun& run) {
  const Document document = parse_document(json, file, run.report);
  run.report.add("import.pytorch_et.schema_" + document.schema.substr(0, 5), Severity::info, file);
  Builder(document, run).build();
}

Imported read(const std::vector<std::string>& paths, const Progress& progress) {
  trace::ImportedRun run;
  run.format = "pytorch_et";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    add_rank(read_whole(paths[i], "pytorch_et", run.report), paths[i], run);
    if (progress) progress(i + 1, paths.size());
  }
  return run;
}

}  // namespace

trace::ImportedRun parse(std::string_view json, const std::string& file) {
  trace::ImportedRun run;
  run.format = "pytorch_et";
  add_rank(json, file, run);
  return run;
}

Format format() {
  return {.name = "pytorch_et",
          .description = "PyTorch execution trace (ExecutionTraceObserver), schemas 1.0.1 to 1.1.1",
          .confidence = [](const FileHead& head) {
            const std::string_view start = std::string_view(head.bytes).substr(0, 400);
            const bool object = start.find_first_not_of(" \t\r\n") != std::string_view::npos && start[start.find_first_not_of(" \t\r\n")] == '{';
            return object && start.find("\"schema\"") != std::string_view::npos && start.find("\"traceEvents\"") == std::string_view::npos && start.find("\"pid\"") != std::string_view::npos ? 95 : 0;
          },
          .read = read};
}

}  // namespace sgsim::import::pytorch_et
