#include "gui/views/flow_layout.h"

#include <QLabel>
#include <algorithm>

namespace sgsim::gui {
namespace {

bool belongsToNext(const QLayoutItem& item) {
  auto* label = qobject_cast<const QLabel*>(const_cast<QLayoutItem&>(item).widget());
  return label != nullptr && label->buddy() != nullptr;
}

bool grows(const QLayoutItem& item) { return (item.expandingDirections() & Qt::Horizontal) != 0 && item.maximumSize().width() > item.sizeHint().width(); }

/// A control that may grow needs its least only.
int widthOf(const QLayoutItem& item) { return grows(item) ? std::max(item.minimumSize().width(), std::min(item.sizeHint().width(), 260)) : item.sizeHint().width(); }

}  // namespace

FlowLayout::~FlowLayout() {
  for (QLayoutItem* item : items_) delete item;
}

QLayoutItem* FlowLayout::itemAt(int index) const { return index >= 0 && index < count() ? items_[static_cast<std::size_t>(index)] : nullptr; }

QLayoutItem* FlowLayout::takeAt(int index) {
  QLayoutItem* item = itemAt(index);
  if (item != nullptr) items_.erase(items_.begin() + index);
  return item;
}

QSize FlowLayout::sizeHint() const {
  const QMargins m = contentsMargins();
  int width = m.left() + m.right(), height = 0;
  for (const QLayoutItem* item : items_) {
    if (item->isEmpty()) continue;
    width += widthOf(*item) + spacing();
    height = std::max(height, item->sizeHint().height());
  }
  return {width, height + m.top() + m.bottom()};
}

QSize FlowLayout::minimumSize() const {
  const QMargins m = contentsMargins();
  QSize least;
  for (const QLayoutItem* item : items_) {
    if (!item->isEmpty()) least = least.expandedTo(item->minimumSize());
  }
  return least + QSize(m.left() + m.right(), m.top() + m.bottom());
}

void FlowLayout::setGeometry(const QRect& rect) {
  QLayout::setGeometry(rect);
  arrange(rect, true);
}

int FlowLayout::arrange(const QRect& rect, bool place) const {
  const QMargins m = contentsMargins();
  const QRect inner = rect.marginsRemoved(m);
  int y = inner.top(), used = 0, height = 0;
  std::vector<QLayoutItem*> line;
  const auto finish = [&] {
    if (line.empty()) return;
    if (place) placeLine(line, QRect(inner.left(), y, inner.width(), height));
    y += height + spacing();
    line.clear();
    used = height = 0;
  };
  for (std::size_t i = 0; i < items_.size();) {
    // What stays together.
    std::vector<QLayoutItem*> group;
    int width = 0;
    bool more = true;
    for (; i < items_.size() && more; ++i) {
      if (items_[i]->isEmpty() && items_[i]->spacerItem() == nullptr) continue;
      more = belongsToNext(*items_[i]);
      width += widthOf(*items_[i]) + (group.empty() ? 0 : spacing());
      group.push_back(items_[i]);
    }
    if (group.empty()) break;
    if (!line.empty() && used + spacing() + width > inner.width()) finish();
    used += width + (line.empty() ? 0 : spacing());
    for (QLayoutItem* item : group) {
      height = std::max(height, item->sizeHint().height());
      line.push_back(item);
    }
  }
  finish();
  return std::max(0, y - inner.top() - spacing()) + m.top() + m.bottom();
}

void FlowLayout::placeLine(const std::vector<QLayoutItem*>& line, const QRect& rect) const {
  int used = 0, growing = 0;
  for (const QLayoutItem* item : line) {
    used += widthOf(*item) + (item == line.front() ? 0 : spacing());
    growing += grows(*item) ? 1 : 0;
  }
  const int more = growing > 0 ? std::max(0, rect.width() - used) / growing : 0;
  int x = rect.left();
  for (QLayoutItem* item : line) {
    const int width = std::min(widthOf(*item) + (grows(*item) ? more : 0), rect.width());
    const int height = std::min(item->sizeHint().height(), rect.height());
    item->setGeometry(QRect(x, rect.top() + (rect.height() - height) / 2, width, height));
    x += width + spacing();
  }
}

}  // namespace sgsim::gui
