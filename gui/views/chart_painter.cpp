#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

#include "gui/views/chart_view.h"

namespace sgsim::gui {
namespace {

/// One axis: values to pixels.
struct Scale {
  double low = 0.0, high = 1.0, from = 0.0, to = 1.0;
  bool log = false;
  [[nodiscard]] double operator()(double v) const {
    if (log) return from + (std::log(std::max(v, low * 1e-6)) - std::log(low)) / (std::log(high) - std::log(low)) * (to - from);
    return from + (v - low) / (high - low) * (to - from);
  }
};

class Drawing {
 public:
  Drawing(QPainter& painter, const QRectF& area, const Chart& chart, const Theme& theme, const QFont& font, const std::optional<ChartRange>& part, ChartFrame& frame)
      : p_(painter), c_(chart), t_(theme), font_(font), m_(font), area_(area), part_(part), frame_(frame) {
    frame_ = {};
    bold_ = font;
    bold_.setBold(true);
  }

  std::vector<ChartHit> run() {
    p_.save();
    p_.setFont(font_);
    double top = area_.top() + 8;
    if (!c_.title.isEmpty()) {
      p_.setFont(bold_);
      p_.setPen(t_.text);
      p_.drawText(QRectF(area_.left() + 12, top, area_.width() - 24, m_.height() + 2), Qt::AlignLeft | Qt::AlignVCenter, QFontMetricsF(bold_).elidedText(c_.title, Qt::ElideRight, area_.width() - 24));
      p_.setFont(font_);
      top += m_.height() + 8;
    }
    const bool nothing = std::all_of(c_.series.begin(), c_.series.end(), [](const ChartSeries& s) { return s.points.empty(); });
    if (nothing) {
      p_.setPen(t_.muted);
      p_.drawText(QRectF(area_.left() + 20, top, area_.width() - 40, area_.bottom() - top - 8), Qt::AlignCenter | Qt::TextWordWrap, c_.empty.isEmpty() ? QObject::tr("Nothing to show yet.") : c_.empty);
      p_.restore();
      return {};
    }
    top = legend(top);
    plot_ = QRectF(area_.left(), top + 4, area_.width(), area_.bottom() - top - 8);
    if (c_.kind == ChartKind::stackedBars) {
      bars();
    } else {
      points();
    }
    p_.restore();
    return std::move(hits_);
  }

 private:
  [[nodiscard]] QString xText(double v) const { return c_.xText ? c_.xText(v) : numberText(v); }
  [[nodiscard]] QString yText(double v) const { return c_.yText ? c_.yText(v) : numberText(v); }

  void marker(const QPointF& at, int shape, double size) {
    switch (shape % 5) {
      case 0: p_.drawEllipse(at, size, size); break;
      case 1: p_.drawRect(QRectF(at.x() - size, at.y() - size, 2 * size, 2 * size)); break;
      case 2: p_.drawPolygon(QPolygonF({QPointF(at.x(), at.y() - size), QPointF(at.x() + size, at.y() + size), QPointF(at.x() - size, at.y() + size)})); break;
      case 3: p_.drawPolygon(QPolygonF({QPointF(at.x(), at.y() - size * 1.2), QPointF(at.x() + size * 1.2, at.y()), QPointF(at.x(), at.y() + size * 1.2), QPointF(at.x() - size * 1.2, at.y())})); break;
      default:
        p_.drawLine(at - QPointF(size, size), at + QPointF(size, size));
        p_.drawLine(at - QPointF(size, -size), at + QPointF(size, -size));
    }
  }

  [[nodiscard]] static Hatch hatchOfSeries(int color) { return color >= Theme::kOfCategory ? hatchOf(static_cast<Category>(color - Theme::kOfCategory)) : Hatch::none; }

