#include "gui/views/chart_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/views/announce.h"

namespace sgsim::gui {

ChartView::ChartView(const QString& accessible_name, QWidget* parent) : QWidget(parent) {
  setAccessibleName(accessible_name);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

QPointF ChartFrame::valueAt(const QPointF& pixel) const {
  const auto along = [](double share, double low, double high, bool log) { return log ? low * std::pow(high / low, share) : low + share * (high - low); };
  return {along((pixel.x() - plot.left()) / plot.width(), shown.x0, shown.x1, log_x), along((plot.bottom() - pixel.y()) / plot.height(), shown.y0, shown.y1, log_y)};
}

ChartRange ChartFrame::rangeOf(const QRectF& pixels) const {
  const QPointF low = valueAt(pixels.bottomLeft()), high = valueAt(pixels.topRight());
  return {.x0 = low.x(), .x1 = high.x(), .y0 = low.y(), .y1 = high.y()};
}

void ChartView::measure() {
  QImage probe(1, 1, QImage::Format_RGB32);
  QPainter painter(&probe);
  hits_ = paintChart(painter, QRectF(rect()), onScreen(), themeOf(palette()), font(), part_, &frame_);
}

void ChartView::showAll() {
  part_.reset();
  measure();
  update();
}

void ChartView::showPart(const QRectF& pixels) {
  if (frame_.plot.isNull() || pixels.width() <= 0.0 || pixels.height() <= 0.0) return;
  const ChartRange wanted = frame_.rangeOf(pixels), &all = frame_.all;
  ChartRange r{.x0 = std::max(wanted.x0, all.x0), .x1 = std::min(wanted.x1, all.x1), .y0 = std::max(wanted.y0, all.y0), .y1 = std::min(wanted.y1, all.y1)};
  // All of it but for rounding is all of it.
  const double near_x = 1e-9 * (all.x1 - all.x0), near_y = 1e-9 * (all.y1 - all.y0);
  if (r.x0 - all.x0 < near_x) r.x0 = all.x0;
  if (all.x1 - r.x1 < near_x) r.x1 = all.x1;
  if (r.y0 - all.y0 < near_y) r.y0 = all.y0;
  if (all.y1 - r.y1 < near_y) r.y1 = all.y1;
  // Deeper than this numbers have no more digits.
  if (!(r.x1 - r.x0 > 1e-9 * (all.x1 - all.x0)) || !(r.y1 - r.y0 > 1e-9 * (all.y1 - all.y0))) return;
  part_ = r == all ? std::nullopt : std::optional(r);
  measure();
  update();
}

void ChartView::zoom(double factor, const QPointF& at) {
  const QRectF p = frame_.plot;
  if (p.isNull()) return;
  const QPointF value = frame_.valueAt(at);
  const bool both = chart_.kind == ChartKind::scatter;  // curves keep their height
  const QPointF fixed(std::clamp(at.x(), p.left(), p.right()), std::clamp(at.y(), p.top(), p.bottom()));
  showPart(QRectF(QPointF(fixed.x() - (fixed.x() - p.left()) * factor, both ? fixed.y() - (fixed.y() - p.top()) * factor : p.top()),
                  QPointF(fixed.x() + (p.right() - fixed.x()) * factor, both ? fixed.y() + (p.bottom() - fixed.y()) * factor : p.bottom())));
  if (p.contains(at)) hold(value, at);
}

QPointF ChartFrame::pixelAt(const QPointF& value) const {
  const auto along = [](double v, double low, double high, bool log) { return log ? std::log(v / low) / std::log(high / low) : (v - low) / (high - low); };
  return {plot.left() + along(value.x(), shown.x0, shown.x1, log_x) * plot.width(), plot.bottom() - along(value.y(), shown.y0, shown.y1, log_y) * plot.height()};
}

/// Moves so that a value stands at a pixel; again, because labels of other numbers may have moved the axes.
void ChartView::hold(const QPointF& value, const QPointF& at) {
  for (int i = 0; i < 3 && part_; ++i) move(at - frame_.pixelAt(value));
}

void ChartView::move(const QPointF& by) {
  if (!part_ || frame_.plot.isNull()) return;
  // Stops at the ends: no further than what is left on that side, in pixels of the present scale.
  const QRectF& p = frame_.plot;
  const QPointF low = frame_.pixelAt({frame_.all.x0, frame_.all.y0}), high = frame_.pixelAt({frame_.all.x1, frame_.all.y1});
  const auto within = [](double v, double least, double most) { return std::max(std::min(least, 0.0), std::min(std::max(most, 0.0), v)); };
  const double dx = within(-by.x(), low.x() - p.left(), high.x() - p.right()), dy = within(-by.y(), high.y() - p.top(), low.y() - p.bottom());
  showPart(p.translated(dx, dy));
}

void ChartView::setChart(Chart chart) {
  chart_ = std::move(chart);
  hovered_.reset();
  QStringList facts;
  for (const ChartSeries& s : chart_.series) facts << tr("%1: %2 points").arg(s.name).arg(s.points.size());
  setAccessibleDescription(chart_.title + QLatin1String(". ") + facts.join(QLatin1String(", ")));
  // Points are known before the first painting, so that keys work at once. A part stays what it was of the same plane.
  const ChartRange before = frame_.all;
  measure();
  if (part_ && frame_.all != before) showAll();
  update();
}

Chart ChartView::onScreen() const {
  Chart shown = chart_;
  if (part_) {
    shown.title += tr(" \u2014 a part of it: Home shows all");
  } else if (!shown.hint.isEmpty()) {
    shown.title += QStringLiteral(": ") + shown.hint;
  }
  return shown;
}

void ChartView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.background);
  hits_ = paintChart(painter, QRectF(rect()), onScreen(), theme, font(), part_, &frame_);
  if (drag_ == Drag::mark && moved_far_) {
    QColor fill = palette().color(QPalette::Highlight);
    painter.setPen(QPen(fill, 1));
    fill.setAlpha(50);
    painter.setBrush(fill);
    painter.drawRect(QRectF(pressed_, last_).normalized().intersected(frame_.plot));
  }
  const auto ring = [&](std::pair<int, int> of, int width) {
    for (const ChartHit& h : hits_) {
      if (h.series != of.first || h.point != of.second) continue;
      painter.setBrush(Qt::NoBrush);
      painter.setPen(QPen(theme.text, width));
      painter.drawRect(h.rect.adjusted(-2, -2, 2, 2));
    }
  };
  if (hovered_) ring(*hovered_, 1);
  if (chart_.selected) ring(*chart_.selected, 2);
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }
}

