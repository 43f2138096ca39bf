#pragma once

#include <QProxyStyle>

namespace sgsim::gui {

/// Fusion with outlines that are seen in both themes: Fusion draws those of check boxes, radio buttons and line edits darker than
/// the window, which is nothing on a dark one.
class PlannerStyle : public QProxyStyle {
  Q_OBJECT
 public:
  PlannerStyle();
  void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const override;
  void drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter, const QWidget* widget) const override;
};

}  // namespace sgsim::gui
