#include "sim/timeline/trace_writer.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cmath>
#include <cstdio>
#include <iterator>

#include "sim/core/error.h"

namespace sgsim::timeline {
namespace {

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }

/// Chrome's unit is the microsecond; three decimals keep the nanoseconds exact.
void append_microseconds(std::string& into, std::int64_t ns) {
  fmt::format_to(std::back_inserter(into), "{}{}.{:03}", ns < 0 ? "-" : "", std::abs(ns) / 1000, std::abs(ns) % 1000);
}

void append_number(std::string& into, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(into), "{}", value);
  } else {
    into += "null";
  }
}

void append_value(std::string& into, const TraceArgument& argument) {
  append_json_string(into, argument.name);
  into += ':';
  if (const auto* text = std::get_if<std::string_view>(&argument.value)) append_json_string(into, *text);
  if (const auto* number = std::get_if<double>(&argument.value)) append_number(into, *number);
  if (const auto* whole = std::get_if<std::int64_t>(&argument.value)) fmt::format_to(std::back_inserter(into), "{}", *whole);
}

}  // namespace

/// A file that takes text, packed or not.
struct TraceWriter::Sink {
  std::string path;
  gzFile file = nullptr;

  explicit Sink(const std::string& where) : path(where) {
    // Mode "T" of zlib writes as it is; 6 is its usual compression.
    file = gzopen(path.c_str(), path.ends_with(".gz") ? "wb6" : "wbT");
    if (file == nullptr) throw EnvironmentError("cannot write the trace file " + path);
    gzbuffer(file, 1U << 18);
  }
  ~Sink() {
    if (file != nullptr) gzclose(file);
  }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  void write(std::string_view text) {
    if (gzwrite(file, text.data(), static_cast<unsigned>(text.size())) != static_cast<int>(text.size())) {
      throw EnvironmentError("cannot write the trace file " + path + " (is the disk full?)");
    }
  }
  void close() {
    const int status = gzclose(file);
    file = nullptr;
    if (status != Z_OK) throw EnvironmentError("cannot finish the trace file " + path + " (is the disk full?)");
  }
};

TraceWriter::TraceWriter(const std::string& path, const std::vector<std::pair<std::string, std::string>>& metadata)
    : sink_(std::make_unique<Sink>(path)) {
  line_ = "{\"displayTimeUnit\":\"ns\",\"otherData\":{";
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (i > 0) line_ += ',';
    append_json_string(line_, metadata[i].first);
    line_ += ':';
    append_json_string(line_, metadata[i].second);
  }
  line_ += "},\"traceEvents\":[\n";
  sink_->write(line_);
}

TraceWriter::~TraceWriter() {
  try {
    close();
  } catch (const EnvironmentError&) {  // NOLINT: whoever cares calls close()
  }
}

void TraceWriter::begin_event() { line_ = events_ == 0 ? "" : ",\n"; }

void TraceWriter::end_event() {
  sink_->write(line_);
  ++events_;
}

void TraceWriter::process(std::uint32_t process, std::string_view name, std::uint32_t order) {
  begin_event();
  fmt::format_to(std::back_inserter(line_), R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":)", process);
  append_json_string(line_, name);
  fmt::format_to(std::back_inserter(line_), "}}}},\n{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_sort_index\",\"args\":{{\"sort_index\":{}}}}}", process, order);
  end_event();
}

void TraceWriter::thread(std::uint32_t process, std::uint32_t thread, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(line_), R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":)", process, thread);
  append_json_string(line_, name);
  fmt::format_to(std::back_inserter(line_), "}}}},\n{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_sort_index\",\"args\":{{\"sort_index\":{}}}}}", process, thread, thread);
  end_event();
}

void TraceWriter::slice(std::uint32_t process, std::uint32_t thread, Seconds start, Seconds end, std::string_view name,
                        std::string_view category, std::span<const TraceArgument> arguments) {
  begin_event();
  const std::int64_t from = nanoseconds(start), to = nanoseconds(end);
  fmt::format_to(std::back_inserter(line_), R"({{"ph":"X","pid":{},"tid":{},"ts":)", process, thread);
  append_microseconds(line_, from);
  line_ += ",\"dur\":";
  append_microseconds(line_, to - from);
  line_ += ",\"name\":";
  append_json_string(line_, name);
  line_ += ",\"cat\":";
  append_json_string(line_, category);
  if (!arguments.empty()) {
    line_ += ",\"args\":{";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (i > 0) line_ += ',';
      append_value(line_, arguments[i]);
    }
    line_ += '}';
  }
  line_ += '}';
  end_event();
}

void TraceWriter::arrow(std::uint64_t id, std::string_view name, std::uint32_t from_process, std::uint32_t from_thread, Seconds from,
                        std::uint32_t to_process, std::uint32_t to_thread, Seconds to) {
  const auto half = [&](char phase, std::uint32_t process, std::uint32_t thread, Seconds at, const char* rest) {
    begin_event();
    fmt::format_to(std::back_inserter(line_), R"({{"ph":"{}","id":{},"pid":{},"tid":{},"ts":)", phase, id, process, thread);
    append_microseconds(line_, nanoseconds(at));
    line_ += ",\"cat\":\"transfer\",\"name\":";
    append_json_string(line_, name);
    line_ += rest;
    end_event();
  };
  half('s', from_process, from_thread, from, "}");
  half('f', to_process, to_thread, to, ",\"bp\":\"e\"}");
}

void TraceWriter::counter(std::uint32_t process, std::string_view name, Seconds at, std::span<const std::pair<std::string_view, double>> values) {
  begin_event();
  fmt::format_to(std::back_inserter(line_), R"({{"ph":"C","pid":{},"ts":)", process);
  append_microseconds(line_, nanoseconds(at));
  line_ += ",\"name\":";
  append_json_string(line_, name);
  line_ += ",\"args\":{";
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) line_ += ',';
    append_json_string(line_, values[i].first);
    line_ += ':';
    append_number(line_, values[i].second);
  }
  line_ += "}}";
  end_event();
}

void TraceWriter::close() {
  if (sink_ == nullptr || sink_->file == nullptr) return;
  sink_->write("\n]}\n");
  sink_->close();
}

}  // namespace sgsim::timeline
