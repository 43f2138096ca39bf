#include "sim/replay/report.h"

#include <fmt/format.h>

#include "sim/replay/account.h"

namespace sgsim::replay {

std::string text_report(const Result& r, const Built& built, const timeline::Timeline& timeline) {
  std::string text = fmt::format("{:<12} {:>14} {:>14} {:>9}\n", "", "measured ms", "simulated ms", "error");
  const auto line = [&](const Compared& c) {
    const std::optional<double> error = c.error();
    text += fmt::format("{:<12} {:>14.3f} {:>14.3f} {:>9}\n", c.what, c.measured_s * 1e3, c.simulated_s * 1e3, error ? fmt::format("{:+.2f}%", *error * 100.0) : "none");
  };
  for (const Compared& step : r.steps) line(step);
  line(r.whole);
  if (r.without_error > 0) {
    text += fmt::format("no error: {} of {} measured times {} not above zero: kernels begin before their launches, the clocks of host and device disagree\n", r.without_error, r.without_error + r.compared,
                        r.without_error == 1 ? "is" : "are");
  }
  if (r.compared > 0) {
    const Compared& step = r.steps.empty() ? r.whole : r.steps.front();
    const std::string share = step.measured_s > 0.0 ? fmt::format(" ({:.2f} % of a step)", r.mean_end_error_s / step.measured_s * 100.0) : std::string();
    text += fmt::format("error of a step: {:.2f} % mean, {:.2f} % worst; a device operation ends {:.1f} us{} from its measured end, in the mean\n", r.mean_error * 100.0, r.worst_error * 100.0, r.mean_end_error_s * 1e6, share);
  }
  if (built.notes.empty()) return text;
  const std::vector<Account> steps = accounts(built.workload.programs.front(), built.notes.front(), spans_of(timeline, 0));
  return text + fmt::format("a step of {} (mean of {}): {}\n", built.workload.programs.front().name, steps.size(), text_of(mean(steps)));
}

}  // namespace sgsim::replay
