#include "gui/views/topology_view.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/models/cells.h"

namespace sgsim::gui {

TopologyView::TopologyView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Topology"));
  setAccessibleDescription(tr("Nodes, GPUs and network ports, coloured by use. Arrow keys go from GPU to GPU, N switches between GPUs, ports and leaf switches."));
}

namespace {

/// A round share at or above every link's.
double scaleOf(const TopologyData& data) {
  double most = 0.0;
  for (const GpuUse& gpu : data.gpus) most = std::max({most, gpu.nvlink.share, gpu.pcie.share});
  for (const std::vector<PortUse>* ports : {&data.nics, &data.leaves}) {
    for (const PortUse& port : *ports) most = std::max(most, port.share());
  }
  for (const double scale : {0.01, 0.02, 0.05, 0.1, 0.2, 0.5}) {
    if (most <= scale) return scale;
  }
  return 1.0;
}

}  // namespace

void TopologyView::setData(TopologyData data) {
  data_ = std::move(data);
  const auto known = [this](const TopologyPlace& p) {
    if (p.leaf) return p.node < static_cast<int>(data_.leaves.size());
    return !data_.gpus.empty() && p.node < data_.cluster.nodes && p.index < (p.nic ? data_.cluster.node.nics : data_.cluster.node.gpus);
  };
  link_scale_ = scaleOf(data_);
  if (selected_ && !known(*selected_)) selected_.reset();
  moveTo(origin_);
  Q_EMIT selectionChanged();
}

void TopologyView::setUsage(Usage usage) {
  usage_ = usage;
  layoutNodes(size());
  update();
}

void TopologyView::select(std::optional<TopologyPlace> place) {
  selected_ = place;
  update();
  Q_EMIT selectionChanged();
}

void TopologyView::zoom(double factor, const QPointF& at) {
  constexpr double kMost = 64.0;
  const double wanted = std::clamp(zoom_ * factor, 1.0, kMost), by = wanted / zoom_;
  // Headings and gaps do not grow with the nodes: what stays under the pointer is a place of the nearest node.
  std::size_t nearest = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const QPointF d = nodes_[n].center() - at;
    if (const double far = QPointF::dotProduct(d, d); far < least) least = far, nearest = n;
  }
  const QRectF before = nodes_.empty() ? QRectF(0.0, 0.0, 1.0, 1.0) : nodes_[nearest];
  const QPointF part((at.x() - before.left()) / before.width(), (at.y() - before.top()) / before.height());
  zoom_ = wanted;
  moveTo(origin_ * by);
  if (nodes_.empty()) return;
  const QRectF& now = nodes_[nearest];
  moveTo(origin_ + QPointF(now.left() + part.x() * now.width(), now.top() + part.y() * now.height()) - at);
}

void TopologyView::showAll() {
  zoom_ = 1.0;
  moveTo({});
}

void TopologyView::moveTo(const QPointF& origin) {
  const double spare = zoom_ - 1.0;
  origin_ = QPointF(std::clamp(origin.x(), 0.0, spare * width()), std::clamp(origin.y(), 0.0, spare * std::max(0.0, height() - top_)));
  layoutNodes(size());
  update();
}

void TopologyView::reveal(TopologyPlace place) {
  if (zoom_ <= 1.0) return;
  const QRectF r = rectOf(place), seen(0.0, top_, width(), height() - top_);
  if (!seen.contains(r)) moveTo(origin_ + r.center() - seen.center());
}

