#include "sim/replay/report.h"

#include <fmt/format.h>

#include "sim/replay/account.h"

namespace sgsim::replay {

std::string text_report(const Result& r, const Built& built, const timeline::Timeline& timeline) {
  std::string text = fmt::format("{:<12} {:>14} {:>14} {:>9}\n", "", "measured ms", "simulated ms", "error");
  const auto line = [&](const Compared& c) { text += fmt::format("{:<12} {:>14.3f} {:>14.3f} {:>+8.2f}%\n", c.what, c.measured_s * 1e3, c.simulated_s * 1e3, c.error() * 100.0); };
  for (const Compared& step : r.steps) line(step);
  line(r.whole);
  text += fmt::format("error of a step: {:.2f} % mean, {:.2f} % worst; a device operation ends {:.1f} us from its measured end, in the mean\n", r.mean_error * 100.0, r.worst_error * 100.0, r.mean_end_error_s * 1e6);
  if (built.notes.empty()) return text;
  const std::vector<Account> steps = accounts(built.workload.programs.front(), built.notes.front(), spans_of(timeline, 0));
  return text + fmt::format("a step of {} (mean of {}): {}\n", built.workload.programs.front().name, steps.size(), text_of(mean(steps)));
}

}  // namespace sgsim::replay
