#include "gui/views/timeline_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QPainterPath>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/models/chart.h"

namespace sgsim::gui {
namespace {

constexpr std::size_t kMostArrows = 40;

}  // namespace

TimelineView::TimelineView(QWidget* parent) : QAbstractScrollArea(parent), empty_text_(tr("No timeline yet. Simulate a scenario (F5).")) {
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setFocusPolicy(Qt::StrongFocus);
  viewport()->setMouseTracking(true);
  setFrameShape(QFrame::NoFrame);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  setAccessibleName(tr("Timeline"));
  setAccessibleDescription(tr("Tasks of each rank's streams over time. Arrow keys move, plus and minus zoom, Tab goes from task to task."));
}

double TimelineView::gutter() const { return std::min(fontMetrics().horizontalAdvance(QLatin1Char('0')) * 22.0, viewport()->width() * 0.3); }
double TimelineView::axisHeight() const { return fontMetrics().height() + 10.0; }

void TimelineView::setData(std::shared_ptr<const TimelineData> data) {
  const bool same_shape = data_ && data && data_->lanes.size() == data->lanes.size() && std::abs(data_->end - data->end) < 0.5 * data->end;
  data_ = std::move(data);
  painter_.forget();
  selected_.reset();
  hovered_.reset();
  matches_.clear();
  path_.clear();
  neighbours_ = {};
  if (!same_shape) collapsed_.clear();
  collapsed_.resize(data_ ? data_->lanes.size() : 0, false);
  geometry_.total = data_ ? std::max(data_->end, 1e-9) : 1.0;
  layoutRows();
  if (!same_shape) {
    geometry_.scroll = 0.0;
    geometry_.fit();
  }
  geometry_.clamp();
  moved();
  Q_EMIT selectionChanged();
}

void TimelineView::setEmptyText(const QString& text) {
  empty_text_ = text;
  viewport()->update();
}

void TimelineView::layoutRows() {
  geometry_.width = std::max(1.0, viewport()->width() - gutter());
  geometry_.height = std::max(1.0, viewport()->height() - axisHeight());
  const double scale = fontMetrics().height() / 16.0;
  places_ = data_ ? place_rows(*data_, collapsed_, scale) : std::vector<RowPlace>{};
  // Few rows use the space that there is.
  const double used = places_.empty() ? 0.0 : places_.back().y + places_.back().height + 8.0;
  if (used > 0.0 && used < geometry_.height) places_ = place_rows(*data_, collapsed_, scale * std::min(3.0, geometry_.height / used));
  painted_.reset();
  headings_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (!places_[i].row) headings_.push_back(i);
  }
  geometry_.content = places_.empty() ? 0.0 : places_.back().y + places_.back().height + 8.0;
  verticalScrollBar()->setPageStep(static_cast<int>(geometry_.height));
  verticalScrollBar()->setSingleStep(20);
  verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(geometry_.content - geometry_.height)));
  geometry_.clamp();
}

void TimelineView::moved() {
  const QSignalBlocker blocker(verticalScrollBar());
  verticalScrollBar()->setValue(static_cast<int>(geometry_.scroll));
  viewport()->update();
  Q_EMIT viewChanged(geometry_.from, geometry_.to);
}

void TimelineView::scrollContentsBy(int, int) {
  geometry_.scroll = verticalScrollBar()->value();
  viewport()->update();
}

void TimelineView::resizeEvent(QResizeEvent*) {
  layoutRows();
  viewport()->update();
}

void TimelineView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange || event->type() == QEvent::PaletteChange) {
    layoutRows();
    viewport()->update();
  }
}

void TimelineView::zoomTo(double from, double to) {
  geometry_.from = from;
  geometry_.to = std::max(to, from + TimelineGeometry::kShortest);
  geometry_.clamp();
  moved();
}

void TimelineView::zoomBy(double factor) {
  geometry_.zoom(factor, geometry_.width / 2.0);
  moved();
}

void TimelineView::fitAll() {
  geometry_.fit();
  moved();
}

void TimelineView::toggleLane(std::uint32_t lane) {
  if (lane >= collapsed_.size()) return;
  collapsed_[lane] = !collapsed_[lane];
  layoutRows();
  moved();
}