void TopologyView::layoutNodes(const QSize& window) {
  top_ = legendLines(window.width()) * (fontMetrics().height() + 4) + 10;
  // All of it in a plane that the zoom makes larger; the legend stays as it is.
  const QSizeF size(window.width() * zoom_, top_ + (window.height() - top_) * zoom_);
  nodes_.clear();
  groups_.clear();
  const int count = data_.cluster.nodes;
  if (count < 1 || data_.gpus.empty()) return;
  const double line = fontMetrics().height();
  const bool fabric = count > 1 && data_.leaves_per_group > 0;
  const double legend = top_;
  spine_ = fabric && data_.leaf_groups > 1 ? QRectF(12, legend + 4, size.width() - 24, line + 6) : QRectF();
  const double top = legend + (spine_.isNull() ? 6 : line + 22);
  const QRectF area(12, top, size.width() - 24, size.height() - top - 10);
  const int groups = fabric ? std::min(data_.leaf_groups, count) : 1;
  // Groups in a grid as square as the space.
  int columns = 1;
  double best = 0.0;
  for (int c = 1; c <= groups; ++c) {
    const int rows = (groups + c - 1) / c;
    const double w = area.width() / c, h = area.height() / rows;
    const double score = std::min(w, h * 1.6);
    if (score > best) best = score, columns = c;
  }
  const int rows = (groups + columns - 1) / columns;
  const double gw = area.width() / columns, gh = area.height() / rows;
  nodes_.resize(static_cast<std::size_t>(count));
  for (int g = 0; g < groups; ++g) {
    const QRectF frame(area.left() + gw * (g % columns) + 3, area.top() + gh * (g / columns) + 3, gw - 6, gh - 6);
    groups_.push_back(frame);
    const int first = fabric ? g * data_.cluster.fabric.nodes_per_leaf : 0;
    const int members = fabric ? std::min(data_.cluster.fabric.nodes_per_leaf, count - first) : count;
    const double head = fabric ? line + 8 : 4;
    const QRectF inner = frame.adjusted(5, head, -5, -5);
    const int room = fabric ? std::min(data_.cluster.fabric.nodes_per_leaf, count) : count;  // nodes are of one size in all groups
    int cols = 1;
    double side = 0.0;
    for (int c = 1; c <= room; ++c) {
      const double s = std::min(inner.width() / c, inner.height() / ((room + c - 1) / c) * 1.35);
      if (s > side) side = s, cols = c;
    }
    const int lines = (room + cols - 1) / cols;
    const double w = std::min(inner.width() / cols, (count < 5 ? 1400.0 : 520.0) * zoom_), h = std::min(inner.height() / lines, (count < 5 ? 900.0 : 400.0) * zoom_);
    for (int i = 0; i < members; ++i) {
      const double gap = std::min(4.0, w * 0.04);
      nodes_[static_cast<std::size_t>(first + i)] = QRectF(inner.left() + w * (i % cols) + gap, inner.top() + h * (i / cols) + gap, w - 2 * gap, h - 2 * gap);
    }
  }
  for (QRectF& r : nodes_) r.translate(-origin_);
  for (QRectF& r : groups_) r.translate(-origin_);
  spine_.translate(-origin_);
}

bool TopologyView::detailed(int node) const { return nodes_[static_cast<std::size_t>(node)].height() > 150 && nodes_[static_cast<std::size_t>(node)].width() > 200; }

QRectF TopologyView::portsOf(int node) const {
  const QRectF r = nodes_[static_cast<std::size_t>(node)];
  const double part = data_.cluster.node.nics < 1 ? 0.0 : r.height() * (detailed(node) ? 0.12 : 0.16);
  return QRectF(r.left() + 2, r.bottom() - part - 2, r.width() - 4, part);
}

QRectF TopologyView::pcieOf(int node) const {
  if (!detailed(node) || data_.cluster.node.nics < 1) return {};
  const QRectF ports = portsOf(node);
  const double height = fontMetrics().height() + 2.0;
  return QRectF(ports.left() + 4, ports.top() - height - 10, ports.width() - 8, height);
}

QRectF TopologyView::bodyOf(int node) const {
  const QRectF r = nodes_[static_cast<std::size_t>(node)];
  const double title = r.height() > 90 ? fontMetrics().height() + 4 : 0;
  const QRectF pcie = pcieOf(node);
  const double bottom = pcie.isNull() ? portsOf(node).top() : pcie.top() - 8;
  return QRectF(QPointF(r.left() + 2, r.top() + 2 + title), QPointF(r.right() - 2, bottom));
}