const ChartHit* ChartView::hit(const QPointF& at) const {
  const ChartHit* best = nullptr;
  double least = 12.0;
  for (const ChartHit& h : hits_) {
    const double dx = std::max({h.rect.left() - at.x(), at.x() - h.rect.right(), 0.0});
    const double dy = std::max({h.rect.top() - at.y(), at.y() - h.rect.bottom(), 0.0});
    // Areas are met by their column, whatever the height.
    const double distance = std::hypot(dx, dy);
    if (distance < least) {
      least = distance;
      best = &h;
    }
  }
  return best;
}

QString ChartView::tip(const ChartHit& h) const {
  const ChartSeries& s = chart_.series[static_cast<std::size_t>(h.series)];
  const auto index = static_cast<std::size_t>(h.point);
  if (index < s.tips.size() && !s.tips[index].isEmpty()) return s.tips[index];
  const QPointF p = s.points[index];
  const auto category = static_cast<qsizetype>(p.x());
  const QString x = category >= 0 && category < chart_.categories.size() ? chart_.categories[category] : chart_.xText ? chart_.xText(p.x()) : numberText(p.x());
  return QStringLiteral("%1\n%2: %3").arg(s.name, x, chart_.yText ? chart_.yText(p.y()) : numberText(p.y()));
}

