#include "gui/views/svg_device.h"

#include <QBuffer>
#include <QFont>
#include <QImage>
#include <QPaintEngine>
#include <QPainterPath>
#include <QPixmap>

namespace sgsim::gui {
namespace {

QString number(double v) { return QString::number(v, 'f', 2); }

QString colorText(const QColor& c) { return c.name(QColor::HexRgb); }

}  // namespace

class SvgDevice::Engine : public QPaintEngine {
 public:
  Engine() : QPaintEngine(QPaintEngine::PaintEngineFeatures(PrimitiveTransform | PainterPaths | Antialiasing | AlphaBlend | ConstantOpacity)) {}

  bool begin(QPaintDevice*) override { return true; }
  bool end() override { return true; }
  [[nodiscard]] Type type() const override { return QPaintEngine::User; }

  void updateState(const QPaintEngineState& now) override {
    const auto flags = now.state();
    if (flags & DirtyPen) pen_ = now.pen();
    if (flags & DirtyBrush) brush_ = now.brush();
    if (flags & DirtyFont) font_ = now.font();
    if (flags & DirtyTransform) transform_ = now.transform();
    if (flags & DirtyOpacity) opacity_ = now.opacity();
    if (flags & (DirtyClipPath | DirtyClipRegion | DirtyClipEnabled)) {
      clip_ = now.isClipEnabled() ? painter()->clipBoundingRect() : QRectF();
      clip_ = clip_.isNull() ? clip_ : transform_.mapRect(clip_);
      if (!clip_.isNull()) {
        ++clips_;
        body_ += QStringLiteral("<clipPath id=\"c%1\"><rect x=\"%2\" y=\"%3\" width=\"%4\" height=\"%5\"/></clipPath>\n").arg(clips_).arg(number(clip_.x()), number(clip_.y()), number(clip_.width()), number(clip_.height()));
      }
    }
  }

  void drawPath(const QPainterPath& path) override {
    QString d;
    for (int i = 0; i < path.elementCount(); ++i) {
      const auto e = path.elementAt(i);
      const char* letter = e.isMoveTo() ? "M" : e.isLineTo() ? "L" : e.isCurveTo() ? "C" : "";
      d += QLatin1String(letter) + number(e.x) + QLatin1Char(' ') + number(e.y) + QLatin1Char(' ');
    }
    put(QStringLiteral("<path d=\"%1\"%2/>").arg(d.trimmed(), style(true)));
  }
  void drawRects(const QRectF* rects, int count) override {
    for (int i = 0; i < count; ++i) {
      const QRectF r = rects[i].normalized();
      put(QStringLiteral("<rect x=\"%1\" y=\"%2\" width=\"%3\" height=\"%4\"%5/>").arg(number(r.x()), number(r.y()), number(r.width()), number(r.height()), style(true)));
    }
  }
  using QPaintEngine::drawRects;
  void drawLines(const QLineF* lines, int count) override {
    for (int i = 0; i < count; ++i) put(QStringLiteral("<path d=\"M%1 %2 L%3 %4\"%5/>").arg(number(lines[i].x1()), number(lines[i].y1()), number(lines[i].x2()), number(lines[i].y2()), style(false)));
  }
  using QPaintEngine::drawLines;
  void drawEllipse(const QRectF& r) override {
    put(QStringLiteral("<ellipse cx=\"%1\" cy=\"%2\" rx=\"%3\" ry=\"%4\"%5/>").arg(number(r.center().x()), number(r.center().y()), number(r.width() / 2), number(r.height() / 2), style(true)));
  }
  using QPaintEngine::drawEllipse;
  void drawPolygon(const QPointF* points, int count, PolygonDrawMode mode) override {
    QString list;
    for (int i = 0; i < count; ++i) list += number(points[i].x()) + QLatin1Char(',') + number(points[i].y()) + QLatin1Char(' ');
    const bool closed = mode != PolylineMode;
    put(QStringLiteral("<%1 points=\"%2\"%3/>").arg(closed ? QStringLiteral("polygon") : QStringLiteral("polyline"), list.trimmed(), style(closed)));
  }
  using QPaintEngine::drawPolygon;
  void drawTextItem(const QPointF& p, const QTextItem& item) override {
    const QFont f = item.font();
    const double size = f.pixelSize() > 0 ? f.pixelSize() : f.pointSizeF() * 96.0 / 72.0;
    put(QStringLiteral("<text x=\"%1\" y=\"%2\" font-family=\"%3\" font-size=\"%4\"%5 fill=\"%6\" textLength=\"%7\" lengthAdjust=\"spacingAndGlyphs\" xml:space=\"preserve\">%8</text>")
            .arg(number(p.x()), number(p.y()), QStringLiteral("DejaVu Sans, Helvetica, Arial, sans-serif"), number(size), f.bold() ? QStringLiteral(" font-weight=\"bold\"") : QString(), colorText(pen_.color()))
            .arg(number(item.width()), item.text().toHtmlEscaped()));
  }
  void drawImage(const QRectF& r, const QImage& image, const QRectF& source, Qt::ImageConversionFlags) override {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.copy(source.toRect()).save(&buffer, "PNG");
    put(QStringLiteral("<image x=\"%1\" y=\"%2\" width=\"%3\" height=\"%4\" preserveAspectRatio=\"none\" xlink:href=\"data:image/png;base64,%5\"/>")
            .arg(number(r.x()), number(r.y()), number(r.width()), number(r.height()), QString::fromLatin1(bytes.toBase64())));
  }
  void drawPixmap(const QRectF& r, const QPixmap& pixmap, const QRectF& source) override { drawImage(r, pixmap.toImage(), source, Qt::AutoColor); }