  /// The timeline's strokes over a bar, as lines: exports have no patterns.
  void strokes(const QRectF& r, int color) {
    const Hatch hatch = hatchOfSeries(color);
    if (hatch == Hatch::none || r.width() < 3.0) return;
    const QColor ink = t_.hatchInk(static_cast<Category>(color - Theme::kOfCategory));
    constexpr double kApart = 7.0;
    if (hatch == Hatch::dots) {
      for (double y = r.top() + 1.5; y + 2.0 <= r.bottom(); y += 5.0) {
        for (double x = r.left() + 1.5; x + 2.0 <= r.right(); x += 5.0) p_.fillRect(QRectF(x, y, 2.0, 2.0), ink);
      }
      return;
    }
    p_.save();
    p_.setRenderHint(QPainter::Antialiasing, true);
    p_.setPen(QPen(ink, 1.6));
    for (double at = r.left() - r.height(); at < r.right(); at += kApart) {
      // From the bottom at `at` to the top a height further right, cut at the bar's sides; falling: upside down.
      const double from = std::max(at, r.left()), to = std::min(at + r.height(), r.right());
      if (to <= from) continue;
      const auto y = [&](double x) { return hatch == Hatch::rising ? r.bottom() - (x - at) : r.top() + (x - at); };
      p_.drawLine(QPointF(from, y(from)), QPointF(to, y(to)));
    }
    p_.restore();
  }

  /// Of what cannot be: its outline, struck out.
  void hollowMarker(const QPointF& at, const QColor& color, int shape, double size) {
    p_.save();
    p_.setRenderHint(QPainter::Antialiasing, true);
    p_.setBrush(t_.background);
    p_.setPen(QPen(color, 1.6));
    marker(at, shape, size + 1.0);
    p_.setPen(QPen(t_.error, 1.6));
    p_.drawLine(at - QPointF(size + 2, size + 2), at + QPointF(size + 2, size + 2));
    p_.drawLine(at - QPointF(size + 2, -size - 2), at + QPointF(size + 2, -size - 2));
    p_.restore();
  }

  double legend(double top) {
    const bool hollow = !c_.hollowName.isEmpty();
    if (c_.series.size() < 2 && !hollow) return top;
    double x = area_.left() + 14;
    const double line = m_.height() + 4;
    for (const ChartSeries& s : c_.series) {
      const double width = m_.horizontalAdvance(s.name) + 34;
      if (x + width > area_.right() - 8 && x > area_.left() + 20) {
        x = area_.left() + 14;
        top += line;
      }
      const QColor color = t_.series(s.color);
      p_.setPen(QPen(t_.text, 0.6));
      p_.setBrush(color);
      if (c_.kind == ChartKind::lines || c_.kind == ChartKind::scatter) {
        p_.setPen(QPen(color, 2));
        if (c_.kind == ChartKind::lines) p_.drawLine(QPointF(x, top + line / 2), QPointF(x + 18, top + line / 2));
        marker(QPointF(x + 9, top + line / 2), s.marker, 4);
      } else {
        p_.drawRect(QRectF(x + 2, top + line / 2 - 5, 14, 10));
        strokes(QRectF(x + 2, top + line / 2 - 5, 14, 10), s.color);
      }
      p_.setPen(t_.text);
      p_.drawText(QPointF(x + 22, top + line / 2 + m_.ascent() / 2 - 1), s.name);
      x += width;
    }
    if (hollow) {
      if (x + m_.horizontalAdvance(c_.hollowName) + 34 > area_.right() - 8) x = area_.left() + 14, top += line;
      p_.setPen(QPen(t_.muted, 2, Qt::DashLine));
      p_.drawLine(QPointF(x, top + line / 2), QPointF(x + 18, top + line / 2));
      hollowMarker(QPointF(x + 9, top + line / 2), t_.muted, 0, 4);
      p_.setPen(t_.text);
      p_.drawText(QPointF(x + 22, top + line / 2 + m_.ascent() / 2 - 1), c_.hollowName);
    }
    return top + line;
  }