/// GPUs stand in rows of four in a server of eight; the NVLink switch runs between the first row and the second.
TopologyView::Rows TopologyView::rowsOf(int node) const {
  const int gpus = data_.cluster.node.gpus;
  Rows rows;
  rows.per_row = std::min(gpus, std::max(1, static_cast<int>(std::ceil(std::sqrt(gpus * 2.0)))));
  rows.count = (gpus + rows.per_row - 1) / rows.per_row;
  const QRectF body = bodyOf(node);
  const bool linked = gpus > 1 && data_.cluster.node.intra != cluster::IntraNode::pcie;
  rows.bar = !linked ? 0.0 : detailed(node) ? fontMetrics().height() + 18.0 : body.height() > 60 ? std::min(8.0, body.height() * 0.06) : 0.0;
  rows.height = (body.height() - rows.bar) / rows.count;
  return rows;
}

QRectF TopologyView::nvlinkOf(int node) const {
  const Rows rows = rowsOf(node);
  if (rows.bar <= 0.0) return {};
  const QRectF body = bodyOf(node);
  const double inset = detailed(node) ? 8.0 : rows.bar * 0.3;
  return QRectF(body.left() + 4, body.top() + rows.height + inset, body.width() - 8, rows.bar - 2 * inset);
}

QRectF TopologyView::leafBar(std::size_t group) const {
  if (group >= groups_.size() || data_.cluster.nodes < 2 || data_.leaves_per_group < 1) return {};
  const QRectF frame = groups_[group];
  return QRectF(frame.left() + 5, frame.top() + 3, frame.width() - 10, fontMetrics().height() + 2.0);
}

QRectF TopologyView::rectOf(TopologyPlace place) const {
  if (place.leaf) return leafBar(static_cast<std::size_t>(std::max(0, place.node)));
  if (place.node < 0 || static_cast<std::size_t>(place.node) >= nodes_.size()) return {};
  if (place.nic) {
    const int nics = data_.cluster.node.nics;
    if (nics < 1) return {};
    const QRectF ports = portsOf(place.node);
    const double w = ports.width() / nics;
    return QRectF(ports.left() + w * place.index, ports.top(), w, ports.height()).adjusted(w * 0.08, 1, -w * 0.08, 0);
  }
  const Rows rows = rowsOf(place.node);
  const QRectF body = bodyOf(place.node);
  const double w = body.width() / rows.per_row;
  const int row = place.index / rows.per_row;
  return QRectF(body.left() + w * (place.index % rows.per_row), body.top() + rows.height * row + (row > 0 ? rows.bar : 0.0), w, rows.height).adjusted(w * 0.05, rows.height * 0.04, -w * 0.05, -rows.height * 0.04);
}

std::optional<TopologyPlace> TopologyView::hit(const QPointF& at) const {
  if (at.y() < top_) return std::nullopt;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    if (leafBar(g).contains(at)) return TopologyPlace{false, static_cast<int>(g), 0, true};
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    if (!nodes_[n].contains(at)) continue;
    for (int i = 0; i < data_.cluster.node.gpus; ++i) {
      const TopologyPlace p{false, static_cast<int>(n), i};
      if (rectOf(p).contains(at)) return p;
    }
    for (int i = 0; i < data_.cluster.node.nics; ++i) {
      const TopologyPlace p{true, static_cast<int>(n), i};
      if (rectOf(p).contains(at)) return p;
    }
  }
  return std::nullopt;
}

namespace {

QString carried(const QString& what, const LinkShare& link) {
  return QObject::tr("\n%1: %2 a step, %3 of %4").arg(what, link.bytes > 0.0 ? bytesText(link.bytes) : QStringLiteral("0 B"), percentText(link.share), rateText(link.bandwidth));
}

}  // namespace

