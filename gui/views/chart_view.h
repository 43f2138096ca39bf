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

/// Paints a chart into a rectangle; tells where its points are.
std::vector<ChartHit> paintChart(QPainter& painter, const QRectF& area, const Chart& chart, const Theme& theme, const QFont& font);

/// A chart on the screen: hover for numbers, click or Left/Right to select a point, Return to open it.
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

 Q_SIGNALS:
  void pointSelected(int series, int point);
  void pointOpened(int series, int point);

 protected:
  void paintEvent(QPaintEvent*) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent*) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  [[nodiscard]] Chart onScreen() const;
  [[nodiscard]] const ChartHit* hit(const QPointF& at) const;
  [[nodiscard]] QString tip(const ChartHit& hit) const;
  Chart chart_;
  std::vector<ChartHit> hits_;
  std::optional<std::pair<int, int>> hovered_;
};

}  // namespace sgsim::gui