void TimelineView::select(std::optional<SliceRef> slice, bool reveal) {
  selected_ = slice;
  neighbours_ = {};
  if (slice && reveal && data_) {
    if (collapsed_[slice->lane] && slice->row > 0) toggleLane(slice->lane);
    const Slice& s = data_->at(*slice);
    const double length = std::max(s.end - s.arrival, 1e-9);
    const bool visible = s.arrival >= geometry_.from && s.end <= geometry_.to;
    if (!visible || length / geometry_.span() * geometry_.width < 6.0) {
      const double half = std::max(length * 10.0, std::min(geometry_.span(), length * 200.0)) / 2.0;
      geometry_.from = (s.arrival + s.end) / 2.0 - half;
      geometry_.to = geometry_.from + 2.0 * half;
    }
    const RowPlace* p = placeOfRow(slice->lane, slice->row);
    if (p != nullptr && (p->y < geometry_.scroll || p->y + p->height > geometry_.scroll + geometry_.height)) geometry_.scroll = p->y - geometry_.height / 3.0;
    geometry_.clamp();
    moved();
  }
  viewport()->update();
  Q_EMIT selectionChanged();
}

void TimelineView::setMatches(std::vector<SliceRef> matches) {
  matches_ = std::move(matches);
  viewport()->update();
}
void TimelineView::setNeighbours(Neighbours neighbours) {
  neighbours_ = std::move(neighbours);
  viewport()->update();
}
void TimelineView::setPath(std::vector<SliceRef> path) {
  path_ = std::move(path);
  viewport()->update();
}

const RowPlace* TimelineView::placeOfRow(std::uint32_t lane, std::uint32_t row) const {
  if (lane >= headings_.size()) return nullptr;
  const std::size_t at = headings_[lane] + 1 + row;
  return at < places_.size() && places_[at].lane == lane ? &places_[at] : nullptr;
}

QRectF TimelineView::rectOf(SliceRef slice) const {
  const RowPlace* place = placeOfRow(slice.lane, slice.row);
  if (place == nullptr) return {};
  const Slice& s = data_->at(slice);
  const double left = geometry_.x(s.start), right = geometry_.x(s.end);
  return {left, place->y - geometry_.scroll, std::max(right - left, 2.0), place->height};
}

QPointF TimelineView::placeOf(SliceRef slice) const {
  const QRectF r = rectOf(slice).intersected(QRectF(0, 0, geometry_.width, geometry_.height));
  return r.center() + QPointF(gutter(), axisHeight());
}

const RowPlace* TimelineView::placeAt(double plot_y) const {
  const double y = plot_y + geometry_.scroll;
  for (const RowPlace& p : places_) {
    if (y >= p.y && y < p.y + p.height) return &p;
  }
  return nullptr;
}

std::optional<SliceRef> TimelineView::hit(const QPointF& point) const {
  const double x = point.x() - gutter(), y = point.y() - axisHeight();
  if (!data_ || x < 0 || y < 0) return std::nullopt;
  const RowPlace* place = placeAt(y);
  if (place == nullptr || !place->row) return std::nullopt;
  const auto slice = slice_at(data_->lanes[place->lane].rows[*place->row], geometry_.time(x), geometry_.span() / geometry_.width * 3.0);
  if (!slice) return std::nullopt;
  return SliceRef{place->lane, *place->row, *slice};
}

void TimelineView::paintInto(QPainter& painter, const QSize& size) {
  const TimelineGeometry kept = geometry_;
  const Theme theme = themeOf(palette());
  const double g = gutter(), a = axisHeight();
  geometry_.width = std::max(1.0, size.width() - g);
  geometry_.height = std::max(1.0, size.height() - a);
  if (!data_ || data_->lanes.empty()) {
    painter.fillRect(QRect(QPoint(0, 0), size), theme.background);
    painter.setPen(theme.muted);
    painter.drawText(QRectF(QPointF(0, 0), size).adjusted(40, 40, -40, -40), Qt::AlignCenter | Qt::TextWordWrap, empty_text_);
  } else {
    const double ratio = painter.device()->devicePixelRatioF();
    // Hovering and selecting repaint the marks only.
    const Painted wanted{.geometry = geometry_, .ratio = ratio, .dark = theme.dark};
    if (painted_ != wanted) painter_.paint(frame_, *data_, places_, geometry_, theme, font(), ratio);
    painted_ = wanted;
    painter.drawImage(QPointF(g, a), frame_);
    painter.save();
    painter.setClipRect(QRectF(g, a, geometry_.width, geometry_.height));
    painter.translate(g, a);
    drawMarks(painter);
    painter.restore();
    drawHeadings(painter, QRectF(0, a, g, geometry_.height));
    drawAxis(painter, QRectF(g, 0, geometry_.width, a));
  }
  geometry_ = kept;
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.setFont(font());
  paintInto(painter, viewport()->size());
  if (hasFocus()) {
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
  }
}

