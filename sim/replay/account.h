#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/replay/replay.h"

namespace sgsim::replay {

/// Where one step of one rank went. busy + exposed + waiting + gaps + host = step.
struct Account {
  double step_s = 0.0;
  double busy_s = 0.0;      // a kernel, copy or memset runs, by its own duration
  double exposed_s = 0.0;   // only communication runs
  double waiting_s = 0.0;   // nothing runs; a collective waits for its last member
  double gaps_s = 0.0;      // nothing runs; the next operation was queued already: launch gaps, and idleness kept as measured
  double host_s = 0.0;      // nothing runs because the host has not issued the next operation yet
};

/// An account a step of the program, or one of the whole where it has no steps. `spans`: all of one rank that runs the program, by start.
/// A step lasts from the end of the step before (the first from time zero) to the end of its own last operation.
[[nodiscard]] std::vector<Account> accounts(const lower::Program& program, const ProgramNotes& notes, std::span<const timeline::Span> spans);
[[nodiscard]] Account mean(const std::vector<Account>& steps);

/// The spans of a simulated rank.
[[nodiscard]] std::span<const timeline::Span> spans_of(const timeline::Timeline& timeline, std::uint32_t rank);
/// When the device begins with what a task repeats: launch gaps and waiting are before it.
[[nodiscard]] Seconds begins(const lower::Task& task, const TaskNote& note, const timeline::Span& span);

/// The parts of a step in one line.
[[nodiscard]] std::string text_of(const Account& account);
/// Captured and wanted jobs side by side, in milliseconds, and in words what binds the wanted step.
struct Sides {
  std::optional<Account> replayed;  // every captured rank with its own program; shown where that is not `captured`
  bool waiting_left_out = false;    // captured, wanted, fed: without what the imported ranks waited for others
  Account captured, wanted;         // both as rescaling makes them: every rank of a stage runs one captured program
  std::optional<Account> fed;       // the wanted job if the host were never late; shown where host_binds(wanted)
};
/// More than a fifth of the step the device waits for the host to issue something.
[[nodiscard]] bool host_binds(const Account& step);
[[nodiscard]] std::string text_of(const Sides& sides);

}  // namespace sgsim::replay
