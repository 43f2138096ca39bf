#include "sim/import/own_timeline/own_timeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/byte_source.h"
#include "sim/import/kineto/communication.h"
#include "sim/import/kineto/lexer.h"
#include "sim/import/kineto/number.h"
#include "sim/import/whole_file.h"
#include "sim/trace/beside.h"

namespace sgsim::import::own_timeline {
namespace {

using kineto::Event;
using trace::Nanoseconds;

int confidence(const FileHead& head) {
  const std::size_t events = head.bytes.find("\"traceEvents\"");
  const std::size_t mark = head.bytes.find("\"program\":\"sgsim\"");
  return mark != std::string::npos && events != std::string::npos && mark < events ? 95 : 0;
}

bool is_phase(std::string_view word) { return word == "forward" || word == "backward" || word == "optimizer"; }

// Sorts by start and says where each old index went.
template <class T>
std::vector<std::uint32_t> sort_table(std::vector<T>& table) {
  std::vector<std::uint32_t> order(table.size()), place(table.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return table[a].start < table[b].start; });
  std::vector<T> sorted;
  sorted.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) place[order[i]] = i, sorted.push_back(table[order[i]]);
  table = std::move(sorted);
  return place;
}

class Reader {
 public:
  Reader(const std::string& path, trace::ImportedRun& run) : path_(path), run_(run) {}

  void take(const Event& e) {
    if (e.phase == "M") return describe(e);
    if (e.phase != "X") return count("set_aside.arrows_and_counters", Severity::info, e.name);
    if (e.category == "wait") return take_wait(e);
    if (e.category == "step") return take_step(e);
    if (e.category == "host") return count("set_aside.host_waits", Severity::info, e.name);
    if (e.category == "kernel" || e.category == "copy" || e.category == "memset") return take_kernel(e);
    if (e.category == "communication") return take_communication(e);
    if (is_phase(e.category)) return begin_run(e);
    count("dropped.category_unknown", Severity::error, std::string(e.category) + ", " + std::string(e.name));
  }

  void finish(const std::map<std::string, std::string, std::less<>>& header) {
    read_header(header);
    for (auto& [process, rank] : ranks_) {
      add_sizes(rank.read);
      const std::vector<std::uint32_t> op_place = sort_table(rank.read.ops), place = sort_table(rank.read.device_ops);
      for (trace::DeviceOp& op : rank.read.device_ops) op.op = op.op == trace::kNone ? trace::kNone : op_place[op.op];
      for (const Comm& comm : rank.comms) add_collective(rank, comm, place[comm.op]);
      std::sort(rank.read.collectives.begin(), rank.read.collectives.end(), [](const auto& a, const auto& b) { return a.device_op < b.device_op; });
      std::map<std::uint32_t, std::uint32_t> next;
      for (std::uint32_t c = 0; c < rank.read.collectives.size(); ++c) {
        rank.read.collectives[c].sequence = next[rank.read.collectives[c].group]++;
        rank.read.device_ops[rank.read.collectives[c].device_op].collective = c;
      }
      if (!rank.read.device_ops.empty()) run_.ranks.push_back(std::move(rank.read));
    }
    std::stable_sort(run_.ranks.begin(), run_.ranks.end(), [](const auto& a, const auto& b) { return static_cast<std::uint32_t>(a.rank) < static_cast<std::uint32_t>(b.rank); });
  }

 private:
  struct Comm {
    std::uint32_t op = 0;
    std::string operation, kind, group, peer;
    double bytes = -1.0;
    Nanoseconds waiting = 0;
    std::uint32_t group_size = 0;  // 0: not in the file
  };
  /// The run of kernels that is open on a thread: its kernels follow it in the file.
  struct Open {
    Nanoseconds end = 0;
    std::uint32_t op = trace::kNone;
  };
  struct Rank {
    trace::RankTrace read;
    std::map<std::int64_t, std::string> names;    // of the file's threads
    std::map<std::int64_t, std::uint32_t> streams, threads;
    std::map<std::uint32_t, Open> open;           // by thread
    std::map<std::uint32_t, Nanoseconds> waited;  // by thread: before its next communication
    std::vector<Comm> comms;
  };

  void count(std::string_view what, Severity severity, std::string_view example) { run_.report.add("import.own_timeline." + std::string(what), severity, example.substr(0, 120)); }

