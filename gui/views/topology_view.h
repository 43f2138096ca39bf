#pragma once

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QPushButton>
#include <optional>

#include "gui/models/theme.h"
#include "gui/models/topology_data.h"
#include "gui/session/document.h"
#include "gui/views/result_panels.h"

namespace sgsim::gui {

/// A place of the cluster: a GPU or a network port of a node, or a leaf group (its number in `node`).
struct TopologyPlace {
  bool nic = false;
  int node = 0, index = 0;
  bool leaf = false;
  bool operator==(const TopologyPlace&) const = default;
};

/// Switches over leaf groups over nodes with their GPUs and ports. Links, ports and up-links have the colour of the bytes that they
/// carry of what they could in the step. Hover for numbers, click or arrow keys to select. The wheel, plus and minus zoom; dragging
/// marks a part to zoom into where all is shown (always with Shift) and moves what is zoomed; Home shows all; Escape lets go.
class TopologyView : public QWidget {
  Q_OBJECT
 public:
  explicit TopologyView(QWidget* parent = nullptr);
  void setData(TopologyData data);
  void setUsage(Usage usage);
  [[nodiscard]] const TopologyData& data() const { return data_; }
  [[nodiscard]] std::optional<TopologyPlace> selected() const { return selected_; }
  void select(std::optional<TopologyPlace> place);
  /// The use at which a link is drawn hottest: the most used link's, rounded up.
  [[nodiscard]] double linkScale() const { return link_scale_; }
  /// Numbers of what is drawn there, empty where nothing is: GPUs, ports, NVLink and PCIe of a node, leaf switches, the spine.
  [[nodiscard]] QString textAt(const QPointF& at) const;
  [[nodiscard]] QRectF rectOf(TopologyPlace place) const;
  [[nodiscard]] QString textOf(TopologyPlace place) const;
  /// How many times larger than all of it is shown, and what of that plane lies at the upper left corner.
  [[nodiscard]] double zoomed() const { return zoom_; }
  [[nodiscard]] QPointF origin() const { return origin_; }
  void zoom(double factor, const QPointF& at);
  void showAll();
  void paintInto(QPainter& painter, const QSize& size);
  [[nodiscard]] QSize minimumSizeHint() const override { return {300, 240}; }

 Q_SIGNALS:
  void selectionChanged();

 protected:
  void paintEvent(QPaintEvent*) override;
  void resizeEvent(QResizeEvent*) override { moveTo(origin_); }
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void layoutNodes(const QSize& size);
  void moveTo(const QPointF& origin);
  void reveal(TopologyPlace place);
  struct Rows {
    int per_row = 1, count = 1;
    double height = 0.0, bar = 0.0;     // of a row of GPUs; of the room for NVLink below the first row
  };
  [[nodiscard]] bool detailed(int node) const;   // there is room for links and words
  [[nodiscard]] Rows rowsOf(int node) const;
  [[nodiscard]] QRectF bodyOf(int node) const;   // where the GPUs stand
  [[nodiscard]] QRectF portsOf(int node) const;
  [[nodiscard]] QRectF nvlinkOf(int node) const; // null: not drawn
  [[nodiscard]] QRectF pcieOf(int node) const;
  void paintNode(QPainter& painter, int node, const Theme& theme);
  void paintLinks(QPainter& painter, int node, const Theme& theme) const;
  void paintBar(QPainter& painter, const QRectF& r, const QString& text, const Theme& theme) const;
  void paintBox(QPainter& painter, const QRectF& r, const QColor& fill, bool faulty, const QString& text, const Theme& theme) const;
  [[nodiscard]] std::optional<TopologyPlace> hit(const QPointF& at) const;
  [[nodiscard]] QColor linkColor(double share, const Theme& theme) const;
  [[nodiscard]] QPen wire(const Theme& theme, double share) const;
  [[nodiscard]] QRectF leafBar(std::size_t group) const;   // null: no fabric
  void paintLegend(QPainter& painter, const Theme& theme, int width) const;
  [[nodiscard]] int legendLines(int width) const;

  TopologyData data_;
  Usage usage_ = Usage::compute;
  double link_scale_ = 1.0;
  std::vector<QRectF> nodes_, groups_;
  QRectF spine_;
  std::optional<TopologyPlace> selected_;
  double zoom_ = 1.0, top_ = 0.0;  // top_: where the plane begins, below the legend
  QPointF origin_, pressed_, last_;
  enum class Drag : unsigned char { none, mark, move };
  Drag drag_ = Drag::none;
  bool moved_far_ = false;
};

/// The topology with what marks something slow: the fault goes into the scenario, as an edit like any other.
class TopologyPanel : public Panel {
  Q_OBJECT
 public:
  explicit TopologyPanel(ScenarioDocument& document, QWidget* parent = nullptr);
  void present(const std::shared_ptr<const Simulated>& simulated) override;
  [[nodiscard]] std::vector<TableView*> tables() const override { return {faults_}; }
  [[nodiscard]] TopologyView* view() const { return view_; }
  [[nodiscard]] QComboBox* kind() const { return kind_; }
  [[nodiscard]] QPushButton* markButton() const { return mark_; }
  [[nodiscard]] QDoubleSpinBox* factor() const { return factor_; }
  [[nodiscard]] QPushButton* clearButton() const { return clear_; }

 private:
  void mark();
  void clear();
  void refresh();
  void selectionChanged();
  ScenarioDocument& document_;
  TopologyView* view_;
  QComboBox *usage_, *kind_;
  QDoubleSpinBox* factor_;
  QPushButton *mark_, *clear_;
  TableView* faults_;
  QLabel* about_;
};

}  // namespace sgsim::gui
