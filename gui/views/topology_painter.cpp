// How a cluster is drawn.
#include <QPainter>
#include <cmath>

#include "gui/views/topology_view.h"

namespace sgsim::gui {
namespace {

/// Twice the width at full use, so that use reads without colour too.
QPen wire(const Theme& theme, bool simulated, double share) { return {simulated && share > 0.0 ? theme.heat(0.25 + 0.75 * share) : theme.muted, 1.0 + (simulated ? 2.0 * share : 0.0)}; }

}  // namespace

void TopologyView::paintBox(QPainter& painter, const QRectF& r, double share, bool faulty, const QString& text, const Theme& theme) const {
  const QColor fill = theme.heat(data_.simulated ? share : 0.0);
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
      painter.setPen(gpu.nvlink_speed < 1.0 ? QPen(theme.error, 2, Qt::DashLine) : wire(theme, data_.simulated, gpu.nvlink));
      const double x = r.center().x() - r.width() * 0.15;
      painter.drawLine(QPointF(x, above ? r.bottom() : r.top()), QPointF(x, above ? nvlink.top() : nvlink.bottom()));
    }
    if (!pcie.isNull()) {
      // Rows further up pass the ones below at their side.
      const double x = r.right() + 3.0 - 4.0 * static_cast<double>(g / rowsOf(index).per_row);
      painter.setPen(wire(theme, data_.simulated, gpu.network));
      painter.drawLine(QPointF(std::min(x, r.right()), r.bottom() - 4), QPointF(x, r.bottom() - 4));
      painter.drawLine(QPointF(x, r.bottom() - 4), QPointF(x, pcie.top()));
    }
  }
  for (int n = 0; n < node.nics && !pcie.isNull(); ++n) {
    const QRectF r = rectOf({true, index, n});
    painter.setPen(wire(theme, data_.simulated, data_.nics[static_cast<std::size_t>(index * node.nics + n)].network));
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
    paintBox(painter, rectOf({false, index, g}), share, gpu.speed < 1.0 || gpu.nvlink_speed < 1.0, tr("GPU %1").arg(g) + (data_.simulated ? QLatin1Char('\n') + percentText(share) : QString()), theme);
  }
  const bool wide = detailed(index);
  for (int n = 0; n < data_.cluster.node.nics; ++n) {
    const NicUse& nic = data_.nics[static_cast<std::size_t>(index * data_.cluster.node.nics + n)];
    const QString use = data_.simulated && data_.cluster.nodes > 1 ? QLatin1Char('\n') + percentText(nic.network) : QString();
    paintBox(painter, rectOf({true, index, n}), nic.network, nic.speed < 1.0, wide ? tr("port %1").arg(n) + use : QString(), theme);
  }
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
  const QString words[] = {tr("share of the step in which a GPU computes"), tr("share of the step in which a GPU transfers inside its node"), tr("share of the step in which a GPU transfers between nodes")};
  double x = 14;
  painter.setPen(theme.text);
  const QString title = data_.simulated ? words[static_cast<int>(usage_)] : tr("not simulated yet");
  painter.drawText(QPointF(x, 8 + fontMetrics().ascent()), title);
  x += fontMetrics().horizontalAdvance(title) + 12;
  if (data_.simulated) {
    painter.drawText(QPointF(x, 8 + fontMetrics().ascent()), QStringLiteral("0 %"));
    x += fontMetrics().horizontalAdvance(QStringLiteral("0 % "));
    for (int i = 0; i < 60; ++i) painter.fillRect(QRectF(x + i * 2, 8, 2, line), theme.heat(i / 59.0));
    x += 126;
    painter.drawText(QPointF(x, 8 + fontMetrics().ascent()), QStringLiteral("100 %"));
    x += fontMetrics().horizontalAdvance(QStringLiteral("100 %  "));
  }
  painter.setPen(theme.muted);
  const QString about = tr("large: GPUs; small, below: network ports; struck through: slow or failed");
  if (x + fontMetrics().horizontalAdvance(about) < size.width()) painter.drawText(QPointF(x, 8 + fontMetrics().ascent()), about);
  painter.setRenderHint(QPainter::Antialiasing, nodes_.size() < 300);
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
    painter.setPen(theme.muted);
    if (!spine_.isNull()) painter.drawLine(QPointF(frame.left() + 2.5, spine_.bottom()), QPointF(frame.left() + 2.5, std::max(spine_.bottom(), frame.top() + line)));  // beside the nodes
    const QString text = data_.leaves_per_group > 1 ? tr("leaf group %1: %2 rail switches").arg(g).arg(data_.leaves_per_group) : tr("leaf switch %1").arg(g);
    painter.drawText(QRectF(frame.left() + 8, frame.top() + 3, frame.width() - 16, line), Qt::AlignLeft, fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(frame.width()) - 16));
  }
  for (int n = 0; n < static_cast<int>(nodes_.size()); ++n) paintNode(painter, n, theme);
  if (selected_) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.text, 3));
    painter.drawRect(rectOf(*selected_).adjusted(-2, -2, 2, 2));
  }
}

}  // namespace sgsim::gui
