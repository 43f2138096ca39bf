#include "gui/views/planner_style.h"

#include <QPainter>
#include <QStyleFactory>
#include <QStyleOption>

#include "gui/models/theme.h"

namespace sgsim::gui {
namespace {

void paintMark(QPainter& p, const QStyleOption& option, bool round) {
  const Theme theme = themeOf(option.palette);
  const bool enabled = option.state & QStyle::State_Enabled, on = option.state & QStyle::State_On, part = option.state & QStyle::State_NoChange;
  const QRectF box = QRectF(option.rect).adjusted(1.0, 1.0, -1.0, -1.0);
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  const QColor ink = enabled ? theme.text : theme.muted;
  p.setPen(QPen((option.state & QStyle::State_HasFocus) ? option.palette.color(QPalette::Highlight) : theme.muted, 1.4));
  p.setBrush(theme.background);
  round ? p.drawEllipse(box) : p.drawRoundedRect(box, 2.0, 2.0);
  if (round && on) {
    p.setPen(Qt::NoPen);
    p.setBrush(ink);
    p.drawEllipse(box.center(), box.width() * 0.25, box.height() * 0.25);
  } else if (on || part) {
    p.setPen(QPen(ink, std::max(1.8, box.width() * 0.14), Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
    const auto at = [&](double x, double y) { return QPointF(box.left() + box.width() * x, box.top() + box.height() * y); };
    if (part) {
      p.drawLine(at(0.25, 0.5), at(0.75, 0.5));
    } else {
      p.drawPolyline(QPolygonF({at(0.22, 0.52), at(0.43, 0.73), at(0.79, 0.27)}));
    }
  }
  p.restore();
}

/// What is typed into has an edge on a dark window too.
void paintEdge(QPainter& p, const QStyleOption& option) {
  if (!themeOf(option.palette).dark || (option.state & QStyle::State_HasFocus)) return;
  p.save();
  p.setRenderHint(QPainter::Antialiasing);
  p.setBrush(Qt::NoBrush);
  p.setPen(QPen(QColor(0x6b, 0x74, 0x80), 1.0));
  p.drawRoundedRect(QRectF(option.rect).adjusted(0.5, 0.5, -0.5, -0.5), 2.0, 2.0);
  p.restore();
}

}  // namespace

PlannerStyle::PlannerStyle() : QProxyStyle(QStyleFactory::create(QStringLiteral("Fusion"))) {}

void PlannerStyle::drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter, const QWidget* widget) const {
  switch (element) {
    case PE_IndicatorCheckBox: return paintMark(*painter, *option, false);
    case PE_IndicatorRadioButton: return paintMark(*painter, *option, true);
    default: break;
  }
  QProxyStyle::drawPrimitive(element, option, painter, widget);
  if (element == PE_FrameLineEdit) paintEdge(*painter, *option);
}

void PlannerStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option, QPainter* painter, const QWidget* widget) const {
  QProxyStyle::drawComplexControl(control, option, painter, widget);
  if (control == CC_SpinBox) paintEdge(*painter, *option);
}

}  // namespace sgsim::gui
