#pragma once

#include <QFont>
#include <QHash>
#include <QImage>
#include <vector>

#include "gui/models/theme.h"
#include "gui/models/timeline_cover.h"
#include "gui/models/timeline_geometry.h"

namespace sgsim::gui {

/// Paints the rows of a timeline into an image, pixel by pixel: each pixel has the mean colour of the tasks inside it, so that
/// a million tasks show as what they are, and paint in milliseconds.
class TimelinePainter {
 public:
  /// `ratio`: device pixels a logical pixel. Paints rows only; axis, headings and marks are drawn over it.
  void paint(QImage& image, const TimelineData& data, const std::vector<RowPlace>& places, const TimelineGeometry& geometry, const Theme& theme,
             const QFont& font, double ratio);
  /// The data is another one, even where it lies at the same address.
  void forget() { data_ = nullptr; }

 private:
  void prepare(const TimelineData& data, const Theme& theme, const QFont& font, double ratio);
  void paintRow(QImage& image, const Row& row, const PaintedRow& painted, const RowPlace& place, const TimelineGeometry& geometry, const Theme& theme, double ratio);
  void paintHatches(QImage& image, const Row& row, const TimelineGeometry& geometry, const Theme& theme, int top, int bottom, double ratio) const;
  void paintLabels(QImage& image, const TimelineData& data, const std::vector<RowPlace>& places, const TimelineGeometry& geometry, const Theme& theme,
                   const QFont& font, double ratio);
  /// A task's name, or (brief) what of it its colour does not say already.
  const QImage& label(const TimelineData& data, std::uint32_t name, bool brief, const QColor& color, const QFont& font, double ratio);

  std::vector<Paint> mixed_;
  std::vector<QRgb> line_;
  Paints paints_{};
  Paint back_{};
  QRgb empty_ = 0;
  QHash<quint64, QImage> labels_;
  std::vector<std::vector<PaintedRow>> painted_;  // by lane and row
  const TimelineData* data_ = nullptr;            // that all of this is of
  QFont font_;
  double ratio_ = 0.0;
};

}  // namespace sgsim::gui
