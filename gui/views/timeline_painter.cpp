#include "gui/views/timeline_painter.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace sgsim::gui {
namespace {

/// A label is drawn where at least this many pixels of its task show.
constexpr double kLabelWidth = 46.0;
/// A label's image is cut at this width.
constexpr int kLongestLabel = 420;
/// Stands for a name: what a cut label ends in.
constexpr std::uint32_t kDots = 0xffffffffu;
/// A lone short task must stay visible: whatever is there covers at least this much of its pixel.
constexpr double kLeastShare = 0.25;
/// Less of a pixel than this is rounding, not a task.
constexpr double kNothing = 1e-9;

int shade(double value) { return std::clamp(static_cast<int>(value + 0.5), 0, 255); }

Paint paintOf(const QColor& c) { return {static_cast<double>(c.red()), static_cast<double>(c.green()), static_cast<double>(c.blue()), 1.0}; }

std::size_t first_ending_after(const std::vector<Slice>& slices, double time) {
  return static_cast<std::size_t>(std::upper_bound(slices.begin(), slices.end(), time, [](double t, const Slice& s) { return t < s.end; }) - slices.begin());
}
std::size_t first_starting_at(const std::vector<Slice>& slices, double time) {
  return static_cast<std::size_t>(std::lower_bound(slices.begin(), slices.end(), time, [](const Slice& s, double t) { return s.start < t; }) - slices.begin());
}

}  // namespace

void TimelinePainter::prepare(const TimelineData& data, const Theme& theme, const QFont& font, double ratio) {
  Paints paints;
  for (std::size_t k = 0; k < kCategories; ++k) paints[k] = paintOf(theme.category(static_cast<Category>(k)));
  back_ = paintOf(theme.surface);
  empty_ = theme.surface.rgb();
  const bool same = data_ == &data;
  if (!same || paints != paints_) {
    paints_ = paints;
    painted_.clear();
    for (const Lane& lane : data.lanes) {
      auto& rows = painted_.emplace_back();
      for (const Row& row : lane.rows) rows.push_back(integrate(row, paints_));
    }
  }
  if (!same || font_ != font || ratio_ != ratio || labels_.size() > 4000) labels_.clear();
  data_ = &data;
  font_ = font;
  ratio_ = ratio;
}

void TimelinePainter::paintRow(QImage& image, const Row& row, const PaintedRow& painted, const RowPlace& place, const TimelineGeometry& g, const Theme& theme, double ratio) {
  const int columns = image.width();
  const int top = std::max(0, static_cast<int>(std::lround((place.y - g.scroll) * ratio)));
  const int bottom = std::min(image.height(), static_cast<int>(std::lround((place.y - g.scroll + place.height) * ratio)));
  if (bottom <= top) return;
  cover(row, painted, paints_, g.from, g.to, columns, mixed_);
  line_.resize(static_cast<std::size_t>(columns));
  for (int c = 0; c < columns; ++c) {
    const auto& [r, g1, b, share] = mixed_[static_cast<std::size_t>(c)];
    if (share <= kNothing) {
      line_[static_cast<std::size_t>(c)] = empty_;
      continue;
    }
    const double shown = std::clamp(share, kLeastShare, 1.0);
    const double f = shown / share, rest = 1.0 - shown;
    line_[static_cast<std::size_t>(c)] = qRgb(shade(r * f + rest * back_[0]), shade(g1 * f + rest * back_[1]), shade(b * f + rest * back_[2]));
  }
  // Edges between tasks that are wide enough to tell apart.
  const std::size_t first = first_ending_after(row.slices, g.from), last = first_starting_at(row.slices, g.to);
  if (!row.summary && last > first && last - first <= static_cast<std::size_t>(columns) / 4) {
    const double per_pixel = g.span() / columns;
    for (std::size_t i = first; i < last; ++i) {
      const Slice& s = row.slices[i];
      const int x = static_cast<int>(std::floor((s.start - g.from) / per_pixel));
      if (s.end - s.start >= 4.0 * per_pixel && x >= 0 && x < columns) line_[static_cast<std::size_t>(x)] = empty_;
    }
  }
  for (int y = top; y < bottom; ++y) std::memcpy(image.scanLine(y), line_.data(), line_.size() * sizeof(QRgb));
  if (row.summary && last > first && last - first <= static_cast<std::size_t>(columns) / 4) paintHatches(image, row, g, theme, top, bottom, ratio);
}

