#include <QVBoxLayout>
#include <cmath>
#include <nlohmann/json.hpp>

#include "gui/views/announce.h"
#include "gui/views/page_layout.h"
#include "gui/views/topology_view.h"
#include "sim/scenario/names.h"

namespace sgsim::gui {
namespace {

/// A fault as a person calls it; the scenario has its word.
QString faultWords(const QString& kind) {
  if (kind == QLatin1String("slow_gpu")) return QObject::tr("slow GPU");
  if (kind == QLatin1String("slow_nvlink")) return QObject::tr("slow NVLink of a GPU");
  if (kind == QLatin1String("slow_nic")) return QObject::tr("slow network port");
  if (kind == QLatin1String("failed_nic")) return QObject::tr("failed network port");
  return kind;
}

}  // namespace

TopologyPanel::TopologyPanel(ScenarioDocument& document, QWidget* parent)
    : Panel(parent), document_(document), view_(new TopologyView(this)), usage_(new QComboBox(this)), kind_(new QComboBox(this)), factor_(new QDoubleSpinBox(this)), mark_(new QPushButton(tr("&Mark slow"), this)),
      clear_(new QPushButton(tr("&Remove fault"), this)), faults_(new TableView(tr("Faults"), false, this)), about_(new QLabel(this)) {
  usage_->addItems({tr("computation"), tr("bytes inside the node"), tr("bytes between nodes")});
  usage_->setAccessibleName(tr("Colour GPUs by"));
  kind_->setAccessibleName(tr("What is slow"));
  for (const auto& [name, value] : scenario::words::kFault) {
    const QString word = QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
    kind_->addItem(faultWords(word), word);
  }
  factor_->setRange(0.01, 1.0);
  factor_->setSingleStep(0.05);
  factor_->setDecimals(2);
  factor_->setValue(0.5);
  factor_->setAccessibleName(tr("Remaining speed"));
  factor_->setPrefix(tr("at "));
  factor_->setSuffix(tr(" of its speed"));
  about_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  about_->setWordWrap(true);
  about_->setMinimumHeight(fontMetrics().height() * 9);
  about_->setAlignment(Qt::AlignTop);
  QLayout* bar = controlBar({caption(tr("Colour GPUs by"), usage_), usage_, nullptr, kind_, factor_, mark_, clear_});
  auto* side = new QWidget(this);
  auto* side_layout = new QVBoxLayout(side);
  side_layout->addWidget(about_);
  side_layout->addWidget(faults_, 1);
  fillPage(this, bar, splitter(Qt::Horizontal, {{view_, 5}, {side, 2}}));
  connect(usage_, &QComboBox::currentIndexChanged, this, [this](int i) { view_->setUsage(static_cast<Usage>(i)); });
  connect(kind_, &QComboBox::currentIndexChanged, this, [this] {
    const bool failed = kind_->currentData().toString() == QLatin1String("failed_nic");
    factor_->setEnabled(!failed);
    mark_->setText(failed ? tr("&Mark failed") : tr("&Mark slow"));
  });
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
    view_->setData(topology_of(sound->cluster, same ? s->run.get() : nullptr, same ? &s->traffic : nullptr));
  }
  Table t = tableOf(tr("Faults"), {tr("kind"), tr("node"), tr("index"), tr("speed")}, QStringLiteral("lrrr"));
  for (int i = 0; i < document_.listSize(QStringLiteral("cluster.faults")); ++i) {
    const auto at = [&](const char* key) { return document_.value(QStringLiteral("cluster.faults[%1].%2").arg(i).arg(QLatin1String(key))).value_or(QStringLiteral("1")); };
    t.rows.push_back({faultWords(at("kind")), Cell(at("node"), at("node").toDouble()), Cell(at("index"), at("index").toDouble()), Cell(at("factor"), at("factor").toDouble())});
  }
  if (t.rows.empty()) t.title = tr("No faults: everything runs as specified");
  faults_->setTable(std::move(t));
  clear_->setEnabled(!faults_->table().rows.empty());
}

void TopologyPanel::selectionChanged() {
  const auto place = view_->selected();
  mark_->setEnabled(place.has_value() && !place->leaf);
  if (place) announce(view_, view_->textOf(*place));
  about_->setText(place ? view_->textOf(*place) : tr("Click a GPU, a network port or a leaf switch to see its numbers; GPUs, their NVLink and ports can be marked slow.%1")
                                                     .arg(view_->data().busiest().isEmpty() ? QString() : tr("\n\nBusiest link: %1 of what it could carry").arg(view_->data().busiest())));
  if (!place || place->leaf) return;
  const QString now = kind_->currentData().toString();
  const bool nic_kind = now.endsWith(QLatin1String("nic"));
  if (place->nic != nic_kind) kind_->setCurrentIndex(kind_->findData(place->nic ? QStringLiteral("slow_nic") : QStringLiteral("slow_gpu")));
}

void TopologyPanel::mark() {
  const auto place = view_->selected();
  if (!place || place->leaf) return;
  nlohmann::ordered_json fault = {{"kind", kind_->currentData().toString().toStdString()}, {"node", place->node}, {"index", place->index}};
  if (kind_->currentData().toString() != QLatin1String("failed_nic")) fault["factor"] = std::round(factor_->value() * 100.0) / 100.0;
  document_.setAll({{QStringLiteral("cluster.faults[%1]").arg(document_.listSize(QStringLiteral("cluster.faults"))), fault.dump()}}, tr("mark: %1").arg(kind_->currentText()));
}

void TopologyPanel::clear() {
  const int row = faults_->currentRow();
  const int count = document_.listSize(QStringLiteral("cluster.faults"));
  if (count == 0) return;
  document_.setAll({{QStringLiteral("cluster.faults[%1]").arg(row >= 0 ? row : count - 1), std::nullopt}}, tr("remove fault"));
}

}  // namespace sgsim::gui
