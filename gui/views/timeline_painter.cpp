#include "gui/views/timeline_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cstring>

namespace sgsim::gui {
namespace {

/// A label is drawn where at least this many pixels of its task show.
constexpr double kLabelWidth = 46.0;
/// A label's image is cut at this width.
constexpr int kLongestLabel = 420;

int shade(float value) { return std::min(static_cast<int>(value + 0.5f), 255); }  // never negative

}  // namespace

void TimelinePainter::paintRow(QImage& image, const Row& row, const RowPlace& place, const TimelineGeometry& g, double ratio) {
  const int columns = image.width();
  const int top = std::max(0, static_cast<int>(std::lround((place.y - g.scroll) * ratio)));
  const int bottom = std::min(image.height(), static_cast<int>(std::lround((place.y - g.scroll + place.height) * ratio)));
  if (bottom <= top) return;
  cover(row, g.from, g.to, columns, paints_, mixed_);
  line_.resize(static_cast<std::size_t>(columns));
  const QRgb empty = qRgb(static_cast<int>(back_[0]), static_cast<int>(back_[1]), static_cast<int>(back_[2]));
  for (int c = 0; c < columns; ++c) {
    auto [r, g1, b, sum] = mixed_[static_cast<std::size_t>(c)];
    if (sum <= 0.0f) {
      line_[static_cast<std::size_t>(c)] = empty;
      continue;
    }
    if (sum > 1.0f) {
      r /= sum;
      g1 /= sum;
      b /= sum;
      sum = 1.0f;
    } else if (sum > 0.0f && sum < 0.25f) {
      // A lone short task must stay visible.
      const float stronger = 0.25f / sum;
      r *= stronger;
      g1 *= stronger;
      b *= stronger;
      sum = 0.25f;
    }
    const float rest = 1.0f - sum;
    line_[static_cast<std::size_t>(c)] = qRgb(shade(r + rest * back_[0]), shade(g1 + rest * back_[1]), shade(b + rest * back_[2]));
  }
  for (int y = top; y < bottom; ++y) std::memcpy(image.scanLine(y), line_.data(), line_.size() * sizeof(QRgb));
  // Edges between tasks that are wide enough to tell apart.
  const double per_pixel = g.span() / columns;
  const std::size_t first = static_cast<std::size_t>(std::upper_bound(row.slices.begin(), row.slices.end(), g.from, [](double t, const Slice& s) { return t < s.end; }) - row.slices.begin());
  if (row.slices.empty() || row.summary) return;
  const std::size_t last = static_cast<std::size_t>(std::lower_bound(row.slices.begin(), row.slices.end(), g.to, [](const Slice& s, double t) { return s.start < t; }) - row.slices.begin());
  if (last < first || last - first > static_cast<std::size_t>(columns) / 4) return;
  for (std::size_t i = first; i < last; ++i) {
    const Slice& s = row.slices[i];
    if (s.end - s.start < 4.0 * per_pixel) continue;
    const int x = static_cast<int>((s.start - g.from) / per_pixel);
    if (x < 0 || x >= columns) continue;
    const QRgb edge = qRgb(static_cast<int>(back_[0]), static_cast<int>(back_[1]), static_cast<int>(back_[2]));
    for (int y = top; y < bottom; ++y) reinterpret_cast<QRgb*>(image.scanLine(y))[x] = edge;
  }
}

const QImage& TimelinePainter::label(const TimelineData& data, std::uint32_t name, const QColor& color, const QFont& font, double ratio) {
  const quint64 key = (static_cast<quint64>(name) << 1) | (color == Qt::white ? 1u : 0u);
  const auto found = labels_.constFind(key);
  if (found != labels_.constEnd()) return *found;
  const QFontMetricsF metrics(font);
  const QString text = QString::fromStdString(data.names[name]);
  const int width = std::min(kLongestLabel, static_cast<int>(metrics.horizontalAdvance(text)) + 4);
  QImage image(QSize(static_cast<int>(width * ratio), static_cast<int>((metrics.height() + 1.0) * ratio)), QImage::Format_ARGB32_Premultiplied);
  image.setDevicePixelRatio(ratio);
  image.fill(Qt::transparent);
  QPainter painter(&image);
  painter.setFont(font);
  painter.setPen(color);
  painter.drawText(QPointF(0.0, metrics.ascent()), text);
  return *labels_.insert(key, image);
}

void TimelinePainter::paintLabels(QImage& image, const TimelineData& data, const std::vector<RowPlace>& places, const TimelineGeometry& g,
                                  const Theme& theme, const QFont& font, double ratio) {
  if (labels_of_ != &data || labels_font_ != font || labels_ratio_ != ratio || labels_.size() > 4000) {
    labels_.clear();
    labels_of_ = &data;
    labels_font_ = font;
    labels_ratio_ = ratio;
  }
  QColor ink[kCategories];
  for (std::size_t k = 0; k < kCategories; ++k) ink[k] = readableOn(theme.category(static_cast<Category>(k)));
  QPainter painter(&image);
  const double least = g.span() / g.width * kLabelWidth;
  for (const RowPlace& place : places) {
    if (!place.row || place.y + place.height < g.scroll || place.y > g.scroll + g.height) continue;
    const Row& row = data.lanes[place.lane].rows[*place.row];
    if (row.summary || place.height < 12.0) continue;
    auto at = std::upper_bound(row.slices.begin(), row.slices.end(), g.from, [](double t, const Slice& s) { return t < s.end; });
    const auto last = std::lower_bound(row.slices.begin(), row.slices.end(), g.to, [](const Slice& s, double t) { return s.start < t; });
    if (last - at > 4000) {
      // Only the few wide ones among many: look at the widest blocks' worth, not at each (they are narrower than a label).
      if (g.span() / static_cast<double>(last - at) * 40.0 < least) continue;
    }
    for (; at < last; ++at) {
      const double from = std::max(at->start, g.from), to = std::min(at->end, g.to);
      if (to - from < least) continue;
      const QImage& text = label(data, at->name, ink[static_cast<std::size_t>(at->category)], font, ratio);
      const double room = g.x(to) - g.x(from) - 6.0;
      const double width = std::min(room, text.width() / ratio);
      const double height = text.height() / ratio;
      // Whole device pixels: copying without resampling is quick and sharp.
      const double x = std::round((g.x(from) + 4.0) * ratio) / ratio;
      const double y = std::round((place.y - g.scroll + (place.height - height) / 2.0) * ratio) / ratio;
      painter.drawImage(QPointF(x, y), text, QRectF(0, 0, std::floor(width * ratio), text.height()));
    }
  }
}

void TimelinePainter::paint(QImage& image, const TimelineData& data, const std::vector<RowPlace>& places, const TimelineGeometry& g, const Theme& theme,
                            const QFont& font, double ratio) {
  const QSize size(static_cast<int>(std::ceil(g.width * ratio)), static_cast<int>(std::ceil(g.height * ratio)));
  if (size.isEmpty()) {
    image = QImage();
    return;
  }
  if (image.size() != size || image.format() != QImage::Format_RGB32) image = QImage(size, QImage::Format_RGB32);
  image.setDevicePixelRatio(ratio);
  image.fill(theme.background);
  for (std::size_t k = 0; k < kCategories; ++k) {
    const QColor c = theme.category(static_cast<Category>(k));
    paints_[k] = {static_cast<float>(c.red()), static_cast<float>(c.green()), static_cast<float>(c.blue()), 1.0f};
  }
  const QColor back = theme.surface;
  back_[0] = static_cast<float>(back.red());
  back_[1] = static_cast<float>(back.green());
  back_[2] = static_cast<float>(back.blue());
  for (const RowPlace& place : places) {
    if (!place.row || place.y + place.height < g.scroll || place.y > g.scroll + g.height) continue;
    paintRow(image, data.lanes[place.lane].rows[*place.row], place, g, ratio);
  }
  paintLabels(image, data, places, g, theme, font, ratio);
}

}  // namespace sgsim::gui