  void bars() {
    const auto count = static_cast<std::size_t>(c_.categories.size());
    std::vector<double> sums(count, 0.0);
    for (const ChartSeries& s : c_.series) {
      for (const QPointF& v : s.points) {
        if (v.x() >= 0 && static_cast<std::size_t>(v.x()) < count) sums[static_cast<std::size_t>(v.x())] += std::max(0.0, v.y());
      }
    }
    double most = c_.limit.value_or(0.0);
    for (const double s : sums) most = std::max(most, s);
    if (most <= 0.0) most = 1.0;
    double names = 40;
    for (const QString& n : c_.categories) names = std::max(names, m_.horizontalAdvance(n));
    names = std::min(names, plot_.width() * 0.35);
    const QRectF inner = plot_.adjusted(names + 22, 2, -m_.horizontalAdvance(yText(most)) - 24, -m_.height() * 2.2 - 4);
    const Scale scale{.low = 0.0, .high = most, .from = inner.left(), .to = inner.right()};
    for (const double tick : round_ticks(0.0, most, std::max(2, static_cast<int>(inner.width() / (m_.averageCharWidth() * 14))), c_.unitY)) {
      p_.setPen(t_.grid);
      p_.drawLine(QPointF(scale(tick), inner.top()), QPointF(scale(tick), inner.bottom()));
      p_.setPen(t_.muted);
      p_.drawText(QRectF(scale(tick) - 60, inner.bottom() + 2, 120, m_.height()), Qt::AlignCenter, yText(tick));
    }
    p_.setPen(t_.muted);
    p_.drawText(QRectF(inner.left(), inner.bottom() + m_.height() + 3, inner.width(), m_.height()), Qt::AlignCenter, c_.yTitle);
    const double slot = inner.height() / static_cast<double>(std::max<std::size_t>(1, count));
    const double thick = std::clamp(slot * 0.62, 4.0, 46.0);
    std::vector<double> at(count, 0.0);
    for (std::size_t s = 0; s < c_.series.size(); ++s) {
      for (std::size_t i = 0; i < c_.series[s].points.size(); ++i) {
        const QPointF v = c_.series[s].points[i];
        const auto index = static_cast<std::size_t>(v.x());
        if (v.x() < 0 || index >= count || v.y() <= 0.0) continue;
        const QRectF bar(scale(at[index]), inner.top() + slot * (static_cast<double>(index) + 0.5) - thick / 2, scale(at[index] + v.y()) - scale(at[index]), thick);
        at[index] += v.y();
        const QColor color = t_.series(c_.series[s].color);
        p_.setPen(QPen(t_.background, 1));
        p_.setBrush(color);
        p_.drawRect(bar);
        strokes(bar, c_.series[s].color);
        const QString inside = yText(v.y());
        if (c_.series.size() > 1 && m_.horizontalAdvance(inside) + 8 < bar.width() && thick >= m_.height()) {
          const double wide = m_.horizontalAdvance(inside) + 8;
          if (hatchOfSeries(c_.series[s].color) != Hatch::none) p_.fillRect(QRectF(bar.center().x() - wide / 2, bar.center().y() - m_.height() / 2, wide, m_.height()), color);
          p_.setPen(readableOn(color));
          p_.drawText(bar, Qt::AlignCenter, inside);
        }
        hits_.push_back({static_cast<int>(s), static_cast<int>(i), bar});
      }
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double y = inner.top() + slot * (static_cast<double>(i) + 0.5);
      p_.setPen(t_.text);
      p_.drawText(QRectF(plot_.left() + 12, y - m_.height(), names + 4, 2 * m_.height()), Qt::AlignRight | Qt::AlignVCenter, m_.elidedText(c_.categories[static_cast<qsizetype>(i)], Qt::ElideMiddle, names + 2));
      p_.drawText(QPointF(scale(sums[i]) + 6, y + m_.ascent() / 2 - 1), yText(sums[i]));
    }
    if (c_.limit) limitAcross(scale(*c_.limit), inner);
  }

  void limitAcross(double x, const QRectF& inner) {
    p_.setPen(QPen(t_.error, 2, Qt::DashLine));
    p_.drawLine(QPointF(x, inner.top() - 2), QPointF(x, inner.bottom()));
    p_.setPen(t_.error);
    p_.drawText(QRectF(x - 220, inner.top() - 4, 214, m_.height()), Qt::AlignRight, c_.limitName);
  }

