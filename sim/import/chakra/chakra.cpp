#include "sim/import/chakra/chakra.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/order.h"
#include "sim/core/protobuf_wire.h"
#include "sim/import/chakra/document.h"
#include "sim/import/chakra/file_names.h"
#include "sim/import/chakra/groups.h"
#include "sim/import/chakra/own_attributes.h"
#include "sim/import/kineto/communication.h"
#include "sim/import/whole_file.h"
#include "sim/trace/all_ranks.h"

namespace sgsim::import::chakra {
namespace {

constexpr std::uint64_t kLongestMicros = std::uint64_t{1} << 52;

class Builder {
 public:
  Builder(const Document& document, trace::ImportedRun& run, Groups& groups) : document_(document), run_(run), groups_(groups), rank_(run.ranks.emplace_back()) {
    rank_.file = document.file;
    read_header(document.attributes, rank_);
    if (rank_.rank >= 0) return;
    rank_.rank = rank_of_name(document.file);
    if (rank_.rank >= 0) count("rank_from_name", Severity::warning, fmt::format("{} is rank {}", document.file, rank_.rank));
  }

  void build() {
    index_nodes();
    check_cycles();
    for (const std::uint32_t i : order_) add_node(document_.nodes[i], i);
    add_edges();
    link(rank_);
    add_sequences();
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { run_.report.add(fmt::format("import.chakra.{}", what), severity, example); }

  void index_nodes() {
    for (std::uint32_t i = 0; i < document_.nodes.size(); ++i) {
      if (document_.nodes[i].start_us > kLongestMicros && !document_.nodes[i].integer("start_ns")) count("overflowing_start", Severity::warning, fmt::format("node {}: at {} us, taken as without a start", document_.nodes[i].id, document_.nodes[i].start_us));
      if (!index_.emplace(document_.nodes[i].id, i).second) count("repeated_id", Severity::error, fmt::format("a second node {}; dependencies go to the first", document_.nodes[i].id));
    }
    timed_ = std::any_of(document_.nodes.begin(), document_.nodes.end(), [](const Node& node) { return node.start_us > 0 || node.integer("start_ns"); });
    if (!timed_) count("no_start_times", Severity::warning, document_.file);
  }

  void check_cycles() {
    Pairs pairs;
    for (std::uint32_t i = 0; i < document_.nodes.size(); ++i) {
      for (const auto* list : {&document_.nodes[i].control, &document_.nodes[i].data}) {
        for (const std::uint64_t id : *list) {
          const auto found = index_.find(id);
          if (found != index_.end() && found->second != i) pairs.emplace_back(found->second, i);
          if (found == index_.end()) count("dependency_absent", Severity::error, fmt::format("node {} depends on {}, which is not in the file", document_.nodes[i].id, id));
          if (found != index_.end() && found->second == i) count("dependency_on_itself", Severity::error, fmt::format("node {}", id));
        }
      }
    }
    Order order = order_of(static_cast<std::uint32_t>(document_.nodes.size()), pairs);
    if (!order.cycle.empty()) {
      std::vector<std::string> names;
      for (const std::uint32_t i : order.cycle) names.push_back(fmt::format("{} \"{}\"", document_.nodes[i].id, document_.nodes[i].name));
      throw InputError({.file = document_.file, .where = "", .found = fmt::format("a cycle of {} nodes: {}", names.size(), cycle_text(names)), .expected = "dependencies without cycles", .hint = "take one of these dependencies out"});
    }
    order_ = std::move(order.order);
    if (!timed_) return;
    std::vector<trace::Nanoseconds> starts;
    for (const Node& node : document_.nodes) starts.push_back(start_of(node));
    std::stable_sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) { return starts[a] < starts[b]; });
  }

  trace::Nanoseconds start_of(const Node& node) {
    if (const auto exact = node.integer("start_ns"); exact && *exact > trace::kNoTime) return *exact;
    if (!timed_ || node.start_us > kLongestMicros) return trace::kNoTime;
    return static_cast<trace::Nanoseconds>(node.start_us * 1000);
  }
  /// Whole microseconds; our own files carry the exact time beside it.
  trace::Nanoseconds duration_of(const Node& node) {
    if (const auto exact = node.integer("duration_ns"); exact && *exact >= 0) return *exact;
    if (node.duration_us <= kLongestMicros) return static_cast<trace::Nanoseconds>(node.duration_us * 1000);
    count("overflowing_duration", Severity::warning, fmt::format("node {}: {} us taken as 0", node.id, node.duration_us));
    return 0;
  }

  static bool communicates(const Node& node) { return node.type == NodeType::collective || node.type == NodeType::send || node.type == NodeType::receive; }