void TimelineView::drawAxis(QPainter& painter, const QRectF& area) {
  const Theme theme = themeOf(palette());
  painter.fillRect(area, theme.surface);
  painter.setPen(theme.grid);
  painter.drawLine(area.bottomLeft(), area.bottomRight());
  for (const double time : axis_times(geometry_, fontMetrics().horizontalAdvance(QStringLiteral("00.000 ms")) * 1.5)) {
    const double x = area.left() + geometry_.x(time);
    painter.setPen(theme.muted);
    painter.drawLine(QPointF(x, area.bottom() - 5), QPointF(x, area.bottom()));
    const QString text = timeText(time);
    const double width = fontMetrics().horizontalAdvance(text) + 2.0;
    const double left = std::clamp(x - width / 2.0, area.left(), std::max(area.left(), area.right() - width));
    painter.drawText(QRectF(left, area.top(), width, area.height() - 5), Qt::AlignCenter, text);
  }
}

void TimelineView::drawHeadings(QPainter& painter, const QRectF& area) {
  const Theme theme = themeOf(palette());
  painter.save();
  painter.setClipRect(QRectF(area.left(), area.top(), area.width() + geometry_.width, area.height()));  // an export has a width of its own
  painter.fillRect(area, theme.surface);
  QFont bold = font();
  bold.setBold(true);
  for (const RowPlace& p : places_) {
    const double y = area.top() + p.y - geometry_.scroll;
    if (y + p.height < area.top() || y > area.bottom()) continue;
    const Lane& lane = data_->lanes[p.lane];
    const QRectF place(area.left() + 6, y, area.width() - 12, p.height);
    if (!p.row) {
      // A band from edge to edge, so that no edge crosses its words.
      painter.fillRect(QRectF(area.left(), y, area.width() + geometry_.width, p.height), theme.surface);
      painter.setFont(bold);
      painter.setPen(theme.text);
      const QString arrow = collapsed_[p.lane] ? QStringLiteral("\u25B8 ") : QStringLiteral("\u25BE ");
      const QString title = arrow + QString::fromStdString(lane.title);
      painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, title);
      const double used = QFontMetricsF(bold).horizontalAdvance(title) + 8.0;
      painter.setFont(font());
      painter.setPen(theme.muted);
      painter.drawText(QRectF(place.left() + used, y, area.width() + geometry_.width - used - 12, p.height), Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(QString::fromStdString(lane.subtitle), Qt::ElideRight, static_cast<int>(area.width() + geometry_.width - used) - 12));
      continue;
    }
    painter.setPen(theme.muted);
    const Row& row = lane.rows[*p.row];
    const QString name = row.summary ? tr("all streams") : QString::fromStdString(row.name);
    painter.drawText(place.adjusted(12, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(name, Qt::ElideRight, static_cast<int>(place.width()) - 12));
    painter.setPen(theme.grid);
    painter.drawLine(QPointF(area.right(), y), QPointF(area.right(), y + p.height));
  }
  painter.restore();
  painter.fillRect(QRectF(0, 0, area.width(), area.top()), theme.surface);
}

void TimelineView::outline(QPainter& painter, SliceRef slice, const QPen& pen) const {
  const QRectF r = rectOf(slice);
  if (r.right() < 0 || r.left() > geometry_.width || r.bottom() < 0 || r.top() > geometry_.height) return;
  painter.setPen(pen);
  painter.drawRect(r.intersected(QRectF(-4, -4, geometry_.width + 8, geometry_.height + 8)));
}