  void ranges(double& x0, double& x1, double& y0, double& y1) {
    x0 = y0 = std::numeric_limits<double>::infinity();
    x1 = y1 = -x0;
    std::vector<double> stack;
    for (const ChartSeries& s : c_.series) {
      for (std::size_t i = 0; i < s.points.size(); ++i) {
        double y = s.points[i].y();
        if (c_.kind == ChartKind::stackedArea) {
          if (stack.size() < s.points.size()) stack.resize(s.points.size(), 0.0);
          y = stack[i] += y;
        }
        if (!std::isfinite(y) || (c_.logY && y <= 0) || (c_.logX && s.points[i].x() <= 0)) continue;
        x0 = std::min(x0, s.points[i].x());
        x1 = std::max(x1, s.points[i].x());
        y0 = std::min(y0, y);
        y1 = std::max(y1, y);
      }
    }
    if (!std::isfinite(x0)) x0 = y0 = 0.0, x1 = y1 = 1.0;
    if (c_.limit && (c_.kind == ChartKind::stackedArea || *c_.limit < y1 * 3)) y1 = std::max(y1, *c_.limit * 1.04);
    if (c_.diagonal) {
      x0 = y0 = std::min(x0, y0);
      x1 = y1 = std::max(x1, y1);
    }
    if (c_.logX) x0 /= 1.25, x1 *= 1.25;
    if (c_.logY) y0 /= 1.25, y1 *= 1.25;
    if (!c_.logY) {
      const bool free = c_.kind == ChartKind::scatter && !c_.diagonal;  // where points stand to each other matters, not how far from 0
      if (!free) y0 = std::min(0.0, y0);
      const double margin = (y1 - y0) * 0.05;
      if (free) y0 -= margin;
      y1 += margin;
    }
    if (c_.kind == ChartKind::scatter && !c_.logX) {
      if (c_.diagonal) x0 = std::min(0.0, x0);
      const double margin = (x1 - x0) * 0.05;
      if (!c_.diagonal) x0 -= margin;
      x1 += margin;
    }
    if (x1 <= x0) x0 -= 0.5, x1 += 0.5;
    if (y1 <= y0) y1 = y0 + 1.0;
  }

  void points() {
    double x0, x1, y0, y1;
    ranges(x0, x1, y0, y1);
    frame_.all = frame_.shown = {.x0 = x0, .x1 = x1, .y0 = y0, .y1 = y1};
    frame_.log_x = c_.logX;
    frame_.log_y = c_.logY;
    if (part_) {
      frame_.shown = *part_;
      x0 = part_->x0, x1 = part_->x1, y0 = part_->y0, y1 = part_->y1;
    }
    const int wanted_y = std::max(2, static_cast<int>(plot_.height() / (m_.height() * 2.6)));
    const auto yticks = c_.logY ? log_ticks(y0, y1) : round_ticks(y0, y1, wanted_y, c_.unitY);
    double wide = 20;
    for (const double tick : yticks) wide = std::max(wide, m_.horizontalAdvance(yText(tick)));
    const double title_room = c_.yTitle.isEmpty() ? 0 : m_.height() + 4;
    const QRectF inner = plot_.adjusted(wide + 18 + title_room, 6, -22, -m_.height() * 2.2 - 6);
    const Scale sx{.low = x0, .high = x1, .from = inner.left(), .to = inner.right(), .log = c_.logX};
    const Scale sy{.low = y0, .high = y1, .from = inner.bottom(), .to = inner.top(), .log = c_.logY};
    frame_.plot = inner;
    axes(inner, sx, sy, yticks, x0, x1);
    p_.save();
    p_.setClipRect(part_ ? inner : inner.adjusted(-6, -6, 6, 6));  // markers at the edge are whole; of a part, nothing lies over the axes
    p_.setRenderHint(QPainter::Antialiasing, true);
    if (c_.diagonal) {
      p_.setPen(QPen(t_.muted, 1, Qt::DashLine));
      p_.drawLine(QPointF(sx(x0), sy(y0)), QPointF(sx(x1), sy(y1)));
    }
    if (c_.kind == ChartKind::stackedArea) {
      area(sx, sy, inner);
    } else {
      for (std::size_t s = 0; s < c_.series.size(); ++s) series(s, sx, sy);
    }
    if (c_.cursor) {
      p_.setPen(QPen(t_.text, 1, Qt::DashLine));
      p_.drawLine(QPointF(sx(*c_.cursor), inner.top()), QPointF(sx(*c_.cursor), inner.bottom()));
    }
    if (c_.mark && c_.mark->x() >= x0 && c_.mark->x() <= x1) {
      const QPointF at(sx(c_.mark->x()), sy(c_.mark->y()));
      p_.setPen(QPen(t_.text, 2));
      p_.setBrush(t_.background);
      p_.drawEllipse(at, 5, 5);
      const double width = m_.horizontalAdvance(c_.markName);
      const double left = at.x() + 10 + width > inner.right() ? at.x() - 10 - width : at.x() + 10;
      QColor back = t_.background;
      back.setAlpha(210);
      const QRectF box(left - 3, std::max(inner.top(), at.y() - m_.height() - 4), width + 6, m_.height() + 2);
      p_.fillRect(box, back);
      p_.setPen(t_.text);
      p_.drawText(box, Qt::AlignCenter, c_.markName);
    }
    if (c_.limit && *c_.limit <= y1 && *c_.limit >= y0) {
      p_.setPen(QPen(t_.error, 2, Qt::DashLine));
      p_.drawLine(QPointF(inner.left(), sy(*c_.limit)), QPointF(inner.right(), sy(*c_.limit)));
      QColor back = t_.background;
      back.setAlpha(225);
      const QRectF box(inner.left() + 6, sy(*c_.limit) + 3, m_.horizontalAdvance(c_.limitName) + 6, m_.height());
      p_.fillRect(box, back);
      p_.setPen(t_.error);
      p_.drawText(box, Qt::AlignCenter, c_.limitName);
    }
    p_.restore();
    // Only what is seen can be met.
    std::vector<ChartHit> seen;
    for (ChartHit& h : hits_) {
      h.rect = h.rect.intersected(inner.adjusted(-6, -6, 6, 6));
      if (!h.rect.isEmpty()) seen.push_back(h);
    }
    hits_ = std::move(seen);
  }

