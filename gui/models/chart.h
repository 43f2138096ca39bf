#pragma once

#include <QPointF>
#include <QString>
#include <QStringList>
#include <functional>
#include <optional>
#include <vector>

namespace sgsim::gui {

enum class ChartKind : unsigned char { stackedArea, stackedBars, lines, scatter };

struct ChartSeries {
  QString name = {};
  int color = 0;                       // Theme::series
  std::vector<QPointF> points = {};         // x ascending for lines and areas; bars: (index of the category, value)
  std::vector<QString> tips = {};           // by point; may be empty
  int marker = 0;                      // shape of its points: circle, square, triangle, diamond, cross
  bool step = false;                   // holds its value until the next point
  std::vector<bool> hollow = {};       // by point, may be empty: drawn hollow and crossed, lines to it dashed (Chart::hollowName)
};

/// What a chart shows; its painting is in views. Values are in base units, `xText` and `yText` write them.
struct Chart {
  ChartKind kind = ChartKind::lines;
  QString title = {}, xTitle = {}, yTitle = {}, empty = {};
  QString hint = {};                   // what can be done with it on a screen; exports leave it out
  std::vector<ChartSeries> series = {};
  QStringList categories = {};              // bars: their names; lines: names of x = 0, 1, 2, ... where x is no number
  std::function<QString(double)> xText = {}, yText = {};
  double unitX = 1.0, unitY = 1.0;     // ticks fall on round multiples of this (2^30 for GiB)
  bool logX = false, logY = false;
  bool diagonal = false;               // y = x
  std::optional<double> limit = {};         // a horizontal line
  QString limitName = {};
  std::optional<double> cursor = {};        // a vertical line
  std::optional<QPointF> mark = {};         // a point to notice
  QString markName = {};
  std::optional<std::pair<int, int>> selected = {};  // series, point
  QString hollowName = {};             // what a hollow point means, for the legend
};

/// Round numbers that cover [low, high], about `wanted` of them; multiples of `unit` times 1, 2 or 5 times a power of ten.
[[nodiscard]] std::vector<double> round_ticks(double low, double high, int wanted, double unit = 1.0);
/// Powers of ten, with 2 and 5 between where there is room.
[[nodiscard]] std::vector<double> log_ticks(double low, double high);

/// All points as comma-separated values (RFC 4180), base units.
[[nodiscard]] QString csvOf(const Chart& chart);

[[nodiscard]] QString timeText(double seconds);
[[nodiscard]] QString bytesText(double bytes);
[[nodiscard]] QString rateText(double bytes_per_second);
[[nodiscard]] QString percentText(double share);
[[nodiscard]] QString numberText(double value);

}  // namespace sgsim::gui
