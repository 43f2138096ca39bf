#include "gui/views/chart_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/views/announce.h"

namespace sgsim::gui {

ChartView::ChartView(const QString& accessible_name, QWidget* parent) : QWidget(parent) {
  setAccessibleName(accessible_name);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
}

void ChartView::setChart(Chart chart) {
  chart_ = std::move(chart);
  hovered_.reset();
  QStringList facts;
  for (const ChartSeries& s : chart_.series) facts << tr("%1: %2 points").arg(s.name).arg(s.points.size());
  setAccessibleDescription(chart_.title + QLatin1String(". ") + facts.join(QLatin1String(", ")));
  // Points are known before the first painting, so that keys work at once.
  QImage probe(1, 1, QImage::Format_RGB32);
  QPainter painter(&probe);
  hits_ = paintChart(painter, QRectF(rect()), onScreen(), themeOf(palette()), font());
  painter.end();
  update();
}

Chart ChartView::onScreen() const {
  Chart shown = chart_;
  if (!shown.hint.isEmpty()) shown.title += QStringLiteral(": ") + shown.hint;
  return shown;
}

void ChartView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  painter.fillRect(rect(), theme.background);
  hits_ = paintChart(painter, QRectF(rect()), onScreen(), theme, font());
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
  if (const ChartHit* h = hit(event->position()); h != nullptr && event->button() == Qt::LeftButton) selectPoint(h->series, h->point);
}

void ChartView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (const ChartHit* h = hit(event->position())) Q_EMIT pointOpened(h->series, h->point);
}

void ChartView::keyPressEvent(QKeyEvent* event) {
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
