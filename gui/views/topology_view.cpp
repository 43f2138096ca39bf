#include "gui/views/topology_view.h"

#include <QHBoxLayout>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <QVBoxLayout>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/core/units_text.h"
#include "sim/scenario/names.h"

namespace sgsim::gui {
namespace {

QString rate(BytesPerSecond v) { return QString::fromStdString(to_text(v)); }

}  // namespace

TopologyView::TopologyView(QWidget* parent) : QWidget(parent) {
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Topology"));
  setAccessibleDescription(tr("Nodes, GPUs and network ports, coloured by use. Arrow keys go from GPU to GPU, N switches between GPUs and ports."));
}

void TopologyView::setData(TopologyData data) {
  data_ = std::move(data);
  const auto known = [this](const TopologyPlace& p) { return !data_.gpus.empty() && p.node < data_.cluster.nodes && p.index < (p.nic ? data_.cluster.node.nics : data_.cluster.node.gpus); };
  if (selected_ && !known(*selected_)) selected_.reset();
  layoutNodes(size());
  update();
  Q_EMIT selectionChanged();
}

void TopologyView::setUsage(Usage usage) {
  usage_ = usage;
  update();
}

void TopologyView::select(std::optional<TopologyPlace> place) {
  selected_ = place;
  update();
  Q_EMIT selectionChanged();
}

int TopologyView::group(int node) const { return data_.cluster.fabric.nodes_per_leaf > 0 ? node / data_.cluster.fabric.nodes_per_leaf : 0; }

void TopologyView::layoutNodes(const QSize& size) {
  nodes_.clear();
  groups_.clear();
  const int count = data_.cluster.nodes;
  if (count < 1 || data_.gpus.empty()) return;
  const double line = fontMetrics().height();
  const bool fabric = count > 1 && data_.leaves_per_group > 0;
  const double legend = line + 14;
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
    int cols = 1;
    double side = 0.0;
    for (int c = 1; c <= members; ++c) {
      const double s = std::min(inner.width() / c, inner.height() / ((members + c - 1) / c) * 1.35);
      if (s > side) side = s, cols = c;
    }
    const int lines = (members + cols - 1) / cols;
    const double w = std::min(inner.width() / cols, count < 5 ? 900.0 : 420.0), h = std::min(inner.height() / lines, count < 5 ? 560.0 : 310.0);
    for (int i = 0; i < members; ++i) {
      const double gap = std::min(4.0, w * 0.04);
      nodes_[static_cast<std::size_t>(first + i)] = QRectF(inner.left() + w * (i % cols) + gap, inner.top() + h * (i / cols) + gap, w - 2 * gap, h - 2 * gap);
    }
  }
}

QRectF TopologyView::rectOf(TopologyPlace place) const {
  if (place.node < 0 || static_cast<std::size_t>(place.node) >= nodes_.size()) return {};
  const QRectF node = nodes_[static_cast<std::size_t>(place.node)];
  const double title = node.height() > 90 ? fontMetrics().height() + 4 : 0;
  const int nics = data_.cluster.nodes > 1 ? data_.cluster.node.nics : 0;
  const double ports = nics > 0 ? node.height() * 0.16 : 0.0;
  const QRectF body = node.adjusted(2, 2 + title, -2, -2 - ports);
  if (place.nic) {
    if (nics < 1) return {};
    const double w = (node.width() - 4) / nics;
    return QRectF(node.left() + 2 + w * place.index, node.bottom() - ports, w, ports - 2).adjusted(w * 0.1, 1, -w * 0.1, 0);
  }
  const int gpus = data_.cluster.node.gpus;
  const int columns = std::max(1, static_cast<int>(std::ceil(std::sqrt(gpus * 2.0))));
  const int per_row = std::min(gpus, columns);
  const int rows = (gpus + per_row - 1) / per_row;
  const double w = body.width() / per_row, h = body.height() / rows;
  // The NVLink switch runs between the rows.
  const double bar = rows > 1 && node.height() > 60 ? std::min(8.0, h * 0.12) : 0.0;
  return QRectF(body.left() + w * (place.index % per_row), body.top() + h * (place.index / per_row), w, h).adjusted(w * 0.05, bar / 2 + h * 0.04, -w * 0.05, -bar / 2 - h * 0.04);
}