void TimelineView::drawPath(QPainter& painter, const Theme& theme) {
  painter.fillRect(QRectF(0, 0, geometry_.width, geometry_.height), QColor(theme.background.red(), theme.background.green(), theme.background.blue(), 165));
  // Stretches closer than a pixel are one mark: a path of a million tasks draws as what is seen of it.
  std::vector<double> drawn(places_.size(), -10.0);
  const auto first = std::lower_bound(path_.begin(), path_.end(), geometry_.from, [&](SliceRef r, double t) { return data_->at(r).end < t; });
  for (auto it = first; it != path_.end(); ++it) {
    const Slice& s = data_->at(*it);
    if (s.start > geometry_.to) break;
    const RowPlace* place = placeOfRow(it->lane, it->row);
    const double right = geometry_.x(s.end);
    if (place == nullptr || right < drawn[static_cast<std::size_t>(place - places_.data())] + 1.0) continue;
    drawn[static_cast<std::size_t>(place - places_.data())] = right;
    QRectF r = rectOf(*it);
    if (r.width() >= 4.0) r.setLeft(r.left() + 1.0);  // neighbours stay apart
    painter.fillRect(r, theme.category(s.category));
  }
}

void TimelineView::drawMatches(QPainter& painter, const Theme& theme) {
  std::vector<double> drawn(places_.size(), -10.0);
  painter.setPen(QPen(theme.text, 2));
  for (const SliceRef& match : matches_) {  // by start
    const Slice& s = data_->at(match);
    if (s.start > geometry_.to) break;
    if (s.end < geometry_.from) continue;
    const RowPlace* place = placeOfRow(match.lane, match.row);
    const double right = geometry_.x(s.end);
    if (place == nullptr || place->y + place->height < geometry_.scroll || place->y > geometry_.scroll + geometry_.height) continue;
    double& last = drawn[static_cast<std::size_t>(place - places_.data())];
    if (right < last + 2.0) continue;
    last = right;
    painter.drawRect(rectOf(match).intersected(QRectF(-4, -4, geometry_.width + 8, geometry_.height + 8)));
  }
}

void TimelineView::drawNeighbours(QPainter& painter, const Theme& theme) {
  const auto arrow = [&](SliceRef a, SliceRef b, const QColor& color) {
    const QRectF from = rectOf(a), to = rectOf(b);
    QPainterPath path(QPointF(from.right(), from.center().y()));
    const double bend = std::max(12.0, std::min(60.0, std::abs(to.left() - from.right()) / 2.0));
    path.cubicTo(QPointF(from.right() + bend, from.center().y()), QPointF(to.left() - bend, to.center().y()), QPointF(to.left(), to.center().y()));
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(color, 1.6));
    painter.drawPath(path);
    painter.drawEllipse(QPointF(to.left(), to.center().y()), 3, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
  };
  std::size_t drawn = 0;
  for (const SliceRef& s : neighbours_.before) {
    if (drawn++ < kMostArrows) arrow(s, *selected_, theme.error);
    outline(painter, s, QPen(theme.error, 1.5, Qt::DashLine));
  }
  drawn = 0;
  for (const SliceRef& s : neighbours_.after) {
    if (drawn++ < kMostArrows) arrow(*selected_, s, theme.good);
    outline(painter, s, QPen(theme.good, 1.5, Qt::DotLine));
  }
  outline(painter, *selected_, QPen(theme.text, 3));
}

void TimelineView::drawMarks(QPainter& painter) {
  const Theme theme = themeOf(palette());
  painter.setBrush(Qt::NoBrush);
  if (!path_.empty()) drawPath(painter, theme);
  if (!matches_.empty()) drawMatches(painter, theme);
  if (selected_) drawNeighbours(painter, theme);
  if (hovered_ && hovered_ != selected_) outline(painter, *hovered_, QPen(theme.text, 1));
  if (selecting_stretch_) {
    QColor c = palette().color(QPalette::Highlight);
    c.setAlpha(60);
    painter.fillRect(QRectF(QPointF(std::min(stretch_from_, stretch_to_), 0), QPointF(std::max(stretch_from_, stretch_to_), geometry_.height)), c);
    painter.setPen(theme.text);
    painter.drawText(QPointF(std::min(stretch_from_, stretch_to_) + 4, 16), timeText(std::abs(geometry_.time(stretch_to_) - geometry_.time(stretch_from_))));
  }
}

}  // namespace sgsim::gui
