#include "planner/cli/progress_bar.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

namespace sgsim::cli {
namespace {

constexpr int kWidth = 30;
constexpr std::chrono::seconds kPlainEvery{10};
constexpr std::chrono::milliseconds kRedrawEvery{100};

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

ProgressBar::ProgressBar() : terminal_(isatty(STDERR_FILENO) == 1), started_(Clock::now()) {}

void ProgressBar::show(std::uint64_t done, std::uint64_t earlier, std::uint64_t total, const std::string& remark) {
  const Clock::time_point now = Clock::now();
  const bool ends = done == total;
  if (!ends && shown_ != Clock::time_point{} && now - shown_ < (terminal_ ? Clock::duration(kRedrawEvery) : Clock::duration(kPlainEvery))) return;
  shown_ = now;
  const double elapsed = std::chrono::duration<double>(now - started_).count();
  const auto fresh = static_cast<double>(done - earlier);
  std::string text = fmt::format("{} of {} ({} %)", done, total, total == 0 ? 100 : 100 * done / total);
  if (fresh > 0.0 && !ends) text += fmt::format(", {:.3g}/s, ETA {}", fresh / elapsed, duration_text(static_cast<double>(total - done) * elapsed / fresh));
  if (ends) text += ", " + duration_text(elapsed);
  if (!remark.empty()) text += ", " + remark;
  if (text == last_) return;
  last_ = text;
  if (terminal_) {
    const int filled = total == 0 ? kWidth : static_cast<int>(done * kWidth / total);
    fmt::print(stderr, "\r\x1b[K[{}{}] {}", std::string(static_cast<std::size_t>(filled), '#'), std::string(static_cast<std::size_t>(kWidth - filled), '.'), text);
  } else {
    fmt::print(stderr, "{}\n", text);
  }
  std::fflush(stderr);
}

void ProgressBar::finish() {
  if (terminal_) fmt::print(stderr, "\n");
}

}  // namespace sgsim::cli