std::optional<TopologyPlace> TopologyView::hit(const QPointF& at) const {
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

QString TopologyView::textOf(TopologyPlace p) const {
  const cluster::Node& node = data_.cluster.node;
  if (p.nic) {
    const NicUse& nic = data_.nics[static_cast<std::size_t>(p.node * node.nics + p.index)];
    QString text = tr("Port %1 of node %2: %3").arg(p.index).arg(p.node).arg(rate(node.nic.bandwidth));
    if (nic.speed == 0.0) return text + tr("\nfailed");
    if (nic.speed < 1.0) text += tr("\nslow: %1 of its speed").arg(percentText(nic.speed));
    if (data_.simulated) text += tr("\ntransfers %1 of the step").arg(percentText(nic.network));
    return text;
  }
  const GpuUse& gpu = data_.gpus[static_cast<std::size_t>(p.node * node.gpus + p.index)];
  QString text = tr("GPU %1 of node %2: %3, %4").arg(p.index).arg(p.node).arg(QString::fromStdString(node.gpu.name), bytesText(node.gpu.memory.value()));
  if (!gpu.what.isEmpty()) text += QLatin1Char('\n') + gpu.what;
  if (data_.simulated) text += tr("\ncomputes %1 of the step\ninside the node %2, between nodes %3").arg(percentText(gpu.compute), percentText(gpu.nvlink), percentText(gpu.network));
  text += tr("\nNVLink %1, PCIe %2").arg(rate(node.nvlink.bandwidth), rate(node.pcie.bandwidth));
  if (gpu.speed < 1.0) text += tr("\nslow: computes at %1").arg(percentText(gpu.speed));
  if (gpu.nvlink_speed < 1.0) text += tr("\nslow NVLink: %1").arg(percentText(gpu.nvlink_speed));
  return text;
}

void TopologyView::paintNode(QPainter& painter, int index, const Theme& theme) {
  const QRectF node = nodes_[static_cast<std::size_t>(index)];
  painter.setPen(QPen(theme.grid, 1));
  painter.setBrush(theme.surface);
  painter.drawRoundedRect(node, 3, 3);
  const bool titled = node.height() > 90;
  if (titled) {
    painter.setPen(theme.muted);
    const QString title = tr("node %1").arg(index) + (data_.cluster.nodes <= 4 ? QStringLiteral(" \u2014 ") + QString::fromStdString(data_.cluster.node.name) : QString());
    painter.drawText(QRectF(node.left() + 6, node.top() + 2, node.width() - 12, fontMetrics().height()), Qt::AlignLeft | Qt::AlignVCenter, fontMetrics().elidedText(title, Qt::ElideRight, static_cast<int>(node.width()) - 12));
  }
  if (data_.cluster.node.intra != cluster::IntraNode::pcie && data_.cluster.node.gpus > 1 && titled) {
    const QRectF a = rectOf({false, index, 0}), b = rectOf({false, index, data_.cluster.node.gpus - 1});
    painter.setPen(QPen(theme.muted, 2));
    const double y = (std::min(a.bottom(), b.bottom()) + std::max(a.top(), b.top())) / 2;
    if (b.top() > a.bottom()) painter.drawLine(QPointF(node.left() + 6, y), QPointF(node.right() - 6, y));
  }
  for (int g = 0; g < data_.cluster.node.gpus; ++g) {
    const QRectF r = rectOf({false, index, g});
    const GpuUse& gpu = data_.gpus[static_cast<std::size_t>(index * data_.cluster.node.gpus + g)];
    const QColor fill = data_.simulated ? theme.heat(gpu.share(usage_)) : theme.heat(0.0);
    painter.setBrush(fill);
    painter.setPen(Qt::NoPen);
    painter.drawRect(r);
    const bool faulty = gpu.speed < 1.0 || gpu.nvlink_speed < 1.0;
    if (faulty) {
      painter.setPen(QPen(theme.error, std::min(3.0, std::max(1.5, r.width() * 0.1))));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(r);
      painter.drawLine(r.topLeft(), r.bottomRight());
    }
    if (r.width() > 44 && r.height() > 2.2 * fontMetrics().height()) {
      painter.setPen(readableOn(fill));
      const QString text = data_.simulated ? QStringLiteral("GPU %1\n%2").arg(g).arg(percentText(gpu.share(usage_))) : QStringLiteral("GPU %1").arg(g);
      painter.drawText(r, Qt::AlignCenter, text);
    }
  }
  for (int n = 0; n < (data_.cluster.nodes > 1 ? data_.cluster.node.nics : 0); ++n) {
    const QRectF r = rectOf({true, index, n});
    const NicUse& nic = data_.nics[static_cast<std::size_t>(index * data_.cluster.node.nics + n)];
    painter.setBrush(data_.simulated ? theme.heat(nic.network) : theme.heat(0.0));
    painter.setPen(nic.speed < 1.0 ? QPen(theme.error, 2) : r.width() > 5 ? QPen(theme.muted, 0.6) : QPen(Qt::NoPen));
    painter.drawRect(r);
    if (nic.speed < 1.0) painter.drawLine(r.topLeft(), r.bottomRight());
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
  const QString about = data_.cluster.nodes > 1 ? tr("squares: GPUs; below them: network ports; struck through: slow or failed") : tr("squares: GPUs; struck through: slow");
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
    if (!spine_.isNull()) painter.drawLine(QPointF(frame.center().x(), spine_.bottom()), QPointF(frame.center().x(), std::max(spine_.bottom(), frame.top())));
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

void TopologyView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  paintInto(painter, size());
  if (hasFocus()) {
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(palette().color(QPalette::Highlight), 2));
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
  }
}

void TopologyView::mousePressEvent(QMouseEvent* event) {
  setFocus(Qt::MouseFocusReason);
  select(hit(event->position()));
}

bool TopologyView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    auto* help = static_cast<QHelpEvent*>(event);
    if (const auto place = hit(help->pos())) {
      QToolTip::showText(help->globalPos(), textOf(*place), this);
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
  const int per_node = p.nic ? data_.cluster.node.nics : data_.cluster.node.gpus;
  const int all = per_node * data_.cluster.nodes;
  if (all < 1) return;
  int at = p.node * per_node + p.index;
  switch (event->key()) {
    case Qt::Key_Right: at += selected_ ? 1 : 0; break;
    case Qt::Key_Left: at -= 1; break;
    case Qt::Key_Down: at += per_node; break;
    case Qt::Key_Up: at -= per_node; break;
    case Qt::Key_N:
      if (data_.cluster.nodes > 1 && data_.cluster.node.nics > 0) select(TopologyPlace{!p.nic, p.node, 0});
      return;
    case Qt::Key_Escape: select(std::nullopt); return;
    default: QWidget::keyPressEvent(event); return;
  }
  at = std::clamp(at, 0, all - 1);
  select(TopologyPlace{p.nic, at / per_node, at % per_node});
}

TopologyPanel::TopologyPanel(ScenarioDocument& document, QWidget* parent)
    : Panel(parent), document_(document), view_(new TopologyView(this)), usage_(new QComboBox(this)), kind_(new QComboBox(this)), factor_(new QDoubleSpinBox(this)), mark_(new QPushButton(tr("&Mark slow"), this)),
      clear_(new QPushButton(tr("&Remove fault"), this)), faults_(new TableView(tr("Faults"), false, this)), about_(new QLabel(this)) {
  usage_->addItems({tr("computation"), tr("inside the node"), tr("between nodes")});
  usage_->setAccessibleName(tr("Colour by"));
  kind_->setAccessibleName(tr("What is slow"));
  for (const auto& [name, value] : scenario::words::kFault) kind_->addItem(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
  factor_->setRange(0.01, 1.0);
  factor_->setSingleStep(0.05);
  factor_->setDecimals(2);
  factor_->setValue(0.5);
  factor_->setAccessibleName(tr("Remaining speed"));
  factor_->setPrefix(tr("at "));
  factor_->setSuffix(tr(" of its speed"));
  about_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  about_->setWordWrap(true);
  about_->setMinimumHeight(fontMetrics().height() * 6);
  about_->setAlignment(Qt::AlignTop);
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 6, 8, 2);
  bar->addWidget(new QLabel(tr("Colour by"), this));
  bar->addWidget(usage_);
  bar->addSpacing(20);
  bar->addWidget(kind_);
  bar->addWidget(factor_);
  bar->addWidget(mark_);
  bar->addWidget(clear_);
  bar->addStretch(1);
  auto* side = new QWidget(this);
  auto* side_layout = new QVBoxLayout(side);
  side_layout->addWidget(about_);
  side_layout->addWidget(faults_, 1);
  side->setFixedWidth(fontMetrics().averageCharWidth() * 52);
  auto* row = new QHBoxLayout;
  row->addWidget(view_, 1);
  row->addWidget(side);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(bar);
  layout->addLayout(row, 1);
  connect(usage_, &QComboBox::currentIndexChanged, this, [this](int i) { view_->setUsage(static_cast<Usage>(i)); });
  connect(mark_, &QPushButton::clicked, this, &TopologyPanel::mark);
  connect(clear_, &QPushButton::clicked, this, &TopologyPanel::clear);
  connect(view_, &TopologyView::selectionChanged, this, &TopologyPanel::selectionChanged);
  connect(&document_, &ScenarioDocument::changed, this, &TopologyPanel::refresh);
  refresh();
}

void TopologyPanel::present(const std::shared_ptr<const Simulated>& s) {
  Panel::present(s);
  refresh();
}

void TopologyPanel::refresh() {
  const auto checked = document_.check();
  const auto* sound = std::get_if<scenario::Scenario>(&checked);
  const auto& s = simulated();
  if (sound == nullptr) {
    view_->setData({});
  } else {
    // Use belongs to the cluster that was simulated; another one shows its structure only.
    const bool same = s && s->run && s->scenario.cluster == sound->cluster;
    view_->setData(topology_of(sound->cluster, same ? s->run.get() : nullptr));
  }
  Table t{.title = tr("Faults"), .columns = {tr("kind"), tr("node"), tr("index"), tr("speed")}, .numeric = QStringLiteral("lrrr"), .rows = {}};
  for (int i = 0; i < document_.listSize(QStringLiteral("cluster.faults")); ++i) {
    const auto at = [&](const char* key) { return document_.value(QStringLiteral("cluster.faults[%1].%2").arg(i).arg(QLatin1String(key))).value_or(QStringLiteral("1")); };
    t.rows.push_back({at("kind"), Cell(at("node"), at("node").toDouble()), Cell(at("index"), at("index").toDouble()), Cell(at("factor"), at("factor").toDouble())});
  }
  if (t.rows.empty()) t.title = tr("No faults: everything runs as specified");
  faults_->setTable(std::move(t));
  clear_->setEnabled(!faults_->table().rows.empty());
}

void TopologyPanel::selectionChanged() {
  const auto place = view_->selected();
  mark_->setEnabled(place.has_value());
  about_->setText(place ? view_->textOf(*place) : tr("Click a GPU or a network port to see its numbers or to mark it slow."));
  if (!place) return;
  const QString now = kind_->currentText();
  const bool nic_kind = now.endsWith(QLatin1String("nic"));
  if (place->nic != nic_kind) kind_->setCurrentText(place->nic ? QStringLiteral("slow_nic") : QStringLiteral("slow_gpu"));
}

void TopologyPanel::mark() {
  const auto place = view_->selected();
  if (!place) return;
  nlohmann::ordered_json fault = {{"kind", kind_->currentText().toStdString()}, {"node", place->node}, {"index", place->index}};
  if (kind_->currentText() != QLatin1String("failed_nic")) fault["factor"] = std::round(factor_->value() * 100.0) / 100.0;
  document_.setAll({{QStringLiteral("cluster.faults[%1]").arg(document_.listSize(QStringLiteral("cluster.faults"))), fault.dump()}}, tr("mark %1").arg(kind_->currentText()));
}

void TopologyPanel::clear() {
  const int row = faults_->currentRow();
  const int count = document_.listSize(QStringLiteral("cluster.faults"));
  if (count == 0) return;
  document_.setAll({{QStringLiteral("cluster.faults[%1]").arg(row >= 0 ? row : count - 1), std::nullopt}}, tr("remove fault"));
}

}  // namespace sgsim::gui
