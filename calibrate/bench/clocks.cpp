#include "calibrate/bench/clocks.h"

#include <fmt/format.h>

#include <map>

#include "calibrate/stats/summary.h"

namespace sgsim::calibrate {

std::vector<std::string> clock_findings(const std::vector<GpuState>& states) {
  std::vector<std::string> found;
  std::map<std::string, int> reasons;
  std::vector<double> clocks;
  for (const GpuState& s : states) {
    const std::string text = throttle_text(s.throttle_reasons);
    if (!text.empty()) ++reasons[text];
    clocks.push_back(s.sm_clock_mhz);
  }
  for (const auto& [text, count] : reasons) {
    found.push_back(fmt::format("held back by {} in {} of {} readings", text, count, states.size()));
  }
  constexpr double kClockChange = 0.03;
  if (const auto change = drift(clocks); change && (*change > kClockChange || *change < -kClockChange)) {
    found.push_back(fmt::format("SM clock moved by {:+.1f} % from the first to the last third of the run", *change * 100.0));
  }
  constexpr int kWarming = 10;
  if (!states.empty() && states.back().temperature_c - states.front().temperature_c > kWarming) {
    found.push_back(fmt::format("warmed from {} to {} degrees C", states.front().temperature_c, states.back().temperature_c));
  }
  return found;
}

}  // namespace sgsim::calibrate