  void axes(const QRectF& inner, const Scale& sx, const Scale& sy, const std::vector<double>& yticks, double x0, double x1) {
    for (const double tick : yticks) {
      p_.setPen(t_.grid);
      p_.drawLine(QPointF(inner.left(), sy(tick)), QPointF(inner.right(), sy(tick)));
      p_.setPen(t_.muted);
      p_.drawText(QRectF(plot_.left(), sy(tick) - m_.height(), inner.left() - plot_.left() - 6, 2 * m_.height()), Qt::AlignRight | Qt::AlignVCenter, yText(tick));
    }
    std::vector<double> xticks;
    if (!c_.categories.isEmpty()) {
      for (qsizetype i = 0; i < c_.categories.size(); ++i) {
        if (static_cast<double>(i) >= x0 && static_cast<double>(i) <= x1) xticks.push_back(static_cast<double>(i));
      }
    } else {
      xticks = c_.logX ? log_ticks(x0, x1) : round_ticks(x0, x1, std::max(2, static_cast<int>(inner.width() / (m_.averageCharWidth() * 13))), c_.unitX);
    }
    double free = -1e9;
    for (const double tick : xticks) {
      const QString text = c_.categories.isEmpty() ? xText(tick) : c_.categories[static_cast<qsizetype>(tick)];
      const double width = m_.horizontalAdvance(text) + 8;
      p_.setPen(t_.grid);
      p_.drawLine(QPointF(sx(tick), inner.top()), QPointF(sx(tick), inner.bottom()));
      const double left = std::min(sx(tick) - width / 2, plot_.right() - width);  // the last one is not cut
      if (left < free) continue;
      free = left + width;
      p_.setPen(t_.muted);
      p_.drawText(QRectF(left, inner.bottom() + 3, width, m_.height()), Qt::AlignCenter, text);
    }
    p_.setPen(t_.muted);
    p_.drawLine(inner.bottomLeft(), inner.bottomRight());
    p_.drawText(QRectF(inner.left(), inner.bottom() + m_.height() + 5, inner.width(), m_.height()), Qt::AlignCenter, c_.xTitle);
    if (!c_.yTitle.isEmpty()) {
      p_.save();
      p_.translate(plot_.left() + 10 + m_.ascent() / 2, inner.center().y());
      p_.rotate(-90);
      p_.drawText(QRectF(-inner.height() / 2, -m_.height() / 2, inner.height(), m_.height()), Qt::AlignCenter, c_.yTitle);
      p_.restore();
    }
  }