/// Strokes over what is wide enough to show them; narrower stretches are the mean colour of what they hold.
void TimelinePainter::paintHatches(QImage& image, const Row& row, const TimelineGeometry& g, const Theme& theme, int top, int bottom, double ratio) const {
  constexpr double kLeast = 3.0;  // device pixels
  const double per_pixel = g.span() / image.width();
  for (std::size_t i = first_ending_after(row.slices, g.from); i < row.slices.size() && row.slices[i].start < g.to; ++i) {
    const Slice& s = row.slices[i];
    const Hatch hatch = hatchOf(s.category);
    if (hatch == Hatch::none || s.end - s.start < kLeast * per_pixel) continue;
    const int left = std::max(0, static_cast<int>(std::ceil((s.start - g.from) / per_pixel))), right = std::min(image.width(), static_cast<int>(std::floor((s.end - g.from) / per_pixel)));
    const QRgb ink = theme.hatchInk(s.category).rgb();
    for (int y = top; y < bottom; ++y) {
      auto* line = reinterpret_cast<QRgb*>(image.scanLine(y));
      for (int x = left; x < right; ++x) {
        if (inked(hatch, static_cast<int>(x / ratio), static_cast<int>(y / ratio))) line[x] = ink;
      }
    }
  }
}

const QImage& TimelinePainter::label(const TimelineData& data, std::uint32_t name, bool brief, const QColor& color, const QFont& font, double ratio) {
  const quint64 key = (static_cast<quint64>(name) << 2) | (brief ? 2u : 0u) | (color == Qt::white ? 1u : 0u);
  const auto found = labels_.constFind(key);
  if (found != labels_.constEnd()) return *found;
  const QFontMetricsF metrics(font);
  QString text = name == kDots ? QStringLiteral("\u2026") : QString::fromStdString(data.names[name]);
  for (const char* phase : {"forward ", "backward "}) {
    if (brief && text.startsWith(QLatin1String(phase))) text.remove(0, static_cast<qsizetype>(std::strlen(phase)));
  }
  text = metrics.elidedText(text, Qt::ElideRight, kLongestLabel - 4);
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
  QColor ink[kCategories];
  for (std::size_t k = 0; k < kCategories; ++k) ink[k] = readableOn(theme.category(static_cast<Category>(k)));
  QPainter painter(&image);
  const double least = g.span() / g.width * kLabelWidth;
  const QFontMetricsF metrics(font);
  for (const RowPlace& place : places) {
    if (!place.row || place.y + place.height < g.scroll || place.y > g.scroll + g.height) continue;
    const Row& row = data.lanes[place.lane].rows[*place.row];
    if (place.height < (row.summary ? metrics.height() - 2.0 : 12.0)) continue;
    const std::size_t first = first_ending_after(row.slices, g.from), last = first_starting_at(row.slices, g.to);
    const std::vector<double>& longest = painted_[place.lane][*place.row].longest;
    for (std::size_t i = first; i < last; ++i) {
      if (i % PaintedRow::kStride == 0 && longest[i / PaintedRow::kStride] < least) {
        i += PaintedRow::kStride - 1;
        continue;
      }
      const Slice* at = &row.slices[i];
      const double from = std::max(at->start, g.from), to = std::min(at->end, g.to);
      if (to - from < least) continue;
      const QColor& pen = ink[static_cast<std::size_t>(at->category)];
      const double room = g.x(to) - g.x(from) - 6.0;
      QImage text = label(data, at->name, false, pen, font, ratio);  // shared, not copied
      if (text.width() / ratio > room) text = label(data, at->name, true, pen, font, ratio);
      QImage dots;
      if (text.width() / ratio > room) dots = label(data, kDots, false, pen, font, ratio);
      const double width = dots.isNull() ? text.width() / ratio : room - dots.width() / ratio;
      const double height = text.height() / ratio;
      // Whole device pixels: copying without resampling is quick and sharp.
      const double x = std::round((g.x(from) + 4.0) * ratio) / ratio;
      const double y = std::round((place.y - g.scroll + (place.height - height) / 2.0) * ratio) / ratio;
      if (hatchOf(at->category) != Hatch::none) painter.fillRect(QRectF(x - 2.0, place.y - g.scroll, width + 4.0, place.height), theme.category(at->category));
      painter.drawImage(QPointF(x, y), text, QRectF(0, 0, std::floor(width * ratio), text.height()));
      if (!dots.isNull()) painter.drawImage(QPointF(x + std::floor(width * ratio) / ratio, y), dots);
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
  prepare(data, theme, font, ratio);
  for (const RowPlace& place : places) {
    if (!place.row || place.y + place.height < g.scroll || place.y > g.scroll + g.height) continue;
    paintRow(image, data.lanes[place.lane].rows[*place.row], painted_[place.lane][*place.row], place, g, theme, ratio);
  }
  paintLabels(image, data, places, g, theme, font, ratio);
}

}  // namespace sgsim::gui
