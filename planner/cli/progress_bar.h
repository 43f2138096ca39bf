#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sgsim::cli {

/// Progress on stderr: a bar with rate and ETA that redraws itself on a terminal; elsewhere a plain line every ten seconds.
class ProgressBar {
 public:
  ProgressBar();
  /// `done` of `total`, of which `earlier` were there before this run (they say nothing about the rate).
  void show(std::uint64_t done, std::uint64_t earlier, std::uint64_t total, const std::string& remark);
  /// Ends the line.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  bool terminal_;
  Clock::time_point started_, shown_;
  std::string last_;
};

/// "2 h 5 min", "3 min 20 s", "12 s".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace sgsim::cli
