#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/chart.h"
#include "gui/models/theme.h"

namespace sgsim::gui {

/// A painted point or bar, for hovering and clicking.
struct ChartHit {
  int series = 0, point = 0;
  QRectF rect;
};

/// A part of a chart's plane, in its values.
struct ChartRange {
  double x0 = 0.0, x1 = 1.0, y0 = 0.0, y1 = 1.0;
  bool operator==(const ChartRange&) const = default;
};

/// Where a chart's axes were painted.
struct ChartFrame {
  QRectF plot;             // null: it has none (bars, nothing to show)
  ChartRange all, shown;
  bool log_x = false, log_y = false;
  [[nodiscard]] QPointF valueAt(const QPointF& pixel) const;
  [[nodiscard]] QPointF pixelAt(const QPointF& value) const;
  /// What stands in a rectangle of pixels.
  [[nodiscard]] ChartRange rangeOf(const QRectF& pixels) const;
};

/// Paints a chart, or a part of its plane, into a rectangle; tells where its points are.
std::vector<ChartHit> paintChart(QPainter& painter, const QRectF& area, const Chart& chart, const Theme& theme, const QFont& font, const std::optional<ChartRange>& part = {}, ChartFrame* frame = nullptr);

/// A chart on the screen: hover for numbers, click or Left/Right to select a point, Return to open it. The wheel zooms; dragging
/// marks a part to zoom into where all is shown (always with Shift) and moves what is zoomed; Home or a double click beside the
/// points shows all; Escape lets go of a drag.
class ChartView : public QWidget {
  Q_OBJECT
 public:
  explicit ChartView(const QString& accessible_name, QWidget* parent = nullptr);
  void setChart(Chart chart);
  [[nodiscard]] const Chart& chart() const { return chart_; }
  [[nodiscard]] const std::vector<ChartHit>& hits() const { return hits_; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {240, 160}; }
  [[nodiscard]] QSize sizeHint() const override { return {600, 320}; }
  void selectPoint(int series, int point);
  /// The part that is shown; nothing: all.
  [[nodiscard]] const std::optional<ChartRange>& part() const { return part_; }
  [[nodiscard]] const ChartFrame& frame() const { return frame_; }
  void showAll();

 Q_SIGNALS:
  void pointSelected(int series, int point);
  void pointOpened(int series, int point);

 protected:
  void paintEvent(QPaintEvent*) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void leaveEvent(QEvent*) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  [[nodiscard]] Chart onScreen() const;
  [[nodiscard]] const ChartHit* hit(const QPointF& at) const;
  [[nodiscard]] QString tip(const ChartHit& hit) const;
  void measure();
  void showPart(const QRectF& pixels);
  void zoom(double factor, const QPointF& at);
  void move(const QPointF& by);
  void hold(const QPointF& value, const QPointF& at);
  Chart chart_;
  std::vector<ChartHit> hits_;
  std::optional<std::pair<int, int>> hovered_;
  ChartFrame frame_;
  std::optional<ChartRange> part_;
  enum class Drag : unsigned char { none, mark, move };
  Drag drag_ = Drag::none;
  bool moved_far_ = false;
  QPointF pressed_, last_, held_;   // held_: the value that was pressed on
};

}  // namespace sgsim::gui
