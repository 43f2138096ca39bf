#include "gui/models/chart.h"

#include <algorithm>
#include <cmath>

#include "gui/models/table_model.h"
#include "sim/core/units_text.h"
#include "sim/scenario/text_table.h"

namespace sgsim::gui {

std::vector<double> round_ticks(double low, double high, int wanted, double unit) {
  std::vector<double> ticks;
  if (!(high > low) || wanted < 1) return {low};
  const double raw = (high - low) / unit / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  double step = 10.0 * power;
  for (const double m : {1.0, 2.0, 5.0}) {
    if (m * power >= raw * 0.999) {
      step = m * power;
      break;
    }
  }
  step *= unit;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1.0) ticks.push_back(i * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high) {
  std::vector<double> ticks;
  if (!(low > 0.0) || !(high > low)) return ticks;
  const bool dense = std::log10(high / low) < 2.5;
  for (double p = std::floor(std::log10(low)); p <= std::ceil(std::log10(high)); p += 1.0) {
    for (const double m : {1.0, 2.0, 5.0}) {
      if (m > 1.0 && !dense) continue;
      const double tick = m * std::pow(10.0, p);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push_back(tick);
    }
  }
  return ticks;
}

QString csvOf(const Chart& chart) {
  QString out = csvLine({QStringLiteral("series"), chart.xTitle.isEmpty() ? QStringLiteral("x") : chart.xTitle, chart.yTitle.isEmpty() ? QStringLiteral("y") : chart.yTitle});
  for (const ChartSeries& s : chart.series) {
    for (const QPointF& p : s.points) {
      const auto category = static_cast<qsizetype>(p.x());
      const bool named = !chart.categories.isEmpty() && category >= 0 && category < chart.categories.size();
      out += csvLine({s.name, named ? chart.categories[category] : QString::number(p.x(), 'g', 12), QString::number(p.y(), 'g', 12)});
    }
  }
  return out;
}

QString timeText(double seconds) {
  if (seconds == 0.0) return QStringLiteral("0");
  return (seconds < 0 ? QStringLiteral("-") : QString()) + QString::fromStdString(to_text(Seconds(std::abs(seconds))));
}
QString bytesText(double bytes) {
  if (bytes == 0.0) return QStringLiteral("0");
  return (bytes < 0 ? QStringLiteral("-") : QString()) + QString::fromStdString(to_text(Bytes(std::abs(bytes))));
}
QString rateText(double bytes_per_second) { return QString::fromStdString(to_text(BytesPerSecond(bytes_per_second))); }
QString percentText(double share) { return QStringLiteral("%1 %").arg(share * 100.0, 0, 'f', 1); }
QString numberText(double value) { return std::abs(value) >= 1000.0 && std::abs(value) < 1e15 ? QString::fromStdString(scenario::grouped(std::llround(value))) : QString::number(value, 'g', 4); }

}  // namespace sgsim::gui
