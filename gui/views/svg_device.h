#pragma once

#include <QPaintDevice>
#include <QSize>
#include <QString>
#include <memory>

namespace sgsim::gui {

/// What is painted into it becomes SVG text: shapes stay shapes and text stays text.
class SvgDevice : public QPaintDevice {
 public:
  explicit SvgDevice(const QSize& size, const QString& title = {});
  ~SvgDevice() override;
  [[nodiscard]] QPaintEngine* paintEngine() const override;
  /// The document; complete once the painter has ended.
  [[nodiscard]] QString svg() const;

 protected:
  [[nodiscard]] int metric(PaintDeviceMetric metric) const override;

 private:
  class Engine;
  QSize size_;
  QString title_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace sgsim::gui