  [[noreturn]] void refuse(const Event& e, std::string expected) const {
    throw InputError({.file = path_, .where = std::string(e.name.substr(0, 80)), .found = "process " + std::string(e.pid) + ", thread " + std::string(e.tid) + ", ts " + std::string(e.time) + ", dur " + std::string(e.duration),
                      .expected = std::move(expected), .hint = "write it anew with sgsim simulate --trace"});
  }

  Rank& rank_of(const Event& e) {
    const auto process = kineto::integer(e.pid);
    if (!process) refuse(e, "a process number");
    Rank& rank = ranks_[*process];
    if (rank.read.file.empty()) rank.read.file = path_;
    return rank;
  }

  void describe(const Event& e) {
    Rank& rank = rank_of(e);
    const std::string name = kineto::unescape(e.arg("name"));
    if (e.name == "process_name" && name.starts_with("rank ")) {  // "rank 128 (stage 1), one of 32 alike"
      const auto number = kineto::integer(std::string_view(name).substr(5, std::min<std::size_t>(9, name.find(' ', 5) - 5)));
      rank.read.rank = static_cast<std::int32_t>(number.value_or(-1));
      rank.read.host = name;
    } else if (e.name == "thread_name") {
      rank.names[thread_id(e)] = name;
    }
  }

  std::int64_t thread_id(const Event& e) const {
    const auto id = kineto::integer(e.tid);
    if (!id) refuse(e, "a thread number");
    return *id;
  }

  std::uint32_t thread(const Event& e, Rank& rank) {
    const auto [found, is_new] = rank.threads.try_emplace(thread_id(e), static_cast<std::uint32_t>(rank.read.threads.size()));
    if (is_new) rank.read.threads.push_back({.process = run_.strings.intern(e.pid), .thread = run_.strings.intern(e.tid), .name = 0});
    return found->second;
  }

  /// Of a thread that the device's operations are on; one beside a stream is that stream.
  std::uint32_t stream(const Event& e, Rank& rank) {
    std::int64_t id = thread_id(e);
    if (const auto name = rank.names.find(id); name != rank.names.end() && name->second.ends_with(trace::kBeside)) {
      const std::string_view of = std::string_view(name->second).substr(0, name->second.size() - trace::kBeside.size());
      const auto beside = std::find_if(rank.names.begin(), rank.names.end(), [&](const auto& other) { return other.second == of; });
      if (beside != rank.names.end()) id = beside->first;
    }
    const auto [found, is_new] = rank.streams.try_emplace(id, static_cast<std::uint32_t>(rank.read.streams.size()));
    const auto name = rank.names.find(id);
    if (is_new) rank.read.streams.push_back({.device = 0, .stream = id, .name = name == rank.names.end() ? 0 : run_.strings.intern(name->second)});
    return found->second;
  }

  struct Time {
    Nanoseconds start = 0, duration = 0;
  };
  Time time(const Event& e) const {
    const auto start = kineto::nanoseconds(e.time), duration = kineto::nanoseconds(e.duration);
    constexpr Nanoseconds kMost = std::numeric_limits<Nanoseconds>::max() / 4;
    if (!start || !duration || *duration < 0 || *start > kMost || *start < -kMost || *duration > kMost) refuse(e, "times in microseconds");
    // A replayed kernel that overran the one before it is drawn after that one: slices of a thread do not overlap.
    const Nanoseconds ran = std::clamp<Nanoseconds>(kineto::integer(e.arg("duration_ns")).value_or(*duration), *duration, kMost);
    return {.start = *start + *duration - ran, .duration = ran};
  }

  trace::DeviceOp operation(const Event& e, Rank& rank) {
    const Time t = time(e);
    return {.start = t.start, .duration = t.duration, .name = run_.strings.intern(kineto::unescape(e.name)), .stream = stream(e, rank)};
  }

  static std::int64_t micro_batch(const Event& e) { return std::clamp<std::int64_t>(kineto::integer(e.arg("micro_batch")).value_or(-1), -1, 100'000'000); }