  void add_node(const Node& node, std::uint32_t i) {
    place_.resize(document_.nodes.size());
    if (node.type == NodeType::metadata || node.type == NodeType::invalid) {
      count(node.type == NodeType::metadata ? "metadata_node" : "unknown_type", node.type == NodeType::metadata ? Severity::info : Severity::error, node.name);
      return;
    }
    // Files made by hand for a simulator have no such attribute: their nodes are the device's.
    if (is_call(node)) {
      add_call(node, i);
    } else if (node.flag("is_cpu_op").value_or(false)) {
      add_host_op(node, i);
    } else {
      add_device_op(node, i);
    }
  }

  void add_call(const Node& node, std::uint32_t i) {
    trace::HostCall call = call_of(node);
    call.start = start_of(node);
    call.duration = duration_of(node);
    call.name = run_.strings.intern(node.name);
    call.thread = thread(node.integer("tid").value_or(0));
    if (node.integer("stream")) call.stream = stream(node);
    place_[i] = {trace::NodeTable::calls, static_cast<std::uint32_t>(rank_.calls.size())};
    rank_.calls.push_back(call);
    count("call", Severity::info, node.name);
  }

  void add_host_op(const Node& node, std::uint32_t i) {
    trace::HostOp op;
    op.start = start_of(node);
    op.duration = duration_of(node);
    op.id = static_cast<std::int64_t>(node.id);
    op.name = run_.strings.intern(node.name);
    op.shapes = run_.strings.intern(node.shapes);
    op.thread = thread(node.integer("tid").value_or(0));
    op.kind = kind_of(node);
    if (const auto number = step_of(node)) {
      rank_.steps.push_back({.number = *number, .start = op.start, .duration = op.duration, .thread = op.thread});
      count("step", Severity::info, node.name);
    }
    place_[i] = {trace::NodeTable::ops, static_cast<std::uint32_t>(rank_.ops.size())};
    rank_.ops.push_back(op);
    count(communicates(node) ? "host_communication" : "host_op", Severity::info, node.name);
  }

  void add_device_op(const Node& node, std::uint32_t i) {
    trace::DeviceOp op;
    op.start = start_of(node);
    op.duration = duration_of(node);
    op.correlation = static_cast<std::int64_t>(node.id);
    op.name = run_.strings.intern(node.name);
    const bool memory = node.type == NodeType::memory_load || node.type == NodeType::memory_store;
    const bool set = is_set(node);
    op.kind = set ? trace::DeviceKind::set : memory ? trace::DeviceKind::copy : trace::DeviceKind::kernel;
    op.bytes = memory || set ? static_cast<double>(std::max<std::int64_t>(0, node.integer("tensor_size").value_or(0))) : 0.0;
    op.stream = stream(node);
    op.layer = run_.strings.intern(node.text("layer"));
    read_own(node, op);
    place_[i] = {trace::NodeTable::device_ops, static_cast<std::uint32_t>(rank_.device_ops.size())};
    if (communicates(node) || comm_kind_of(node)) {
      op.collective = static_cast<std::uint32_t>(rank_.collectives.size());
      add_collective(node, place_[i]->index);
    } else {
      count(set ? "memset" : memory ? "memory" : "compute", Severity::info, node.name);
    }
    rank_.device_ops.push_back(op);
  }

  void add_collective(const Node& node, std::uint32_t device_op) {
    trace::Collective collective;
    const auto type = node.integer("comm_type");
    collective.kind = comm_kind_of(node) ? *comm_kind_of(node) : node.type == NodeType::send ? trace::CommKind::send : node.type == NodeType::receive ? trace::CommKind::receive : type ? kind_of_type(*type) : kineto::comm_kind(node.name);
    if (node.type == NodeType::collective && !type) count("kind_from_name", Severity::warning, node.name);
    collective.name = run_.strings.intern(node.text("collective").empty() ? node.name : node.text("collective"));
    collective.dtype = run_.strings.intern(node.text("dtype"));
    collective.uneven = node.flag("uneven").value_or(false);
    const auto size = node.flag("size_unknown").value_or(false) ? std::nullopt : node.integer("comm_size");
    collective.bytes = size && *size >= 0 ? static_cast<double>(*size) : -1.0;
    if (const auto gathered = node.integer("gathered_size"); gathered && collective.bytes >= 0 && *gathered >= 0) collective.bytes = static_cast<double>(*gathered);
    else if (collective.kind == trace::CommKind::all_gather && collective.bytes >= 0) groups_.add_part(static_cast<std::uint32_t>(run_.ranks.size() - 1), static_cast<std::uint32_t>(rank_.collectives.size()));
    if (collective.bytes < 0) count("size_absent", Severity::warning, node.name);
    if (collective.bytes == 0) count("zero_size", Severity::warning, node.name);
    const auto own_peer = node.integer("peer");
    const auto peer = own_peer ? own_peer : node.integer(node.type == NodeType::send ? "comm_dst" : "comm_src");
    if (peer && node.type != NodeType::collective) collective.peer = static_cast<std::int32_t>(std::clamp<std::int64_t>(*peer, -1, 1 << 30));
    collective.group = groups_.of(node, run_);
    collective.device_op = device_op;
    count(std::string("collectives.") + trace::name_of(collective.kind), Severity::info, node.name);
    rank_.collectives.push_back(collective);
  }