  QString body_;

 private:
  void put(const QString& element) {
    QString open;
    if (!clip_.isNull()) open += QStringLiteral("<g clip-path=\"url(#c%1)\">").arg(clips_);
    const bool moved = !transform_.isIdentity();
    if (moved) {
      open += QStringLiteral("<g transform=\"matrix(%1 %2 %3 %4 %5 %6)\">").arg(transform_.m11()).arg(transform_.m12()).arg(transform_.m21()).arg(transform_.m22()).arg(transform_.dx()).arg(transform_.dy());
    }
    body_ += open + element + (moved ? QStringLiteral("</g>") : QString()) + (clip_.isNull() ? QString() : QStringLiteral("</g>")) + QLatin1Char('\n');
  }
  [[nodiscard]] QString style(bool filled) const {
    QString s;
    if (filled && brush_.style() != Qt::NoBrush) {
      s += QStringLiteral(" fill=\"%1\"").arg(colorText(brush_.color()));
      if (brush_.color().alphaF() * opacity_ < 1.0) s += QStringLiteral(" fill-opacity=\"%1\"").arg(number(brush_.color().alphaF() * opacity_));
    } else {
      s += QStringLiteral(" fill=\"none\"");
    }
    if (pen_.style() == Qt::NoPen) return s;
    s += QStringLiteral(" stroke=\"%1\" stroke-width=\"%2\"").arg(colorText(pen_.color()), number(pen_.widthF() == 0.0 ? 1.0 : pen_.widthF()));
    if (pen_.color().alphaF() * opacity_ < 1.0) s += QStringLiteral(" stroke-opacity=\"%1\"").arg(number(pen_.color().alphaF() * opacity_));
    if (pen_.style() == Qt::DashLine) s += QStringLiteral(" stroke-dasharray=\"6 4\"");
    if (pen_.style() == Qt::DotLine) s += QStringLiteral(" stroke-dasharray=\"2 3\"");
    return s;
  }

  QPen pen_;
  QBrush brush_;
  QFont font_;
  QTransform transform_;
  QRectF clip_;
  double opacity_ = 1.0;
  int clips_ = 0;
};

SvgDevice::SvgDevice(const QSize& size, const QString& title) : size_(size), title_(title), engine_(std::make_unique<Engine>()) {}
SvgDevice::~SvgDevice() = default;

QPaintEngine* SvgDevice::paintEngine() const { return engine_.get(); }

QString SvgDevice::svg() const {
  return QStringLiteral("<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"%1\" height=\"%2\" viewBox=\"0 0 %1 %2\" role=\"img\">\n<title>%3</title>\n%4</svg>\n")
      .arg(size_.width()).arg(size_.height()).arg(title_.toHtmlEscaped(), engine_->body_);
}

int SvgDevice::metric(PaintDeviceMetric m) const {
  switch (m) {
    case PdmWidth: return size_.width();
    case PdmHeight: return size_.height();
    case PdmWidthMM: return size_.width() * 254 / 960;
    case PdmHeightMM: return size_.height() * 254 / 960;
    case PdmNumColors: return 0x7fffffff;
    case PdmDepth: return 32;
    case PdmDpiX:
    case PdmDpiY:
    case PdmPhysicalDpiX:
    case PdmPhysicalDpiY: return 96;
    case PdmDevicePixelRatio: return 1;
    case PdmDevicePixelRatioScaled: return static_cast<int>(devicePixelRatioFScale());
    default: return 0;
  }
}

}  // namespace sgsim::gui