  /// An operator of the host for what the device does inside of it: replay/phases.h reads phase and micro-batch from its name and id.
  std::uint32_t add_run(Rank& rank, const trace::DeviceOp& op, std::uint32_t thread, std::string_view phase, std::int64_t of) {
    const std::string& name = run_.strings.at(op.name);
    const trace::Text text = name.starts_with(phase) ? op.name : run_.strings.intern(std::string(phase) + " " + name);
    rank.read.ops.push_back({.start = op.start, .duration = op.duration, .id = of, .name = text, .shapes = 0, .thread = thread, .kind = trace::HostKind::annotation});
    return static_cast<std::uint32_t>(rank.read.ops.size() - 1);
  }

  void begin_run(const Event& e) {
    Rank& rank = rank_of(e);
    trace::DeviceOp op = operation(e, rank);
    op.op = add_run(rank, op, thread(e, rank), e.category, micro_batch(e));
    rank.open[thread(e, rank)] = {.end = op.start + op.duration, .op = op.op};
    count("runs", Severity::info, e.name);
    if (kineto::integer(e.arg("kernels")).value_or(0) == 0) rank.read.device_ops.push_back(op);  // nothing inside: it stands for itself
  }

  void take_kernel(const Event& e) {
    Rank& rank = rank_of(e);
    trace::DeviceOp op = operation(e, rank);
    if (const auto open = rank.open.find(thread(e, rank)); open != rank.open.end() && op.start <= open->second.end) op.op = open->second.op;
    op.layer = run_.strings.intern(kineto::unescape(e.arg("layer")));
    op.bytes = kineto::number(e.arg("bytes")).value_or(0.0);
    op.flops = kineto::number(e.arg("flops")).value_or(0.0);
    op.kind = e.category == "copy" ? trace::DeviceKind::copy : e.category == "memset" ? trace::DeviceKind::set : trace::DeviceKind::kernel;
    rank.read.device_ops.push_back(op);
    count(op.kind == trace::DeviceKind::kernel ? "kernels" : op.kind == trace::DeviceKind::copy ? "copies" : "memsets", Severity::info, e.name);
  }

  void take_wait(const Event& e) {
    Rank& rank = rank_of(e);
    rank.waited[thread(e, rank)] += time(e).duration;
    count("waits", Severity::info, e.name);
  }

  void take_step(const Event& e) {
    Rank& rank = rank_of(e);
    const Time mark = time(e);
    const std::size_t number = e.name.rfind('#');
    rank.read.steps.push_back({.number = number == std::string_view::npos ? -1 : kineto::integer(e.name.substr(number + 1)).value_or(-1), .start = mark.start, .duration = mark.duration, .thread = thread(e, rank)});
    count("steps", Severity::info, e.name);
  }

  void take_communication(const Event& e) {
    Rank& rank = rank_of(e);
    trace::DeviceOp op = operation(e, rank);
    op.op = add_run(rank, op, thread(e, rank), "communication", micro_batch(e));
    rank.comms.push_back({.op = static_cast<std::uint32_t>(rank.read.device_ops.size()), .operation = std::string(e.arg("operation").empty() ? e.name : e.arg("operation")),
                          .kind = std::string(e.arg("group")), .group = std::string(e.arg("group_id")), .peer = std::string(e.arg("peer")), .bytes = kineto::number(e.arg("bytes")).value_or(-1.0),
                          .waiting = std::exchange(rank.waited[thread(e, rank)], 0), .group_size = static_cast<std::uint32_t>(std::clamp<std::int64_t>(kineto::integer(e.arg("group_size")).value_or(0), 0, 100'000'000))});
    rank.read.device_ops.push_back(op);
    if (e.arg("holds_waiting") == "1") count("communication_with_waiting", Severity::warning, "the replayed run had no other members to tell it from: " + std::string(e.name));
  }