void ChartView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_ != Drag::none) {
    if ((event->position() - pressed_).manhattanLength() > 5.0) moved_far_ = true;
    if (moved_far_ && drag_ == Drag::move) hold(held_, event->position());
    if (moved_far_) last_ = event->position();
    update();
    return;
  }
  const ChartHit* h = hit(event->position());
  const auto now = h != nullptr ? std::optional(std::pair(h->series, h->point)) : std::nullopt;
  if (now == hovered_) return;
  hovered_ = now;
  if (h != nullptr) {
    QToolTip::showText(event->globalPosition().toPoint(), tip(*h), this);
  } else {
    QToolTip::hideText();
  }
  update();
}

void ChartView::leaveEvent(QEvent*) {
  hovered_.reset();
  update();
}

void ChartView::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}
void ChartView::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

void ChartView::selectPoint(int series, int point) {
  chart_.selected = std::pair(series, point);
  announce(this, tip({series, point, {}}));
  update();
  Q_EMIT pointSelected(series, point);
}

void ChartView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  if (event->button() != Qt::LeftButton) return;
  QToolTip::hideText();
  pressed_ = last_ = event->position();
  moved_far_ = false;
  if (!frame_.plot.isNull()) held_ = frame_.valueAt(pressed_);
  drag_ = part_ && !(event->modifiers() & Qt::ShiftModifier) ? Drag::move : Drag::mark;
}

void ChartView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const Drag was = std::exchange(drag_, Drag::none);
  if (was == Drag::none) return;
  if (!moved_far_) {
    if (const ChartHit* h = hit(event->position())) selectPoint(h->series, h->point);
    return;
  }
  if (was == Drag::mark && !frame_.plot.isNull()) {
    // A flat mark is a stretch along the axis, a narrow one a stretch up it.
    constexpr double kThin = 12.0;
    QRectF mark = QRectF(pressed_, event->position()).normalized().intersected(frame_.plot);
    if (mark.height() < kThin) mark = QRectF(mark.left(), frame_.plot.top(), mark.width(), frame_.plot.height());
    if (mark.width() < kThin) mark = QRectF(frame_.plot.left(), mark.top(), frame_.plot.width(), mark.height());
    showPart(mark);
  }
  update();
}

void ChartView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const ChartHit* h = hit(event->position())) {
    Q_EMIT pointOpened(h->series, h->point);
  } else {
    showAll();
  }
}

void ChartView::wheelEvent(QWheelEvent* event) {
  if (frame_.plot.isNull()) return QWidget::wheelEvent(event);
  zoom(std::pow(0.8, event->angleDelta().y() / 120.0), event->position());
  event->accept();
}

void ChartView::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(0.7, frame_.plot.center());
    case Qt::Key_Minus: return zoom(1.0 / 0.7, frame_.plot.center());
    case Qt::Key_Home:
    case Qt::Key_0: return showAll();
    case Qt::Key_Escape:
      if (drag_ == Drag::none) return QWidget::keyPressEvent(event);
      drag_ = Drag::none;
      return update();
    default: break;
  }
  if ((event->modifiers() & Qt::ShiftModifier) && (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right)) return move(QPointF((event->key() == Qt::Key_Left ? 0.1 : -0.1) * frame_.plot.width(), 0.0));
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && chart_.selected) {
    Q_EMIT pointOpened(chart_.selected->first, chart_.selected->second);
    return;
  }
  if ((event->key() != Qt::Key_Left && event->key() != Qt::Key_Right) || hits_.empty()) {
    QWidget::keyPressEvent(event);
    return;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < hits_.size(); ++i) {
    if (chart_.selected && hits_[i].series == chart_.selected->first && hits_[i].point == chart_.selected->second) at = i + (event->key() == Qt::Key_Right ? 1 : hits_.size() - 1);
  }
  const ChartHit h = hits_[at % hits_.size()];
  selectPoint(h.series, h.point);
  QToolTip::showText(mapToGlobal(h.rect.bottomRight().toPoint()), tip(h), this);
}

}  // namespace sgsim::gui
