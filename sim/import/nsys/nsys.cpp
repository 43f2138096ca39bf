#include "sim/import/nsys/nsys.h"

#include <charconv>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/kineto/categories.h"
#include "sim/import/kineto/rank_builder.h"
#include "sim/import/nsys/database.h"
#include "sim/trace/steps.h"

namespace sgsim::import::nsys {
namespace {

constexpr std::int64_t kThreadBits = 0xffffff;  // a global thread id is its process's id with the thread in the low 24 bits

using Key = std::pair<std::int64_t, std::int64_t>;  // process, device

struct Rank {
  trace::RankTrace trace;
  std::map<std::int64_t, std::uint32_t> threads, streams;
};

/// The number after `mark` in an emit_nvtx text.
std::int64_t number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  std::int64_t value = -1;
  if (at != std::string_view::npos) (void)std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), value);
  return value;
}

class Reader {
 public:
  Reader(const std::string& path, const Database& database, trace::ImportedRun& run) : path_(path), database_(database), run_(run) {}

  void read() {
    if (!database_.has_table("StringIds") || (!database_.has_table("CUPTI_ACTIVITY_KIND_KERNEL") && !database_.has_table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"))) {
      throw InputError({.file = path_, .where = "", .found = "no tables StringIds and CUPTI_ACTIVITY_KIND_KERNEL", .expected = "a SQLite export of Nsight Systems with CUDA trace", .hint = "profile with nsys profile --trace=cuda,nvtx"});
    }
    database_.each("StringIds", {"id", "value"}, [&](const Row& row) { strings_.emplace(row.integer(0), run_.strings.intern(row.text(1))); });
    read_gpus();
    read_device_work();
    read_records();
    read_synchronizations();
    read_calls();
    read_ranges();
    count_unused();
    finish();
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example, std::uint64_t times = 1) {
    if (times > 0) run_.report.add(fmt::format("import.nsys.{}", what), severity, example, times);
  }

  void read_gpus() {
    database_.each("TARGET_INFO_GPU", {"id", "name"}, [&](const Row& row) { gpus_.emplace(row.integer(0), row.text(1)); });
  }

  Rank& rank(std::int64_t process, std::int64_t device) {
    Rank& rank = ranks_[{process, device}];
    if (rank.trace.file.empty()) {
      rank.trace.file = path_;
      if (const auto gpu = gpus_.find(device); gpu != gpus_.end()) rank.trace.gpu = gpu->second;
    }
    return rank;
  }

  std::uint32_t stream(Rank& rank, std::int64_t device, std::int64_t id) {
    const auto [found, added] = rank.streams.try_emplace(id, static_cast<std::uint32_t>(rank.trace.streams.size()));
    if (added) rank.trace.streams.push_back({.device = static_cast<std::uint32_t>(std::clamp<std::int64_t>(device, 0, 1 << 20)), .stream = id, .name = 0});
    return found->second;
  }

  std::uint32_t thread(Rank& rank, std::int64_t global) {
    const auto [found, added] = rank.threads.try_emplace(global, static_cast<std::uint32_t>(rank.trace.threads.size()));
    if (added) rank.trace.threads.push_back({.process = run_.strings.intern(std::to_string((global >> 24) & kThreadBits)), .thread = run_.strings.intern(std::to_string(global & kThreadBits)), .name = 0});
    return found->second;
  }

  trace::Text text_of(std::int64_t id) {
    const auto found = strings_.find(id);
    if (found != strings_.end()) return found->second;
    count("name_absent", Severity::warning, fmt::format("string {}", id));
    return run_.strings.intern(fmt::format("string {}", id));
  }

  /// False: dropped, counted.
  bool times(const Row& row, trace::Nanoseconds& start, trace::Nanoseconds& duration, const char* what) {
    start = row.integer(0);
    if (row.is_null(0) || row.is_null(1) || row.integer(1) < start) {
      count("time_broken", Severity::error, fmt::format("{} from {} to {}", what, row.integer(0), row.integer(1)));
      return false;
    }
    duration = row.integer(1) - start;
    return true;
  }

  trace::DeviceOp* add_device_op(const Row& row, trace::DeviceKind kind, const char* what) {
    trace::DeviceOp op;
    if (!times(row, op.start, op.duration, what)) return nullptr;
    const std::int64_t device = row.integer(2), process = row.integer(5);
    Rank& owner = rank(process, device);
    op.kind = kind;
    op.stream = stream(owner, device, row.integer(3));
    op.correlation = row.is_null(4) ? -1 : row.integer(4);
    owner.trace.device_ops.push_back(op);
    return &owner.trace.device_ops.back();
  }

  void read_device_work() {
    database_.each("CUPTI_ACTIVITY_KIND_KERNEL", {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName", "gridX", "gridY", "gridZ", "graphNodeId"}, [&](const Row& row) {
      trace::DeviceOp* op = add_device_op(row, trace::DeviceKind::kernel, "kernel");
      if (op == nullptr) return;
      op->name = text_of(row.is_null(6) ? row.integer(7) : row.integer(6));
      op->blocks = static_cast<std::uint32_t>(std::clamp<std::int64_t>(row.integer(8), 0, 1 << 20) * std::clamp<std::int64_t>(row.integer(9), 0, 1 << 16) % (std::int64_t{1} << 32));
      op->graph_node = row.integer(11);
      count("kernel", Severity::info, run_.strings.at(op->name));
    });
    database_.each("CUPTI_ACTIVITY_KIND_MEMCPY", {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind", "graphNodeId"}, [&](const Row& row) {
      trace::DeviceOp* op = add_device_op(row, trace::DeviceKind::copy, "copy");
      if (op == nullptr) return;
      static const std::map<std::int64_t, const char*> kKinds = {{1, "Memcpy HtoD"}, {2, "Memcpy DtoH"}, {8, "Memcpy DtoD"}, {9, "Memcpy HtoH"}, {10, "Memcpy PtoP"}};
      const auto kind = kKinds.find(row.integer(7));
      op->name = run_.strings.intern(kind == kKinds.end() ? "Memcpy" : kind->second);
      op->bytes = static_cast<double>(row.integer(6));
      op->graph_node = row.integer(8);
      count("copy", Severity::info, run_.strings.at(op->name));
    });
    database_.each("CUPTI_ACTIVITY_KIND_MEMSET", {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "graphNodeId"}, [&](const Row& row) {
      trace::DeviceOp* op = add_device_op(row, trace::DeviceKind::set, "set");
      if (op == nullptr) return;
      op->name = run_.strings.intern("Memset");
      op->bytes = static_cast<double>(row.integer(6));
      op->graph_node = row.integer(7);
      count("set", Severity::info, "Memset");
    });
    database_.each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId"}, [&](const Row& row) {
      trace::DeviceOp* op = add_device_op(row, trace::DeviceKind::kernel, "graph");
      if (op == nullptr) return;
      op->name = run_.strings.intern(fmt::format("CUDA graph {}", row.integer(6)));
      count("whole_graph", Severity::warning, run_.strings.at(op->name));
    });
  }

  /// Event records by the pair that waits refer to.
  void read_records() {
    database_.each("CUPTI_ACTIVITY_KIND_CUDA_EVENT", {"correlationId", "globalPid", "eventId", "eventSyncId", "deviceId", "streamId"}, [&](const Row& row) {
      records_.emplace(Key{row.integer(1), row.integer(0)}, Sync{.event = row.integer(2), .device = row.integer(4), .stream = row.integer(5), .record = -1});
      record_of_.insert_or_assign(std::tuple{row.integer(1), row.integer(2), row.integer(3)}, row.integer(0));
      count("event_record", Severity::info, fmt::format("event {}", row.integer(2)));
    });
  }

  void read_synchronizations() {
    database_.each("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {"correlationId", "globalPid", "eventId", "eventSyncId", "deviceId", "streamId", "syncType"}, [&](const Row& row) {
      const auto record = record_of_.find({row.integer(1), row.integer(2), row.integer(3)});
      const bool event = row.integer(6) == 1 || row.integer(6) == 2;
      records_.emplace(Key{row.integer(1), row.integer(0)}, Sync{.event = event ? row.integer(2) : -1, .device = row.integer(4), .stream = row.integer(5), .record = event && record != record_of_.end() ? record->second : -1});
      count("synchronization", Severity::info, fmt::format("type {}", row.integer(6)));
      if (event && record == record_of_.end()) count("record_absent", Severity::warning, fmt::format("event {} is waited for; its record is not in the file", row.integer(2)));
    });
  }

  /// Calls belong to a process; where it drives several devices, to each of them whose work it launched.
  void read_calls() {
    std::map<std::int64_t, std::vector<Rank*>> by_process;
    for (auto& [key, owner] : ranks_) by_process[key.first].push_back(&owner);
    for (auto& [process, owners] : by_process) {
      if (owners.size() > 1) count("process_with_devices", Severity::warning, fmt::format("process {} drives {} devices; its calls stand in each rank", process, owners.size()));
    }
    const bool one_process = by_process.size() == 1;
    for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
      database_.each(table, {"start", "end", "globalTid", "correlationId", "nameId"}, [&](const Row& row) {
        trace::HostCall call;
        if (!times(row, call.start, call.duration, "call")) return;
        const std::int64_t process = row.integer(2) & ~kThreadBits;
        call.correlation = row.is_null(3) ? -1 : row.integer(3);
        call.name = text_of(row.integer(4));
        call.kind = kineto::call_kind(run_.strings.at(call.name));
        count("call", Severity::info, run_.strings.at(call.name));
        const auto found = by_process.find(one_process ? by_process.begin()->first : process);
        if (found == by_process.end()) {
          count("call_of_other_process", Severity::error, run_.strings.at(call.name));
          return;
        }
        for (Rank* owner : found->second) add_call(*owner, call, row.integer(2), found->first);
      });
    }
  }

  void add_call(Rank& owner, trace::HostCall call, std::int64_t global_thread, std::int64_t process) {
    call.thread = thread(owner, global_thread);
    if (const auto sync = records_.find({process, call.correlation}); sync != records_.end() && call.correlation >= 0) {
      call.event = sync->second.event;
      call.record_correlation = sync->second.record;
      if (sync->second.stream >= 0 && sync->second.stream < (std::int64_t{1} << 31)) call.stream = stream(owner, sync->second.device, sync->second.stream);
    }
    owner.trace.calls.push_back(call);
  }

  void read_ranges() {
    database_.each("NVTX_EVENTS", {"start", "end", "globalTid", "text", "textId", "eventType"}, [&](const Row& row) {
      const std::int64_t type = row.integer(5);
      if (row.is_null(1) || (type != 59 && type != 60 && type != 70 && type != 71)) {
        count(type == 34 || type == 75 ? "mark" : "range_not_used", Severity::info, fmt::format("NVTX event of type {}", type));
        return;
      }
      trace::HostOp op;
      if (!times(row, op.start, op.duration, "range")) return;
      const std::string name = row.is_null(3) ? std::string(run_.strings.at(row.is_null(4) ? 0 : text_of(row.integer(4)))) : std::string(row.text(3));
      add_range(op, name, row.integer(2));
    });
  }

  void add_range(trace::HostOp op, const std::string& text, std::int64_t global_thread) {
    op.id = number_after(text, "op_id = ");
    std::size_t end = std::min({text.find(", op_id = "), text.find(", seq = "), text.size()});
    const std::string name = text.substr(0, end);
    op.kind = op.id >= 0 ? trace::HostKind::op : trace::HostKind::annotation;
    if (const std::size_t sizes = text.find(", sizes = "); sizes != std::string::npos) op.shapes = run_.strings.intern(text.substr(sizes + 10));
    op.name = run_.strings.intern(name);
    count(op.kind == trace::HostKind::op ? "op" : "annotation", Severity::info, name);
    for (auto& [key, owner] : ranks_) {
      if (ranks_.size() > 1 && key.first != (global_thread & ~kThreadBits)) continue;
      op.thread = thread(owner, global_thread);
      owner.trace.ops.push_back(op);
      if (name.starts_with(trace::kStepMark)) owner.trace.steps.push_back({.number = number_after(name, "#"), .start = op.start, .duration = op.duration, .thread = op.thread});
    }
  }

  void count_unused() {
    for (const char* table : {"OSRT_API", "GPU_METRICS", "COMPOSITE_EVENTS", "SCHED_EVENTS", "CUDA_UM_CPU_PAGE_FAULT_EVENTS"}) {
      count(std::string("not_used.") + table, Severity::info, table, static_cast<std::uint64_t>(database_.rows(table)));
    }
  }

  void finish() {
    if (ranks_.empty()) throw InputError({.file = path_, .where = "", .found = "no kernel, copy or graph in the export", .expected = "device work", .hint = "profile with nsys profile --trace=cuda,nvtx"});
    std::vector<std::pair<Key, Rank*>> order;
    for (auto& [key, owner] : ranks_) order.emplace_back(Key{key.second, key.first}, &owner);
    std::sort(order.begin(), order.end());
    kineto::Tally tally;
    for (auto& [key, owner] : order) {
      owner->trace.rank = static_cast<std::int32_t>(run_.ranks.size());
      count("rank_guessed", Severity::warning, fmt::format("device {} of process {} is rank {}", key.first, key.second, owner->trace.rank));
      kineto::LinkInput input;
      input.call_ids.assign(owner->trace.calls.size(), -1);
      kineto::link_rank(owner->trace, run_, input, tally);
      for (const trace::Collective& c : owner->trace.collectives) count(std::string("collectives.") + trace::name_of(c.kind), Severity::info, run_.strings.at(c.name));
      run_.ranks.push_back(std::move(owner->trace));
    }
    // Links and collectives are made as for the profiler's own traces; their counters get this format's name.
    Diagnostics linked;
    tally.tell(linked);
    for (const auto& [name, entry] : linked.entries()) run_.report.add("import.nsys." + name.substr(std::string_view("import.kineto.").size()), entry.severity, entry.example, entry.count);
  }

  struct Sync {
    std::int64_t event = -1, device = 0, stream = -1, record = -1;
  };

  const std::string& path_;
  const Database& database_;
  trace::ImportedRun& run_;
  std::unordered_map<std::int64_t, trace::Text> strings_;
  std::map<std::int64_t, std::string> gpus_;
  std::map<Key, Rank> ranks_;
  std::map<Key, Sync> records_;                                                         // by process and correlation
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::int64_t> record_of_;  // process, event, event sync -> correlation
};

}  // namespace

trace::ImportedRun read(const std::vector<std::string>& paths, const Progress& progress) {
  trace::ImportedRun run;
  run.format = "nsys";
  for (std::size_t i = 0; i < paths.size(); ++i) {
    Reader(paths[i], Database(paths[i], run.report), run).read();
    if (progress) progress(i + 1, paths.size());
  }
  return run;
}

trace::ImportedRun parse(std::string bytes, const std::string& file) {
  trace::ImportedRun run;
  run.format = "nsys";
  Reader(file, Database(file, std::move(bytes)), run).read();
  return run;
}

Format format() {
  return {.name = "nsys",
          .description = "SQLite export of Nsight Systems (nsys export --type sqlite)",
          .confidence = [](const FileHead& head) {  // any database but our own results, whose tables stand in its first page
            return head.bytes.starts_with("SQLite format 3") && head.bytes.find("CREATE TABLE point (number INTEGER PRIMARY KEY") == std::string::npos ? 80 : 0;
          },
          .read = [](const std::vector<std::string>& paths, const Progress& progress) -> Imported { return read(paths, progress); }};
}

}  // namespace sgsim::import::nsys
