#include "gui/views/timeline_legend.h"

#include <QPainter>

#include "gui/models/theme.h"

namespace sgsim::gui {
namespace {

constexpr int kSwatch = 22, kGap = 12;

}  // namespace

TimelineLegend::TimelineLegend(QWidget* parent) : QWidget(parent) {
  QSizePolicy policy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAccessibleName(tr("What the colours of the timeline mean"));
}

std::vector<TimelineLegend::Entry> TimelineLegend::arranged(int width, int& height) const {
  std::vector<Entry> entries;
  const int line = fontMetrics().height() + 4;
  int x = 0, y = 0;
  const auto add = [&](Entry entry) {
    const int wide = fontMetrics().horizontalAdvance(entry.words) + (entry.heading ? 0 : kSwatch + 5);
    if (x > 0 && x + wide > width) x = 0, y += line;
    entry.place = QRect(x, y, wide, line);
    x += wide + kGap;
    entries.push_back(std::move(entry));
  };
  add({.heading = true, .category = {}, .words = tr("tasks:"), .place = {}});
  for (const Category c : {Category::forward, Category::backward, Category::optimizer, Category::nvlink, Category::network, Category::wait, Category::copy, Category::host}) {
    add({.heading = false, .category = c, .words = QString::fromUtf8(label(c).data(), static_cast<qsizetype>(label(c).size())), .place = {}});
  }
  const int first_line = y;
  const std::size_t second = entries.size();
  add({.heading = true, .category = {}, .words = tr("all streams:"), .place = {}});
  for (const Category c : {Category::computing, Category::exposed, Category::bubble, Category::starved}) {
    add({.heading = false, .category = c, .words = QString::fromUtf8(label(c).data(), static_cast<qsizetype>(label(c).size())), .place = {}});
  }
  // The second group is not torn apart: it starts a line where it does not end in the one that it began in.
  if (y > first_line && entries[second].place.left() > 0) {
    const std::vector<Entry> again(entries.begin() + static_cast<std::ptrdiff_t>(second), entries.end());
    entries.resize(second);
    x = 0;
    y = first_line + line;
    for (const Entry& e : again) add(e);
  }
  height = y + line;
  return entries;
}

int TimelineLegend::heightForWidth(int width) const {
  int height = 0;
  (void)arranged(width, height);
  return height;
}

void TimelineLegend::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = themeOf(palette());
  int height = 0;
  for (const Entry& e : arranged(width(), height)) {
    painter.setPen(e.heading ? theme.muted : theme.text);
    painter.drawText(e.place.adjusted(e.heading ? 0 : kSwatch + 5, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, e.words);
    if (e.heading) continue;
    const double ratio = devicePixelRatioF();
    const int side = fontMetrics().ascent();
    QImage swatch(QSize(static_cast<int>(kSwatch * ratio), static_cast<int>(side * ratio)), QImage::Format_RGB32);
    swatch.fill(theme.category(e.category));
    swatch.setDevicePixelRatio(ratio);
    const QRgb ink = theme.hatchInk(e.category).rgb();
    for (int y = 0; y < swatch.height(); ++y) {
      for (int x = 0; x < swatch.width(); ++x) {
        if (inked(hatchOf(e.category), static_cast<int>(x / ratio), static_cast<int>(y / ratio))) swatch.setPixel(x, y, ink);
      }
    }
    painter.drawImage(QPointF(e.place.left(), e.place.top() + (e.place.height() - side) / 2), swatch);
  }
}

}  // namespace sgsim::gui
