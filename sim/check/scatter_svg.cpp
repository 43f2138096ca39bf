#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "sim/check/report.h"
#include "sim/check/xml_text.h"

namespace sgsim::check {
namespace {

constexpr double kSize = 360.0, kMargin = 52.0;
constexpr double kBand = 0.10;  // the grey band: 10 % either way

/// Seconds to a place on a square whose axes are logarithms.
struct Axis {
  double low = 0.0, high = 1.0;  // log10 of seconds
  [[nodiscard]] double place(double seconds) const { return (std::log10(seconds) - low) / (high - low) * (kSize - 2.0 * kMargin); }
};

Axis axis_of(const std::vector<const Row*>& rows) {
  double low = 1e300, high = 0.0;
  for (const Row* row : rows) {
    low = std::min({low, *row->measured_s, *row->predicted_s});
    high = std::max({high, *row->measured_s, *row->predicted_s});
  }
  return {.low = std::log10(low) - 0.08, .high = std::log10(high) + 0.08};
}

std::string tick_text(double seconds) { return seconds < 1.0 ? fmt::format("{:g} ms", seconds * 1e3) : fmt::format("{:g} s", seconds); }

/// 1, 2 and 5 of each decade inside the axis; only 1 where there are many decades.
std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  const bool dense = axis.high - axis.low < 1.5;
  for (int decade = static_cast<int>(std::floor(axis.low)); decade <= static_cast<int>(std::ceil(axis.high)); ++decade) {
    for (double mantissa : {1.0, 2.0, 5.0}) {
      if (mantissa != 1.0 && !dense) continue;
      const double at = std::log10(mantissa) + decade;
      if (at >= axis.low && at <= axis.high) ticks.push_back(std::pow(10.0, at));
    }
  }
  return ticks;
}

std::string line(double x1, double y1, double x2, double y2, const char* style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

}  // namespace

std::string plot_name(const std::string& file) {
  std::string name = file;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' ? c : '_';
  return name;
}

std::string scatter_svg(const std::vector<Row>& rows, const std::string& file) {
  std::vector<const Row*> shown;
  for (const Row& row : rows) {
    if (row.file == file && row.error()) shown.push_back(&row);
  }
  if (shown.empty()) return {};
  const Axis axis = axis_of(shown);
  const double side = kSize - 2.0 * kMargin;
  const auto x = [&](double seconds) { return kMargin + axis.place(seconds); };
  const auto y = [&](double seconds) { return kSize - kMargin - axis.place(seconds); };
  std::string svg = fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{0:.0f}\" viewBox=\"0 0 {0:.0f} {0:.0f}\" font-family=\"sans-serif\" font-size=\"10\">\n", kSize);
  svg += fmt::format("<rect width=\"{0:.0f}\" height=\"{0:.0f}\" fill=\"white\"/>\n<rect x=\"{1:.0f}\" y=\"{1:.0f}\" width=\"{2:.0f}\" height=\"{2:.0f}\" fill=\"none\" stroke=\"#888\"/>\n", kSize, kMargin, side);
  svg += fmt::format("<clipPath id=\"box\"><rect x=\"{0:.0f}\" y=\"{0:.0f}\" width=\"{1:.0f}\" height=\"{1:.0f}\"/></clipPath>\n<g clip-path=\"url(#box)\">\n", kMargin, side);
  const double shift = std::log10(1.0 + kBand) / (axis.high - axis.low) * side, far = kSize - kMargin;
  svg += fmt::format("<polygon points=\"{0:.1f},{1:.1f} {1:.1f},{0:.1f} {1:.1f},{2:.1f} {2:.1f},{1:.1f}\" fill=\"#e4e9f2\" transform=\"translate(0,{3:.1f})\"/>\n", kMargin, far, kMargin + 2.0 * shift, -shift);
  svg += line(kMargin, far, far, kMargin, "stroke=\"#888\"");
  for (const Row* row : shown) {
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" fill=\"#1f5fbf\" fill-opacity=\"0.55\"><title>{}: predicted {:.4g} s, measured {:.4g} s, {:+.1f} %</title></circle>\n",
                       x(*row->measured_s), y(*row->predicted_s), xml_text(row->id), *row->predicted_s, *row->measured_s, 100.0 * *row->error());
  }
  svg += "</g>\n";
  for (double tick : ticks_of(axis)) {
    svg += line(x(tick), far, x(tick), far + 4.0, "stroke=\"#888\"") + line(kMargin - 4.0, y(tick), kMargin, y(tick), "stroke=\"#888\"");
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(tick), far + 15.0, tick_text(tick));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kMargin - 6.0, y(tick) + 3.0, tick_text(tick));
  }
  svg += fmt::format("<text x=\"{0:.1f}\" y=\"18\" text-anchor=\"middle\" font-size=\"12\">{1}, {2} rows</text>\n", kSize / 2.0, xml_text(file), shown.size());
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">measured</text>\n", kSize / 2.0, kSize - 16.0);
  svg += fmt::format("<text x=\"14\" y=\"{0:.1f}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {0:.1f})\">predicted</text>\n</svg>\n", kSize / 2.0);
  return svg;
}

}  // namespace sgsim::check
