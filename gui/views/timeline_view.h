#pragma once

#include <QAbstractScrollArea>
#include <memory>
#include <optional>
#include <vector>

#include "gui/models/timeline_geometry.h"
#include "gui/views/timeline_painter.h"

namespace sgsim::gui {

/// Tasks over time, a row a stream. Wheel: zoom at the pointer; Shift+wheel: earlier and later; Ctrl+wheel: up and down.
/// Drag: move; Shift+drag: zoom into the stretch. Keys: arrows or A D W S, + and -, Home all, F the selected task,
/// Tab and Backtab next and previous task of the row while one is selected (Ctrl+Tab leaves), Return collapses its lane.
class TimelineView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TimelineView(QWidget* parent = nullptr);

  void setData(std::shared_ptr<const TimelineData> data);
  [[nodiscard]] const TimelineData* data() const { return data_.get(); }
  [[nodiscard]] const TimelineGeometry& geometryOfTime() const { return geometry_; }
  [[nodiscard]] std::optional<SliceRef> selected() const { return selected_; }

  /// Selects and, with `reveal`, scrolls and zooms so that the task is seen.
  void select(std::optional<SliceRef> slice, bool reveal);
  void setMatches(std::vector<SliceRef> matches);
  void setNeighbours(Neighbours neighbours);
  /// Tasks on the critical path, in time order; all others fade. Empty: no path is shown.
  void setPath(std::vector<SliceRef> path);
  void zoomTo(double from, double to);
  void zoomBy(double factor);
  void fitAll();
  void toggleLane(std::uint32_t lane);
  [[nodiscard]] QPointF placeOf(SliceRef slice) const;  // middle of its visible part, in viewport pixels
  [[nodiscard]] QString emptyText() const { return empty_text_; }
  void setEmptyText(const QString& text);
  /// Paints the whole view at a size of its own, for exports.
  void paintInto(QPainter& painter, const QSize& size);

 Q_SIGNALS:
  void selectionChanged();
  void viewChanged(double from, double to);

 protected:
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;
  bool focusNextPrevChild(bool next) override;
  void changeEvent(QEvent* event) override;

 private:
  void layoutRows();
  void moved();
  void drawAxis(QPainter& painter, const QRectF& area);
  void drawHeadings(QPainter& painter, const QRectF& area);
  void drawMarks(QPainter& painter);
  void drawPath(QPainter& painter, const Theme& theme);
  void drawMatches(QPainter& painter, const Theme& theme);
  void drawNeighbours(QPainter& painter, const Theme& theme);
  void outline(QPainter& painter, SliceRef slice, const QPen& pen) const;
  [[nodiscard]] const RowPlace* placeOfRow(std::uint32_t lane, std::uint32_t row) const;  // nothing: its lane is collapsed
  [[nodiscard]] QRectF rectOf(SliceRef slice) const;      // in plot pixels
  [[nodiscard]] std::optional<SliceRef> hit(const QPointF& viewport_point) const;
  [[nodiscard]] const RowPlace* placeAt(double plot_y) const;
  void step(int by);
  [[nodiscard]] double gutter() const;
  [[nodiscard]] double axisHeight() const;

  std::shared_ptr<const TimelineData> data_;
  TimelineGeometry geometry_;
  std::vector<RowPlace> places_;
  std::vector<std::size_t> headings_;   // of each lane in places_; its rows follow
  std::vector<bool> collapsed_;
  TimelinePainter painter_;
  QImage frame_;
  struct Painted {
    TimelineGeometry geometry;
    double ratio = 1.0;
    bool dark = false;
    bool operator==(const Painted&) const = default;
  };
  std::optional<Painted> painted_;      // what frame_ shows; nothing: not this data or layout
  std::optional<SliceRef> selected_, hovered_;
  std::vector<SliceRef> matches_, path_;
  Neighbours neighbours_;
  QString empty_text_;
  QPointF drag_from_;
  bool dragging_ = false, moved_far_ = false, selecting_stretch_ = false;
  double stretch_from_ = 0.0, stretch_to_ = 0.0;
};

}  // namespace sgsim::gui
