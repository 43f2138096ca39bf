// What mouse and keys do to a TimelineView.
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "gui/views/timeline_view.h"
#include "sim/core/units_text.h"

namespace sgsim::gui {

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPoint delta = event->angleDelta();
  const double notches = (delta.y() != 0 ? delta.y() : delta.x()) / 120.0;
  if (event->modifiers() & Qt::ControlModifier) {
    geometry_.pan(0.0, -notches * 60.0);
  } else if ((event->modifiers() & Qt::ShiftModifier) || delta.y() == 0) {
    geometry_.pan(-notches * geometry_.width / 10.0, 0.0);
  } else {
    geometry_.zoom(std::pow(0.8, notches), event->position().x() - gutter());
  }
  moved();
  event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  setFocus(Qt::MouseFocusReason);
  drag_from_ = event->position();
  moved_far_ = false;
  const double x = event->position().x() - gutter();
  if (x < 0) return;
  dragging_ = true;
  if (event->modifiers() & Qt::ShiftModifier) {
    selecting_stretch_ = true;
    stretch_from_ = stretch_to_ = x;
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!dragging_) {
    const auto now = hit(event->position());
    if (now != hovered_) {
      hovered_ = now;
      viewport()->update();
    }
    return;
  }
  const QPointF by = event->position() - drag_from_;
  if (by.manhattanLength() > 4) moved_far_ = true;
  if (selecting_stretch_) {
    stretch_to_ = event->position().x() - gutter();
    viewport()->update();
  } else if (moved_far_) {
    geometry_.pan(-by.x(), -by.y());
    drag_from_ = event->position();
    moved();
  }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const bool was_stretch = std::exchange(selecting_stretch_, false);
  dragging_ = false;
  if (was_stretch && std::abs(stretch_to_ - stretch_from_) > 4) {
    const double a = geometry_.time(std::min(stretch_from_, stretch_to_)), b = geometry_.time(std::max(stretch_from_, stretch_to_));
    zoomTo(a, b);
    return;
  }
  if (moved_far_ || !data_) return;
  if (event->position().x() < gutter()) {
    const RowPlace* place = placeAt(event->position().y() - axisHeight());
    if (place != nullptr && !place->row) toggleLane(place->lane);
    return;
  }
  select(hit(event->position()), false);
}

void TimelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  const auto slice = hit(event->position());
  if (!slice) return;
  select(slice, false);
  geometry_.show(data_->at(*slice).arrival, data_->at(*slice).end);
  moved();
}

void TimelineView::step(int by) {
  if (!data_ || data_->lanes.empty()) return;
  if (!selected_) {
    for (std::uint32_t r = 0; r < data_->lanes[0].rows.size(); ++r) {
      if (!data_->lanes[0].rows[r].summary) {
        select(SliceRef{0, r, 0}, true);
        return;
      }
    }
    return;
  }
  SliceRef next = *selected_;
  const auto count = static_cast<std::int64_t>(data_->lanes[next.lane].rows[next.row].slices.size());
  next.slice = static_cast<std::uint32_t>(std::clamp<std::int64_t>(static_cast<std::int64_t>(next.slice) + by, 0, count - 1));
  select(next, true);
}

bool TimelineView::focusNextPrevChild(bool next) {
  // Tab walks through tasks only once one is selected, so that the keyboard is never trapped here.
  return selected_ ? false : QAbstractScrollArea::focusNextPrevChild(next);
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  const double tenth = geometry_.width / 10.0;
  switch (event->key()) {
    case Qt::Key_Left:
    case Qt::Key_A: geometry_.pan(-tenth, 0.0); break;
    case Qt::Key_Right:
    case Qt::Key_D: geometry_.pan(tenth, 0.0); break;
    case Qt::Key_Up: geometry_.pan(0.0, -60.0); break;
    case Qt::Key_Down: geometry_.pan(0.0, 60.0); break;
    case Qt::Key_PageUp: geometry_.pan(0.0, -geometry_.height * 0.9); break;
    case Qt::Key_PageDown: geometry_.pan(0.0, geometry_.height * 0.9); break;
    case Qt::Key_W:
    case Qt::Key_Plus:
    case Qt::Key_Equal: geometry_.zoom(0.7, geometry_.width / 2.0); break;
    case Qt::Key_S:
    case Qt::Key_Minus: geometry_.zoom(1.0 / 0.7, geometry_.width / 2.0); break;
    case Qt::Key_Home:
    case Qt::Key_0: geometry_.fit(); break;
    case Qt::Key_F:
      if (selected_) geometry_.show(data_->at(*selected_).arrival, data_->at(*selected_).end);
      break;
    case Qt::Key_Tab:
    case Qt::Key_N: step(1); return;
    case Qt::Key_Backtab:
    case Qt::Key_P: step(-1); return;
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (selected_) toggleLane(selected_->lane);
      return;
    case Qt::Key_Escape: select(std::nullopt, false); return;
    default: QAbstractScrollArea::keyPressEvent(event); return;
  }
  moved();
}

bool TimelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave && hovered_) {
    hovered_.reset();
    viewport()->update();
  }
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    const auto slice = hit(help->pos());
    if (!slice) {
      QToolTip::hideText();
      return true;
    }
    QString text;
    for (const auto& [what, value] : facts_of(*data_, nullptr, *slice)) {
      text += QStringLiteral("<tr><td>%1&nbsp;</td><td>%2</td></tr>").arg(QString::fromStdString(what).toHtmlEscaped(), QString::fromStdString(value).toHtmlEscaped());
    }
    QToolTip::showText(help->globalPos(), QStringLiteral("<table>%1</table>").arg(text), this);
    return true;
  }
  return QAbstractScrollArea::viewportEvent(event);
}

}  // namespace sgsim::gui