  void read_header(const std::map<std::string, std::string, std::less<>>& header) {
    const auto other = header.find("otherData");
    const auto json = other == header.end() ? nlohmann::json() : nlohmann::json::parse(other->second, nullptr, false);
    if (!json.is_object()) return count("repaired.header_unreadable", Severity::warning, path_);
    const auto sizes = json.find("sizes");
    if (sizes == json.end() && json.contains("origin")) return;  // a replay of a run whose file named no sizes
    if (sizes == json.end() || !sizes->is_string()) return count("sizes_unknown", Severity::warning, "written before timelines named them");
    const std::string text = sizes->get<std::string>();
    std::uint32_t world = 1;
    for (const char* word : {"dp ", "tp ", "pp ", "cp "}) {
      const std::size_t at = text.find(word);
      const auto value = at == std::string::npos ? std::nullopt : kineto::integer(std::string_view(text).substr(at + 3, text.find(' ', at + 3) - at - 3));
      if (!value || *value < 1 || *value > 1'000'000) return count("repaired.header_unreadable", Severity::warning, text);
      sizes_[std::string(word, 2)] = static_cast<std::uint32_t>(*value);
      world = static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{world} * static_cast<std::uint64_t>(*value), 100'000'000));
    }
    for (auto& [process, rank] : ranks_) rank.read.world_size = world;
    text_ = text;
  }

  void add_sizes(trace::RankTrace& rank) {
    if (text_.empty() || rank.device_ops.empty()) return;
    rank.ops.push_back({.start = rank.device_ops.front().start, .duration = 0, .id = -1, .name = run_.strings.intern("sizes: " + text_), .shapes = 0, .thread = 0, .kind = trace::HostKind::annotation});
  }

  void add_collective(Rank& rank, const Comm& comm, std::uint32_t op) {
    trace::DeviceOp& device = rank.read.device_ops[op];
    trace::Collective c{.kind = kineto::comm_kind(comm.operation), .name = device.name, .bytes = comm.bytes, .dtype = 0, .device_op = op, .host_op = device.op, .waiting = comm.waiting};
    c.peer = static_cast<std::int32_t>(std::clamp<std::int64_t>(kineto::integer(comm.peer).value_or(-1), -1, 100'000'000));
    if (comm.kind.empty()) {
      count("group_unknown", Severity::warning, run_.strings.at(device.name));
    } else {
      const bool pair = comm.kind.starts_with("pp");
      const auto size = sizes_.find(comm.kind);
      const trace::Text name = run_.strings.intern(comm.kind + " " + comm.group);
      const auto [found, is_new] = groups_.try_emplace(name, static_cast<std::uint32_t>(run_.groups.size()));
      if (is_new) run_.groups.push_back({.name = name, .description = run_.strings.intern(comm.kind), .ranks = {}, .size = comm.group_size > 0 ? comm.group_size : pair ? 2U : size == sizes_.end() ? 0U : size->second});
      c.group = found->second;
    }
    count(std::string("collectives.") + trace::name_of(c.kind), Severity::info, run_.strings.at(device.name));
    rank.read.collectives.push_back(c);
  }

  const std::string& path_;
  trace::ImportedRun& run_;
  std::map<std::int64_t, Rank> ranks_;  // by process
  std::map<std::string, std::uint32_t> sizes_;
  std::string text_;                    // of the header: "dp 2 tp 8 ..."
  std::map<trace::Text, std::uint32_t> groups_;
};

}  // namespace

trace::ImportedRun read(const std::string& path, const Progress& progress) {
  trace::ImportedRun run;
  run.format = "own_timeline";
  ByteSource source(path);
  kineto::EventLexer lexer(source);
  Reader reader(path, run);
  Event event;
  std::uint64_t events = 0;
  while (lexer.next(event)) {
    reader.take(event);
    if (++events % (1 << 16) == 0 && progress) progress(source.file_done(), source.file_bytes());
  }
  reader.finish(lexer.header());
  const kineto::Forgiven& f = lexer.forgiven();
  for (trace::RankTrace& rank : run.ranks) rank.ends_early = f.unterminated || !source.damage().empty();
  if (f.malformed_events > 0) run.report.add("import.own_timeline.dropped.malformed_events", Severity::error, f.malformed_example, f.malformed_events);
  if (f.unterminated || !source.damage().empty()) run.report.add("import.own_timeline.repaired.file_ends_early", Severity::warning, path);
  tell_packing(source, path, "own_timeline", run.report);
  if (run.ranks.empty()) throw InputError({.file = path, .where = "", .found = "no kernel and no communication", .expected = "a timeline of sgsim simulate --trace", .hint = ""});
  return run;
}

Format format() {
  return {.name = "own_timeline", .description = "Timeline of sgsim simulate --trace", .confidence = confidence,
          .read = [](const std::vector<std::string>& paths, const Progress& progress) -> Imported { return read(paths.front(), progress); }, .one_by_one = true};
}

}  // namespace sgsim::import::own_timeline