  void area(const Scale& sx, const Scale& sy, const QRectF& inner) {
    std::vector<double> below;
    for (std::size_t s = 0; s < c_.series.size(); ++s) {
      const auto& pts = c_.series[s].points;
      below.resize(pts.size(), 0.0);
      if (pts.empty()) continue;
      QPolygonF shape;
      const bool step = c_.series[s].step;
      for (std::size_t i = 0; i < pts.size(); ++i) {
        if (step && i > 0) shape << QPointF(sx(pts[i].x()), sy(below[i - 1] + pts[i - 1].y()));
        shape << QPointF(sx(pts[i].x()), sy(below[i] + pts[i].y()));
      }
      for (std::size_t i = pts.size(); i-- > 0;) {
        shape << QPointF(sx(pts[i].x()), sy(below[i]));
        if (step && i > 0) shape << QPointF(sx(pts[i].x()), sy(below[i - 1]));
      }
      p_.setPen(Qt::NoPen);
      p_.setBrush(t_.series(c_.series[s].color));
      p_.setRenderHint(QPainter::Antialiasing, false);
      p_.drawPolygon(shape);
      for (std::size_t i = 0; i < pts.size(); ++i) {
        const double next = i + 1 < pts.size() ? sx(pts[i + 1].x()) : inner.right();
        const double high = sy(below[i] + pts[i].y());
        if (pts.size() < 4000 && pts[i].y() > 0) hits_.push_back({static_cast<int>(s), static_cast<int>(i), QRectF(sx(pts[i].x()), high, std::max(1.0, next - sx(pts[i].x())), std::max(1.0, sy(below[i]) - high))});
        below[i] += pts[i].y();
      }
    }
    // The outline of all together shows peaks that last no time (memory that one task takes and gives back).
    QPolygonF outline;
    const auto& times = c_.series.back().points;
    for (std::size_t i = 0; i < times.size() && i < below.size(); ++i) {
      if (c_.series.back().step && i > 0) outline << QPointF(sx(times[i].x()), sy(below[i - 1]));
      outline << QPointF(sx(times[i].x()), sy(below[i]));
    }
    p_.setBrush(Qt::NoBrush);
    p_.setPen(QPen(t_.text, 1));
    p_.drawPolyline(outline);
    p_.setRenderHint(QPainter::Antialiasing, true);
  }

  void series(std::size_t index, const Scale& sx, const Scale& sy) {
    const ChartSeries& s = c_.series[index];
    const QColor color = t_.series(s.color);
    if (c_.kind == ChartKind::lines) {
      QPolygonF line;
      for (std::size_t i = 0; i < s.points.size(); ++i) {
        if (s.step && i > 0) line << QPointF(sx(s.points[i].x()), sy(s.points[i - 1].y()));
        line << QPointF(sx(s.points[i].x()), sy(s.points[i].y()));
      }
      p_.setBrush(Qt::NoBrush);
      if (s.hollow.empty()) {
        p_.setPen(QPen(color, 2));
        p_.drawPolyline(line);
      } else {
        for (qsizetype i = 1; i < line.size(); ++i) {
          const bool solid = !s.hollow[static_cast<std::size_t>(i)] && !s.hollow[static_cast<std::size_t>(i) - 1];
          p_.setPen(QPen(color, 2, solid ? Qt::SolidLine : Qt::DashLine));
          p_.drawLine(line[i - 1], line[i]);
        }
      }
    }
    const bool dots = c_.kind == ChartKind::scatter || s.points.size() <= 60;
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      const QPointF at(sx(s.points[i].x()), sy(s.points[i].y()));
      if (i < s.hollow.size() && s.hollow[i]) {
        hollowMarker(at, color, s.marker, 3.5);
      } else if (dots) {
        QColor fill = color;
        fill.setAlpha(190);
        p_.setBrush(fill);
        p_.setPen(s.marker % 5 == 4 ? QPen(color, 2) : QPen(t_.text, 0.5));
        marker(at, s.marker, c_.kind == ChartKind::scatter ? 5 : 3.5);
      }
      hits_.push_back({static_cast<int>(index), static_cast<int>(i), QRectF(at.x() - 4, at.y() - 4, 8, 8)});
    }
  }

  QPainter& p_;
  const Chart& c_;
  const Theme& t_;
  QFont font_, bold_;
  QFontMetricsF m_;
  QRectF area_, plot_;
  const std::optional<ChartRange>& part_;
  ChartFrame& frame_;
  std::vector<ChartHit> hits_;
};

}  // namespace

std::vector<ChartHit> paintChart(QPainter& painter, const QRectF& area, const Chart& chart, const Theme& theme, const QFont& font, const std::optional<ChartRange>& part, ChartFrame* frame) {
  ChartFrame unasked;
  return Drawing(painter, area, chart, theme, font, part, frame != nullptr ? *frame : unasked).run();
}

}  // namespace sgsim::gui
