// How a cluster is drawn.
#include <QPainter>
#include <cmath>

#include "gui/views/topology_view.h"

namespace sgsim::gui {
QColor TopologyView::linkColor(double share, const Theme& theme) const { return theme.heat(data_.simulated ? share / link_scale_ : 0.0); }

/// Three times the width at the hottest, so that use reads without colour too.
QPen TopologyView::wire(const Theme& theme, double share) const {
  if (!data_.simulated || share <= 0.0) return {theme.muted, 1.0};
  const double hot = std::min(1.0, share / link_scale_);
  return {theme.heat(0.25 + 0.75 * hot), 1.5 + 3.0 * hot};
}

void TopologyView::paintBox(QPainter& painter, const QRectF& r, const QColor& fill, bool faulty, const QString& text, const Theme& theme) const {
  painter.setBrush(fill);
  painter.setPen(r.width() > 5 ? QPen(theme.muted, 0.6) : QPen(Qt::NoPen));
  painter.drawRect(r);
  if (faulty) {
    painter.setPen(QPen(theme.error, std::clamp(r.width() * 0.1, 1.5, 3.0)));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(r);
    painter.drawLine(r.topLeft(), r.bottomRight());
  }
  const QStringList lines = text.split(QLatin1Char('\n'));
  double widest = 0.0;
  for (const QString& line : lines) widest = std::max(widest, fontMetrics().horizontalAdvance(line) * 1.0);
  if (r.width() < widest + 4 || r.height() < fontMetrics().height() * static_cast<double>(lines.size())) return;
  painter.setPen(readableOn(fill));
  painter.drawText(r, Qt::AlignCenter, text);
}

/// A bar that others hang on: the NVLink switch, the PCIe tree.
void TopologyView::paintBar(QPainter& painter, const QRectF& r, const QString& text, const Theme& theme) const {
  painter.setPen(QPen(theme.muted, 1));
  painter.setBrush(theme.background);
  painter.drawRoundedRect(r, 3, 3);
  if (r.height() < fontMetrics().height()) return;
  painter.setPen(theme.text);
  painter.drawText(r, Qt::AlignCenter, fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(r.width()) - 8));
}

void TopologyView::paintLinks(QPainter& painter, int index, const Theme& theme) const {
  const cluster::Node& node = data_.cluster.node;
  const QRectF nvlink = nvlinkOf(index), pcie = pcieOf(index);
  if (!detailed(index)) {
    if (!nvlink.isNull()) paintBar(painter, nvlink, {}, theme);
    return;
  }
  for (int g = 0; g < node.gpus; ++g) {
    const QRectF r = rectOf({false, index, g});
    const GpuUse& gpu = data_.gpus[static_cast<std::size_t>(index * node.gpus + g)];
    if (!nvlink.isNull()) {
      const bool above = r.center().y() < nvlink.center().y();
      painter.setPen(gpu.nvlink_speed < 1.0 ? QPen(theme.error, 2, Qt::DashLine) : wire(theme, gpu.nvlink.share));
      const double x = r.center().x() - r.width() * 0.15;
      painter.drawLine(QPointF(x, above ? r.bottom() : r.top()), QPointF(x, above ? nvlink.top() : nvlink.bottom()));
    }
    if (!pcie.isNull()) {
      // Rows further up pass the ones below at their side.
      const double x = r.right() + 3.0 - 4.0 * static_cast<double>(g / rowsOf(index).per_row);
      painter.setPen(wire(theme, gpu.pcie.share));
      painter.drawLine(QPointF(std::min(x, r.right()), r.bottom() - 4), QPointF(x, r.bottom() - 4));
      painter.drawLine(QPointF(x, r.bottom() - 4), QPointF(x, pcie.top()));
    }
  }
  for (int n = 0; n < node.nics && !pcie.isNull(); ++n) {
    const QRectF r = rectOf({true, index, n});
    painter.setPen(wire(theme, data_.nics[static_cast<std::size_t>(index * node.nics + n)].share()));
    painter.drawLine(QPointF(r.center().x(), pcie.bottom()), QPointF(r.center().x(), r.top()));
  }
  if (!nvlink.isNull()) paintBar(painter, nvlink, node.intra == cluster::IntraNode::nvswitch ? tr("NVLink switch: %1 a GPU").arg(rateText(node.nvlink.bandwidth.value())) : tr("NVLink: %1 a GPU").arg(rateText(node.nvlink.bandwidth.value())), theme);
  if (!pcie.isNull()) paintBar(painter, pcie, tr("PCIe: %1 a GPU").arg(rateText(node.pcie.bandwidth.value())), theme);
}