  std::uint32_t thread(std::int64_t tid) {
    const auto [found, added] = threads_.try_emplace(tid, static_cast<std::uint32_t>(rank_.threads.size()));
    if (added) rank_.threads.push_back({.process = 0, .thread = run_.strings.intern(std::to_string(tid)), .name = 0});
    return found->second;
  }

  /// GPU operators of linked traces carry their stream as "stream" or "tid"; without, communication has a stream of its own.
  std::uint32_t stream(const Node& node) {
    const std::int64_t id = node.integer("stream").value_or(node.integer("tid").value_or(communicates(node) ? 1 : 0));
    const auto device = static_cast<std::uint32_t>(std::clamp<std::int64_t>(node.integer("device").value_or(0), 0, 1 << 20));
    const auto [found, added] = streams_.try_emplace(std::pair(device, id), static_cast<std::uint32_t>(rank_.streams.size()));
    if (added) rank_.streams.push_back({.device = device, .stream = id, .name = 0});
    return found->second;
  }

  void add_edges() {
    for (std::uint32_t i = 0; i < document_.nodes.size(); ++i) {
      for (const bool data : {false, true}) {
        for (const std::uint64_t id : data ? document_.nodes[i].data : document_.nodes[i].control) {
          const auto found = index_.find(id);
          if (found == index_.end() || found->second == i || !place_[i] || !place_[found->second]) continue;
          rank_.edges.push_back({.from = *place_[found->second], .to = *place_[i], .data = data});
          count(data ? "data_edge" : "control_edge", Severity::info, document_.nodes[i].name);
        }
      }
    }
  }

  void add_sequences() {
    std::map<std::uint32_t, std::uint32_t> next;
    for (trace::Collective& collective : rank_.collectives) collective.sequence = next[collective.group]++;
  }

  const Document& document_;
  trace::ImportedRun& run_;
  Groups& groups_;
  trace::RankTrace& rank_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
  std::unordered_map<std::int64_t, std::uint32_t> threads_;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> streams_;
  std::vector<std::uint32_t> order_;
  std::vector<std::optional<trace::Node>> place_;
  bool timed_ = false;
};

bool is_json(std::string_view bytes) {
  const std::size_t begin = bytes.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (bytes[begin] == '{' || bytes[begin] == '[') && bytes.find('"') != std::string_view::npos;
}

void add_rank(std::string_view bytes, const std::string& file, trace::ImportedRun& run, Groups& groups) {
  const Document document = is_json(bytes) && !bytes.empty() ? parse_json_form(bytes, file, run.report) : parse_protobuf(bytes, file, run.report);
  Builder(document, run, groups).build();
}

/// Files of ASTRA-sim say the world's size in their operations' names only ("all_gather_8npus_1MB"): the number before "npus" in the name, or 0.
std::uint32_t world_in(std::string_view name) {
  const std::size_t end = name.find("npus");
  if (end == std::string_view::npos) return 0;
  std::size_t begin = end;
  while (begin > 0 && end - begin < 7 && name[begin - 1] >= '0' && name[begin - 1] <= '9') --begin;
  std::uint32_t size = 0;
  for (const char digit : name.substr(begin, end - begin)) size = size * 10 + static_cast<std::uint32_t>(digit - '0');
  return size;
}

/// Of communication over all ranks.
void find_world(trace::ImportedRun& run) {
  for (trace::RankTrace& rank : run.ranks) {
    if (rank.world_size > 0) continue;
    for (const trace::Collective& c : rank.collectives) {
      const std::uint32_t size = run.strings.at(run.groups[c.group].name).empty() ? world_in(run.strings.at(rank.device_ops[c.device_op].name)) : 0;
      if (size <= rank.world_size || static_cast<std::int64_t>(size) <= rank.rank) continue;
      rank.world_size = size;
      run.report.add("import.chakra.world_size_from_name", Severity::warning, fmt::format("{}: {} ranks", run.strings.at(rank.device_ops[c.device_op].name), size));
    }
  }
}

void count_missing(trace::ImportedRun& run) {
  const std::uint32_t told = trace::ranks_told(run);
  const std::vector<std::uint32_t> missing = trace::ranks_missing(run, told);
  if (!missing.empty()) run.report.add("import.chakra.ranks_missing", Severity::warning, fmt::format("{} of {}", trace::ranks_text(missing), told), missing.size());
}

trace::ImportedRun read_run(const std::vector<std::string>& traces, const std::vector<std::string>& lists, const Progress& progress) {
  trace::ImportedRun run;
  run.format = "chakra";
  Groups groups;
  for (const std::string& list : lists) groups.read(read_whole(list, "chakra", run.report), list, run.report);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    add_rank(read_whole(traces[i], "chakra", run.report), traces[i], run, groups);
    if (progress) progress(i + 1, traces.size());
  }
  find_world(run);
  groups.finish(run);
  count_missing(run);
  std::stable_sort(run.ranks.begin(), run.ranks.end(), [](const trace::RankTrace& a, const trace::RankTrace& b) { return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank); });
  return run;
}

