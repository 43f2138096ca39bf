#include "calibrate/record/compare.h"

#include <fmt/format.h>

#include "calibrate/cli/commands.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {

int compare_command(const CompareFlags& flags) {
  const Side a = load_side(flags.a), b = load_side(flags.b);
  if (std::holds_alternative<cost::Profile>(a) && std::holds_alternative<cost::Profile>(b)) {
    throw InputError({.file = flags.b, .where = "", .found = "two profiles", .expected = "samples on at least one side", .hint = "compare each profile with the samples of one machine"});
  }
  const std::vector<Comparison> all = compare_sides(a, b);
  fmt::print("{} against {}: |a / b - 1|\n", flags.a, flags.b);
  fmt::print("{:<62} {:>6} {:>8} {:>8} {:>8} {:>8}\n", "category", "points", "median", "p90", "worst", "bias");
  for (const Comparison& c : all) {
    fmt::print("{:<62} {:>6} {:>7.1f}% {:>7.1f}% {:>7.1f}% {:>+7.1f}%\n", c.category, c.points.size(), c.median_error * 100.0, c.p90_error * 100.0,
               std::abs(c.points.front().error()) * 100.0, c.bias * 100.0);
  }
  if (!flags.worst) return 0;
  constexpr std::size_t kEach = 5;
  for (const Comparison& c : all) {
    fmt::print("\n{}\n", c.category);
    for (std::size_t i = 0; i < std::min(kEach, c.points.size()); ++i) {
      const Compared& p = c.points[i];
      fmt::print("  {:>+7.1f}%  a {:>10.2f} us, b {:>10.2f} us  {}\n", p.error() * 100.0, p.a * 1e6, p.b * 1e6, to_text(p.key));
    }
  }
  return 0;
}

}  // namespace sgsim::calibrate