void TopologyView::paintNode(QPainter& painter, int index, const Theme& theme) {
  const QRectF node = nodes_[static_cast<std::size_t>(index)];
  painter.setPen(QPen(theme.grid, 1));
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(node, 3, 3);
  if (node.height() > 90) {
    painter.setPen(theme.muted);
    const QString title = tr("node %1").arg(index) + (data_.cluster.nodes <= 4 ? QStringLiteral(" \u2014 ") + QString::fromStdString(data_.cluster.node.name) : QString());
    painter.drawText(QRectF(node.left() + 6, node.top() + 2, node.width() - 12, fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(title, Qt::ElideRight, static_cast<int>(node.width()) - 12));
  }
  paintLinks(painter, index, theme);
  for (int g = 0; g < data_.cluster.node.gpus; ++g) {
    const GpuUse& gpu = data_.gpus[static_cast<std::size_t>(index * data_.cluster.node.gpus + g)];
    const double share = gpu.share(usage_);
    const QColor fill = usage_ == Usage::compute ? theme.heat(data_.simulated ? share : 0.0) : linkColor(share, theme);
    paintBox(painter, rectOf({false, index, g}), fill, gpu.speed < 1.0 || gpu.nvlink_speed < 1.0, tr("GPU %1").arg(g) + (data_.simulated ? QLatin1Char('\n') + percentText(share) : QString()), theme);
  }
  const bool wide = detailed(index);
  for (int n = 0; n < data_.cluster.node.nics; ++n) {
    const PortUse& nic = data_.nics[static_cast<std::size_t>(index * data_.cluster.node.nics + n)];
    const QString use = data_.simulated && data_.cluster.nodes > 1 ? QLatin1Char('\n') + percentText(nic.share()) : QString();
    paintBox(painter, rectOf({true, index, n}), linkColor(nic.share(), theme), nic.speed < 1.0, wide ? tr("port %1").arg(n) + use : QString(), theme);
  }
}

/// What the two scales mean: of GPUs and of links. One line, or two where they have no room beside each other.
int TopologyView::legendLines(int width) const {
  const double words = fontMetrics().horizontalAdvance(tr("GPUs: share of the step computing") + tr("links: bytes over capacity in the step") + QStringLiteral("0 100 % 0 100 %"));
  return usage_ == Usage::compute && words + 280.0 > width ? 2 : 1;
}

void TopologyView::paintLegend(QPainter& painter, const Theme& theme, int width) const {
  const double line = fontMetrics().height();
  double x = 14, top = 8;
  const auto text = [&](const QString& words, const QColor& color) {
    painter.setPen(color);
    painter.drawText(QPointF(x, top + fontMetrics().ascent()), words);
    x += fontMetrics().horizontalAdvance(words) + 6;
  };
  const auto ramp = [&](const QString& words, double most) {
    text(words, theme.text);
    text(QStringLiteral("0"), theme.muted);
    for (int i = 0; i < 40; ++i) painter.fillRect(QRectF(x + i * 2, top + 1, 2, line - 2), theme.heat(i / 39.0));
    x += 86;
    text(QStringLiteral("%1 %").arg(most * 100.0, 0, 'g', 3), theme.muted);
    x += 18;
  };
  if (!data_.simulated) return text(tr("not simulated yet"), theme.text);
  if (usage_ == Usage::compute) {
    ramp(tr("GPUs: share of the step computing"), 1.0);
    if (legendLines(width) > 1) x = 14, top += line + 4;
  }
  ramp(usage_ == Usage::compute ? tr("links: bytes over capacity in the step") : tr("GPUs and links: bytes over capacity in the step"), link_scale_);
  const QString about = tr("struck through: slow or failed");
  if (x + fontMetrics().horizontalAdvance(about) < width - 8) text(about, theme.muted);
}

void TopologyView::paintInto(QPainter& painter, const QSize& size) {
  const Theme theme = themeOf(palette());
  painter.fillRect(QRect(QPoint(0, 0), size), theme.background);
  painter.setFont(font());
  if (data_.gpus.empty()) {
    painter.setPen(theme.muted);
    painter.drawText(QRectF(QPointF(0, 0), size), Qt::AlignCenter, tr("No cluster: the scenario has mistakes. The editor marks them."));
    return;
  }
  const double line = fontMetrics().height();
  paintLegend(painter, theme, size.width());
  const QRectF seen(0.0, top_, size.width(), size.height() - top_);
  painter.save();
  painter.setClipRect(seen);
  painter.setRenderHint(QPainter::Antialiasing, nodes_.size() < 300 || zoom_ > 1.0);
  if (!spine_.isNull()) {
    painter.setBrush(theme.surface);
    painter.setPen(theme.muted);
    painter.drawRoundedRect(spine_, 4, 4);
    const double over = data_.cluster.fabric.oversubscription;
    painter.drawText(spine_, Qt::AlignCenter, tr("spine, %1 leaf groups%2").arg(data_.leaf_groups).arg(over > 1 ? tr(", up-links oversubscribed %1 : 1").arg(over) : QString()));
  }
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (data_.cluster.nodes < 2 || data_.leaves_per_group < 1) break;
    const QRectF frame = groups_[g];
    painter.setBrush(Qt::NoBrush);
    painter.setPen(theme.grid);
    painter.drawRoundedRect(frame, 4, 4);
    const double share = data_.leaves[g].share();
    painter.setPen(wire(theme, share));
    if (!spine_.isNull()) painter.drawLine(QPointF(frame.left() + 2.5, spine_.bottom()), QPointF(frame.left() + 2.5, std::max(spine_.bottom(), frame.top() + line)));  // beside the nodes
    const QRectF bar = leafBar(g);
    const bool used = data_.simulated && !spine_.isNull();
    const QColor fill = used ? linkColor(share, theme) : theme.background;
    painter.fillRect(bar, fill);
    painter.setPen(used ? readableOn(fill) : theme.muted);
    QString text = data_.leaves_per_group > 1 ? tr("leaf group %1: %2 rail switches").arg(g).arg(data_.leaves_per_group) : tr("leaf switch %1").arg(g);
    if (used) text += tr(", up-links %1").arg(percentText(share));
    painter.drawText(bar.adjusted(4, 0, -4, 0), Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(bar.width()) - 8));
  }
  for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) {
    if (nodes_[static_cast<std::size_t>(n)].intersects(seen)) paintNode(painter, n, theme);
  }
  if (selected_) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.text, 3));
    painter.drawRect(rectOf(*selected_).adjusted(-2, -2, 2, 2));
  }
  painter.restore();
  if (zoom_ <= 1.0) return;
  const QString part = tr("a part of it: Home shows all");
  const QRectF box(8.0, size.height() - line - 14.0, fontMetrics().horizontalAdvance(part) + 16.0, line + 6.0);
  painter.setBrush(theme.background);
  painter.setPen(theme.muted);
  painter.drawRoundedRect(box, 3, 3);
  painter.setPen(theme.text);
  painter.drawText(box, Qt::AlignCenter, part);
}

}  // namespace sgsim::gui