bool holds_groups(const std::string& path) { return begins_as_groups(read_head(path).bytes); }

std::vector<Imported> read_apart(const std::vector<std::string>& paths, const Progress& progress) {
  std::vector<std::string> traces, lists;
  for (const std::string& path : paths) (holds_groups(path) ? lists : traces).push_back(path);
  if (traces.empty()) throw InputError({.file = paths.front(), .where = "", .found = "communicators only", .expected = "Chakra traces of a run beside them", .hint = "import the folder"});
  std::vector<Imported> runs;
  const std::vector<std::vector<std::string>> apart = runs_by_prefix(traces);
  for (const std::vector<std::string>& files : apart) {
    std::vector<std::string> beside;  // lists of the folder
    const auto folder = [](const std::string& path) { return path.substr(0, path.find_last_of('/') + 1); };
    std::copy_if(lists.begin(), lists.end(), std::back_inserter(beside), [&](const std::string& list) { return folder(list) == folder(files.front()); });
    trace::ImportedRun run = read_run(files, beside, progress);
    if (!runs.empty()) run.report.add("import.chakra.other_run", Severity::warning, files.front() + " and " + apart.front().front() + ": ranks are there twice, and the files' names begin differently");
    runs.emplace_back(std::move(run));
  }
  return runs;
}

Imported read(const std::vector<std::string>& paths, const Progress& progress) { return read_apart(paths, progress).front(); }

/// The first message of a stream: its length, then fields that GlobalMetadata or a node have.
int confidence(const FileHead& head) {
  std::string_view bytes = head.bytes;
  if (is_json(bytes)) {
    if (begins_as_groups(bytes)) return 50;
    const std::string_view start = bytes.substr(0, 4000);
    const bool nodes = start.find("\"workload_graph\"") != std::string_view::npos || start.find("\"ctrlDeps\"") != std::string_view::npos || start.find("_NODE\"") != std::string_view::npos || start.find("\"durationMicros\"") != std::string_view::npos;
    return nodes && start.find("\"traceEvents\"") == std::string_view::npos ? 90 : 0;
  }
  std::uint64_t length = 0;
  if (!protobuf::take_varint(bytes, length) || length < 2 || (head.whole && length > bytes.size())) return 0;
  const bool cut = length > bytes.size();
  protobuf::Message message(bytes.substr(0, length));
  int fields = 0;
  while (const auto field = message.next()) {
    if (field->number > 10) return 0;
    ++fields;
  }
  if (message.damaged() && !cut) return 0;
  return fields > 0 ? 60 : 0;
}

}  // namespace

trace::CommKind kind_of_type(std::int64_t comm_type) {
  using trace::CommKind;
  switch (comm_type) {
    case 0: return CommKind::all_reduce;
    case 1: return CommKind::reduce;
    case 2: return CommKind::all_gather;
    case 5: return CommKind::broadcast;
    case 6: return CommKind::all_to_all;
    case 7: case 8: return CommKind::reduce_scatter;
    case 9: return CommKind::barrier;
    default: return CommKind::other;  // gather, scatter
  }
}

trace::ImportedRun parse(std::string_view bytes, const std::string& file) {
  trace::ImportedRun run;
  run.format = "chakra";
  Groups groups;
  add_rank(bytes, file, run, groups);
  find_world(run);
  groups.finish(run);
  count_missing(run);
  return run;
}

Format format() { return {.name = "chakra", .description = "Chakra execution trace (protobuf or JSON), a rank a file", .confidence = confidence, .read = read, .read_apart = read_apart}; }

}  // namespace sgsim::import::chakra
