#pragma once

#include <QLayout>
#include <vector>

namespace sgsim::gui {

/// Controls from left to right that go on in a next line where there is no room: bars stay whole in narrow windows and with large
/// fonts. A label stays with the control that it belongs to; controls that may grow share what a line leaves.
class FlowLayout : public QLayout {
 public:
  FlowLayout() = default;
  ~FlowLayout() override;
  void addItem(QLayoutItem* item) override { items_.push_back(item); }
  [[nodiscard]] int count() const override { return static_cast<int>(items_.size()); }
  [[nodiscard]] QLayoutItem* itemAt(int index) const override;
  QLayoutItem* takeAt(int index) override;
  [[nodiscard]] Qt::Orientations expandingDirections() const override { return Qt::Horizontal; }
  [[nodiscard]] bool hasHeightForWidth() const override { return true; }
  [[nodiscard]] int heightForWidth(int width) const override { return arrange(QRect(0, 0, width, 0), false); }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSize() const override;
  void setGeometry(const QRect& rect) override;

 private:
  /// Height that the lines take; `place`: moves the controls there.
  int arrange(const QRect& rect, bool place) const;
  void placeLine(const std::vector<QLayoutItem*>& line, const QRect& rect) const;
  std::vector<QLayoutItem*> items_;
};

}  // namespace sgsim::gui
