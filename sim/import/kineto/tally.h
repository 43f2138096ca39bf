#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/diagnostics.h"

namespace sgsim::import::kineto {

/// Every way to read, repair, guess or lose a record. The names and severities are in tally.cpp.
enum class Count : std::uint8_t {
  events, ops, annotations, python, calls, kernels, copies, sets, syncs, steps, collectives, metadata, flows, instants, device_annotations,
  markers, counters,                                                                                     // read or set aside on purpose
  list_root, unterminated, packed_cut, checksum, quotes, base_time, nanosecond_times, lossy_time, bytes_not_utf8, duration_missing, duration_negative,
  duration_zero, stream_guessed, rank_from_name, rank_unknown, rank_impossible, rank_missing, gpus_differ, other_run, collective_renamed, collective_size_guessed,
  collective_group_guessed, collective_uneven, collective_empty, collective_size_unknown, collective_without_kernel, launch_ambiguous, stream_overrun,
  no_steps, bad_metadata,                                                                                // repaired, guessed, or worth knowing
  malformed, trailing, behind_gzip, phase_unknown, category_unknown, time_missing, time_overflow, duration_overflow, kernel_without_launch, launch_without_kernel,
  rank_duplicate, file_empty, collective_unknown_kind, count_,                                           // dropped, or not known
};

/// Counters that cost an addition an event; told to a report at the end.
class Tally {
 public:
  void add(Count count, std::string_view example = {}) {
    const auto i = static_cast<std::size_t>(count);
    if (counts_[i]++ == 0) examples_[i] = std::string(example.substr(0, 160));
  }
  void add_many(Count count, std::uint64_t times, std::string_view example = {}) {
    const auto i = static_cast<std::size_t>(count);
    if (counts_[i] == 0 && times > 0) examples_[i] = std::string(example.substr(0, 160));
    counts_[i] += times;
  }
  [[nodiscard]] std::uint64_t of(Count count) const { return counts_[static_cast<std::size_t>(count)]; }
  /// Adds all that was counted, under "import.kineto.".
  void tell(Diagnostics& report) const;

 private:
  std::array<std::uint64_t, static_cast<std::size_t>(Count::count_)> counts_{};
  std::array<std::string, static_cast<std::size_t>(Count::count_)> examples_{};
};

}  // namespace sgsim::import::kineto