QString TopologyView::textOf(TopologyPlace p) const {
  const cluster::Node& node = data_.cluster.node;
  if (p.leaf) {
    const PortUse& leaf = data_.leaves[static_cast<std::size_t>(p.node)];
    QString text = data_.leaves_per_group > 1 ? tr("Leaf group %1: %2 rail switches").arg(p.node).arg(data_.leaves_per_group) : tr("Leaf switch %1").arg(p.node);
    if (data_.simulated) text += carried(tr("up to the spine"), leaf.up) + carried(tr("down from it"), leaf.down);
    return text;
  }
  if (p.nic) {
    const PortUse& nic = data_.nics[static_cast<std::size_t>(p.node * node.nics + p.index)];
    QString text = tr("Port %1 of node %2: %3").arg(p.index).arg(p.node).arg(rateText(node.nic.bandwidth.value()));
    if (nic.speed == 0.0) return text + tr("\nfailed");
    if (nic.speed < 1.0) text += tr("\nslow: %1 of its speed").arg(percentText(nic.speed));
    if (data_.simulated) text += carried(tr("sends"), nic.up) + carried(tr("receives"), nic.down);
    return text;
  }
  const GpuUse& gpu = data_.gpus[static_cast<std::size_t>(p.node * node.gpus + p.index)];
  QString text = tr("GPU %1 of node %2: %3, %4").arg(p.index).arg(p.node).arg(QString::fromStdString(node.gpu.name), bytesText(node.gpu.memory.value()));
  if (!gpu.what.isEmpty()) text += QLatin1Char('\n') + gpu.what;
  if (data_.simulated) {
    text += tr("\ncomputes %1 of the step").arg(percentText(gpu.compute));
    if (node.intra != cluster::IntraNode::pcie) text += carried(tr("NVLink"), gpu.nvlink);
    text += carried(tr("PCIe"), gpu.pcie);
    text += tr("\ntransfers inside the node %1 of the step, between nodes %2").arg(percentText(gpu.inside_time), percentText(gpu.outside_time));
  } else {
    text += tr("\nNVLink %1, PCIe %2").arg(rateText(node.nvlink.bandwidth.value()), rateText(node.pcie.bandwidth.value()));
  }
  if (gpu.speed < 1.0) text += tr("\nslow: computes at %1").arg(percentText(gpu.speed));
  if (gpu.nvlink_speed < 1.0) text += tr("\nslow NVLink: %1").arg(percentText(gpu.nvlink_speed));
  return text;
}

QString TopologyView::textAt(const QPointF& at) const {
  if (const auto place = hit(at)) return textOf(*place);
  if (spine_.contains(at)) {
    LinkShare all;
    for (const PortUse& leaf : data_.leaves) {
      all.bytes += leaf.up.bytes;
      all.bandwidth += leaf.up.bandwidth;
      all.share = std::max(all.share, leaf.up.share);
    }
    return tr("Spine of %1 leaf groups\n%2 a step go over it; the busiest up-link is used %3").arg(data_.leaf_groups).arg(bytesText(all.bytes), percentText(all.share));
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const int node = static_cast<int>(n);
    const bool nvlink = nvlinkOf(node).contains(at), pcie = pcieOf(node).contains(at);
    if (!nvlink && !pcie) continue;
    double bytes = 0.0, most = 0.0;
    for (int g = 0; g < data_.cluster.node.gpus; ++g) {
      const GpuUse& gpu = data_.gpus[n * static_cast<std::size_t>(data_.cluster.node.gpus) + static_cast<std::size_t>(g)];
      const LinkShare& link = nvlink ? gpu.nvlink : gpu.pcie;
      bytes += link.bytes;
      most = std::max(most, link.share);
    }
    const QString name = nvlink ? tr("NVLink of node %1").arg(node) : tr("PCIe of node %1").arg(node);
    return data_.simulated ? tr("%1: its GPUs send %2 a step; the busiest link is used %3").arg(name, bytesText(bytes), percentText(most)) : name;
  }
  return {};
}

void TopologyView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paintInto(painter, size());
  if (drag_ == Drag::mark && moved_far_) {
    QColor fill = palette().color(QPalette::Highlight);
    painter.setPen(QPen(fill, 1));
    fill.setAlpha(50);
    painter.setBrush(fill);
    painter.drawRect(QRectF(pressed_, last_).normalized());
  }
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }
}

