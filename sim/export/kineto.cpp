#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "sim/export/export.h"
#include "sim/export/times.h"
#include "sim/export/words.h"
#include "sim/timeline/trace_writer.h"
#include "sim/trace/steps.h"

namespace sgsim::exporting {
namespace {

/// Microseconds with the nanoseconds as decimals, exact.
std::string micros(trace::Nanoseconds ns) { return ns < 0 ? "-" + micros(-ns) : fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class RankWriter {
 public:
  RankWriter(const trace::ImportedRun& run, const trace::RankTrace& rank, Diagnostics& report) : run_(run), rank_(rank), report_(report) {}

  std::string write(std::size_t index) {
    // Times count from a base in the header, as in PyTorch 2.4 and later: decimals of absolute times would not fit a double.
    // A whole number of microseconds, so that readers which round times to microseconds round them as those of the original.
    base_ = first_time(rank_);
    base_ -= ((base_ % 1000) + 1000) % 1000;
    number_ = rank_.rank >= 0 ? rank_.rank : static_cast<std::int32_t>(index);
    write_header();
    for (const trace::HostOp& op : rank_.ops) {
      if (run_.strings.at(op.name).starts_with(trace::kStepMark)) marked_.emplace(op.thread, op.start);
      write_host_op(op);
    }
    for (const trace::HostCall& call : rank_.calls) write_call(call);
    for (std::uint32_t i = 0; i < rank_.device_ops.size(); ++i) write_device_op(i);
    for (const trace::Step& step : rank_.steps) write_step(step);
    write_names();
    out_ += "\n]}\n";
    return std::move(out_);
  }

 private:
  void count(std::string_view what, Severity severity, std::string_view example) { report_.add(fmt::format("export.kineto.{}", what), severity, example); }
  void text(std::string_view value) { timeline::append_json_string(out_, value); }

  void write_header() {
    auto world = std::max<std::uint32_t>(rank_.world_size, static_cast<std::uint32_t>(run_.ranks.size()));
    for (const trace::RankTrace& rank : run_.ranks) world = std::max(world, static_cast<std::uint32_t>(rank.rank + 1));
    out_ += "{\n\"schemaVersion\": 1,\n\"deviceProperties\": [{\"id\": 0, \"name\": ";
    text(rank_.gpu.empty() ? "unknown" : rank_.gpu);
    out_ += fmt::format("}}],\n\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}}},\n{}", number_, world, rank_.ends_early ? "\"endsEarly\": true,\n" : "");
    out_ += fmt::format("\"displayTimeUnit\": \"ms\",\n\"baseTimeNanoseconds\": {},\n\"traceEvents\": [\n", base_);
  }

  /// "{"ph": "X", "cat": ..., "name": ..., "pid": ..., "tid": ..., "ts": ..., "dur": ..., "args": {" : the caller ends it.
  void begin(std::string_view category, std::string_view name, std::string_view process, std::string_view thread, trace::Nanoseconds start, trace::Nanoseconds duration) {
    if (events_++ > 0) out_ += ",\n";
    out_ += "{\"ph\": \"X\", \"cat\": \"";
    out_ += category;
    out_ += "\", \"name\": ";
    text(name);
    out_ += fmt::format(", \"pid\": {}, \"tid\": {}, \"ts\": {}, \"dur\": {}, \"args\": {{", process, thread, micros(start - base_), micros(std::max<trace::Nanoseconds>(0, duration)));
    count("event", Severity::info, name);
  }
  void end() { out_ += "}}"; }

  /// Ids that are no numbers are written as text.
  std::string id_text(trace::Text id) const {
    const std::string& value = run_.strings.at(id);
    if (!value.empty() && value.size() < 18 && value.find_first_not_of("0123456789") == std::string::npos && (value.size() == 1 || value[0] != '0')) return value;
    std::string quoted;
    timeline::append_json_string(quoted, value.empty() ? "0" : value);
    return quoted;
  }
  std::string process(std::uint32_t thread) const { return thread < rank_.threads.size() ? id_text(rank_.threads[thread].process) : "1"; }
  std::string thread(std::uint32_t index) const { return index < rank_.threads.size() ? id_text(rank_.threads[index].thread) : "1"; }

  void write_host_op(const trace::HostOp& op) {
    if (op.start == trace::kNoTime) {
      count("without_time", Severity::error, run_.strings.at(op.name));
      return;
    }
    begin(category_of(op.kind), run_.strings.at(op.name), process(op.thread), thread(op.thread), op.start, op.duration);
    if (op.id >= 0) out_ += fmt::format("\"External id\": {}", op.id);
    if (op.shapes != 0) write_shapes(run_.strings.at(op.shapes), op.id >= 0);
    end();
  }

  /// "[[4, 2048], []] ["float", "Scalar"]": the extents of the inputs, and their types.
  void write_shapes(std::string_view shapes, bool follows) {
    const std::size_t split = shapes.find("] [");  // inside a list a comma stands between
    const bool typed = split != std::string_view::npos;
    const std::string_view dims = typed ? shapes.substr(0, split + 1) : shapes, types = typed ? shapes.substr(split + 2) : std::string_view();
    if (!dims.starts_with('[') || !nlohmann::json::accept(dims) || !(types.empty() || nlohmann::json::accept(types))) return count("shapes_lost", Severity::warning, shapes);
    out_ += fmt::format("{}\"Input Dims\": {}", follows ? ", " : "", dims);
    if (!types.empty()) out_ += fmt::format(", \"Input type\": {}", types);
  }

  void write_step(const trace::Step& step) {
    if (step.start == trace::kNoTime || marked_.contains({step.thread, step.start})) return;  // its mark was written as what it is: an annotation, in old files an operator
    begin("user_annotation", trace::step_name(step.number), process(step.thread), thread(step.thread), step.start, step.duration);
    end();
  }

  void write_call(const trace::HostCall& call) {
    if (call.start == trace::kNoTime) return;
    const std::string& name = run_.strings.at(call.name);
    const bool driver = name.starts_with("cu") && !name.starts_with("cuda");
    begin(driver ? "cuda_driver" : "cuda_runtime", name, process(call.thread), thread(call.thread), call.start, call.duration);
    out_ += fmt::format("\"correlation\": {}", call.correlation);
    if (call.op != trace::kNone && rank_.ops[call.op].id >= 0) out_ += fmt::format(", \"External id\": {}", rank_.ops[call.op].id);
    end();
  }

  void write_device_op(std::uint32_t i) {
    const trace::DeviceOp& op = rank_.device_ops[i];
    if (op.start == trace::kNoTime) {
      count("without_time", Severity::error, run_.strings.at(op.name));
      return;
    }
    const trace::Stream stream = op.stream < rank_.streams.size() ? rank_.streams[op.stream] : trace::Stream{};
    begin(category_of(op.kind), run_.strings.at(op.name), std::to_string(stream.device), std::to_string(stream.stream), op.start, op.duration);
    out_ += fmt::format("\"device\": {}, \"context\": 1, \"stream\": {}, \"correlation\": {}", stream.device, stream.stream, op.correlation);
    if (op.op != trace::kNone && rank_.ops[op.op].id >= 0) out_ += fmt::format(", \"External id\": {}", rank_.ops[op.op].id);
    if (op.graph_node != 0) out_ += fmt::format(", \"graph node id\": {}", op.graph_node);
    if (op.blocks > 0) out_ += fmt::format(", \"grid\": [{}, 1, 1]", op.blocks);
    if (op.kind != trace::DeviceKind::kernel) out_ += fmt::format(", \"bytes\": {}", static_cast<std::int64_t>(op.bytes));
    if (op.collective != trace::kNone) write_collective(rank_.collectives[op.collective]);
    end();
    if (op.call != trace::kNone && op.correlation > 0) write_arrow(rank_.calls[op.call], op, stream);
  }

  void write_collective(const trace::Collective& collective) {
    out_ += ", \"Collective name\": ";
    text(run_.strings.at(collective.name));
    if (collective.bytes >= 0) {
      // Without a type the elements are bytes.
      const std::uint32_t size = collective.group == trace::kNone ? 0 : run_.groups[collective.group].size;
      const bool gathers = collective.kind == trace::CommKind::all_gather, scatters = collective.kind == trace::CommKind::reduce_scatter;
      const auto all = static_cast<std::int64_t>(collective.bytes), share = size > 0 ? all / size : all;
      out_ += fmt::format(", \"In msg nelems\": {}, \"Out msg nelems\": {}, \"dtype\": \"Byte\"", gathers ? share : all, scatters ? share : all);
      if (collective.uneven) count("splits_lost", Severity::warning, run_.strings.at(collective.name));
      if (collective.dtype != 0) count("type_as_bytes", Severity::warning, run_.strings.at(collective.dtype));
    }
    if (collective.peer >= 0 && collective.kind == trace::CommKind::send) out_ += fmt::format(", \"Dst Rank\": {}", collective.peer);
    if (collective.peer >= 0 && collective.kind == trace::CommKind::receive) out_ += fmt::format(", \"Src Rank\": {}", collective.peer);
    if (collective.group == trace::kNone) return;
    const trace::Group& group = run_.groups[collective.group];
    out_ += fmt::format(", \"Group size\": {}, \"Process Group Name\": ", group.size);
    text(run_.strings.at(group.name));
    out_ += ", \"Process Group Description\": ";
    text(run_.strings.at(group.description));
    if (!group.ranks.empty()) out_ += fmt::format(", \"Process Group Ranks\": \"[{}]\"", fmt::join(group.ranks, ", "));
  }

  /// From the launch to what it launched.
  void write_arrow(const trace::HostCall& call, const trace::DeviceOp& op, const trace::Stream& stream) {
    const auto end = [&](const char* phase, const auto& process, const auto& thread, trace::Nanoseconds at, const char* more) {
      out_ += fmt::format(",\n{{\"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": {}, ", phase, op.correlation, process, thread, micros(at - base_));
      out_ += fmt::format("\"cat\": \"ac2g\", \"name\": \"ac2g\"{}}}", more);
    };
    end("s", process(call.thread), thread(call.thread), call.start, "");
    end("f", stream.device, stream.stream, op.start, ", \"bp\": \"e\"");
  }

  void write_names() {
    std::map<std::uint32_t, bool> devices;
    for (const trace::Stream& stream : rank_.streams) {
      out_ += fmt::format(",\n{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {}, \"tid\": {}, \"ts\": 0, \"args\": {{\"name\": \"stream {}\"}}}}", stream.device, stream.stream, stream.stream);
      if (!devices.emplace(stream.device, true).second) continue;
      out_ += fmt::format(",\n{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {}, \"tid\": 0, \"ts\": 0, \"args\": {{\"name\": \"python\"}}}}", stream.device);
      out_ += fmt::format(",\n{{\"ph\": \"M\", \"name\": \"process_labels\", \"pid\": {0}, \"tid\": 0, \"ts\": 0, \"args\": {{\"labels\": \"GPU {0}\"}}}}", stream.device);
    }
    for (std::uint32_t i = 0; i < rank_.threads.size(); ++i) {
      out_ += fmt::format(",\n{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {}, \"tid\": {}, \"ts\": 0, \"args\": {{\"name\": ", process(i), thread(i));
      text(rank_.threads[i].name != 0 ? run_.strings.at(rank_.threads[i].name) : "thread " + run_.strings.at(rank_.threads[i].thread));
      out_ += "}}";
    }
  }

  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  Diagnostics& report_;
  trace::Nanoseconds base_ = 0;
  std::int32_t number_ = 0;
  std::uint64_t events_ = 0;
  std::set<std::pair<std::uint32_t, trace::Nanoseconds>> marked_;  // steps with a host record
  std::string out_;
};

}  // namespace

std::string kineto(const trace::ImportedRun& run, std::size_t rank, Diagnostics& report) {
  require_times(run.ranks.at(rank), "Kineto");
  return RankWriter(run, run.ranks[rank], report).write(rank);
}

}  // namespace sgsim::exporting
