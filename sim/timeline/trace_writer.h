#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/core/quantity.h"

namespace sgsim::timeline {

/// One argument of a slice, as Perfetto shows it.
struct TraceArgument {
  std::string_view name;
  std::variant<std::string_view, double, std::int64_t> value;
};

/// Writes Chrome trace events (JSON, docs/formats/trace.md) as they come, gzip-packed where the path ends in ".gz".
/// Perfetto and chrome://tracing read it. Times are rounded to whole nanoseconds, ends as starts, so that slices which
/// touch still touch. Throws EnvironmentError when the file cannot be written.
class TraceWriter {
 public:
  TraceWriter(const std::string& path, const std::vector<std::pair<std::string, std::string>>& metadata);
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// A process stands for a rank or a class of ranks; `order` sorts them.
  void process(std::uint32_t process, std::string_view name, std::uint32_t order);
  void thread(std::uint32_t process, std::uint32_t thread, std::string_view name);
  /// Slices of one thread must nest; a parent comes before its children.
  void slice(std::uint32_t process, std::uint32_t thread, Seconds start, Seconds end, std::string_view name,
             std::string_view category, std::span<const TraceArgument> arguments);
  /// An arrow from the slice that contains `from` to the slice that contains `to`.
  void arrow(std::uint64_t id, std::string_view name, std::uint32_t from_process, std::uint32_t from_thread, Seconds from,
             std::uint32_t to_process, std::uint32_t to_thread, Seconds to);
  /// A stacked counter's value from `at` on.
  void counter(std::uint32_t process, std::string_view name, Seconds at, std::span<const std::pair<std::string_view, double>> values);
  /// Ends the file; without it the destructor ends it and swallows a failure.
  void close();

  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  struct Sink;
  void begin_event();
  void end_event();
  std::unique_ptr<Sink> sink_;
  std::string line_;
  std::uint64_t events_ = 0;
};

/// Appends `text` as a JSON string, quotes included; bytes that are no UTF-8 become U+FFFD.
void append_json_string(std::string& into, std::string_view text);

}  // namespace sgsim::timeline
