#pragma once

#include <QWidget>
#include <vector>

#include "gui/models/timeline_data.h"

namespace sgsim::gui {

/// What the colours and strokes of a timeline mean: of tasks, and of the strip above a rank's streams. Goes on in a next line where
/// there is no room.
class TimelineLegend : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineLegend(QWidget* parent = nullptr);
  [[nodiscard]] int heightForWidth(int width) const override;
  [[nodiscard]] QSize sizeHint() const override { return {400, heightForWidth(400)}; }
  [[nodiscard]] QSize minimumSizeHint() const override { return {200, heightForWidth(4000)}; }

 protected:
  void paintEvent(QPaintEvent*) override;

 private:
  struct Entry {
    bool heading = false;
    Category category = Category::forward;
    QString words;
    QRect place;
  };
  [[nodiscard]] std::vector<Entry> arranged(int width, int& height) const;
};

}  // namespace sgsim::gui