void TopologyView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  if (event->button() != Qt::LeftButton) return;
  pressed_ = last_ = event->position();
  moved_far_ = false;
  drag_ = zoom_ > 1.0 && !(event->modifiers() & Qt::ShiftModifier) ? Drag::move : Drag::mark;
}

void TopologyView::mouseMoveEvent(QMouseEvent* event) {
  if (drag_ == Drag::none) return;
  if ((event->position() - pressed_).manhattanLength() > 5.0) moved_far_ = true;
  if (!moved_far_) return;
  if (drag_ == Drag::move) moveTo(origin_ - (event->position() - last_));
  last_ = event->position();
  update();
}

void TopologyView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const Drag was = std::exchange(drag_, Drag::none);
  if (was == Drag::none) return;
  if (!moved_far_) return select(hit(event->position()));
  const QRectF mark = QRectF(pressed_, event->position()).normalized();
  if (was == Drag::mark && std::max(mark.width(), mark.height()) > 8.0) {
    const double by = std::min(width() / std::max(1.0, mark.width()), (height() - top_) / std::max(1.0, mark.height()));
    // Its middle comes to the middle.
    zoom(by, mark.center());
    moveTo(origin_ + mark.center() - QPointF(width() / 2.0, top_ + (height() - top_) / 2.0));
  }
  update();
}

void TopologyView::mouseDoubleClickEvent(QMouseEvent* event) {
  if (!hit(event->position())) showAll();
}

void TopologyView::wheelEvent(QWheelEvent* event) {
  zoom(std::pow(1.25, event->angleDelta().y() / 120.0), event->position());
  event->accept();
}

bool TopologyView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    if (const QString text = textAt(help->pos()); !text.isEmpty()) {
      QToolTip::showText(help->globalPos(), text, this);
    } else {
      QToolTip::hideText();
    }
    return true;
  }
  return QWidget::event(event);
}

void TopologyView::keyPressEvent(QKeyEvent* event) {
  if (data_.gpus.empty()) return QWidget::keyPressEvent(event);
  TopologyPlace p = selected_.value_or(TopologyPlace{});
  const int per_node = p.leaf ? 1 : p.nic ? data_.cluster.node.nics : data_.cluster.node.gpus;
  const int all = p.leaf ? static_cast<int>(groups_.size()) : per_node * data_.cluster.nodes;
  if (all < 1) return;
  int at = p.node * per_node + p.index;
  switch (event->key()) {
    case Qt::Key_Right: at += selected_ ? 1 : 0; break;
    case Qt::Key_Left: at -= 1; break;
    case Qt::Key_Down: at += per_node; break;
    case Qt::Key_Up: at -= per_node; break;
    case Qt::Key_N:  // GPU, port, leaf switch, GPU
      if (p.leaf) return select(TopologyPlace{});
      if (!p.nic && data_.cluster.node.nics > 0) return select(TopologyPlace{true, p.node, 0});
      if (!leafBar(0).isNull()) return select(TopologyPlace{false, std::min(p.node / std::max(1, data_.cluster.fabric.nodes_per_leaf), static_cast<int>(groups_.size()) - 1), 0, true});
      return select(TopologyPlace{false, p.node, 0});
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom(1.25, selected_ ? rectOf(*selected_).center() : QPointF(width() / 2.0, height() / 2.0));
    case Qt::Key_Minus: return zoom(0.8, QPointF(width() / 2.0, height() / 2.0));
    case Qt::Key_Home:
    case Qt::Key_0: return showAll();
    case Qt::Key_Escape:
      if (drag_ != Drag::none) {
        drag_ = Drag::none;
        return update();
      }
      return select(std::nullopt);
    default: QWidget::keyPressEvent(event); return;
  }
  at = std::clamp(at, 0, all - 1);
  select(TopologyPlace{p.nic, at / per_node, at % per_node, p.leaf});
  reveal(*selected_);
}

}  // namespace sgsim::gui
