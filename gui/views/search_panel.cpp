#include <QRegularExpressionValidator>

#include "gui/models/cells.h"
#include "gui/views/page_layout.h"
#include "gui/views/work_panels.h"
#include "sim/scenario/text_table.h"

namespace sgsim::gui {

SearchPanel::SearchPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent)
    : WorkPanel(document, cache, tr("The plan search"), parent), objective_(new QComboBox(this)), axis_(new QComboBox(this)), nodes_(new QLineEdit(this)), price_(new QDoubleSpinBox(this)), scatter_(new ChartView(tr("Plans: time against memory"), this)),
      plans_(new TableView(tr("Plans"), true, this)), fell_out_(new TableView(tr("Why plans fell out"), true, this)) {
  objective_->addItems({QStringLiteral("time"), QStringLiteral("cost"), QStringLiteral("memory")});
  objective_->setAccessibleName(tr("What to minimise"));
  axis_->addItems({tr("memory headroom"), tr("cost of a sample")});
  axis_->setAccessibleName(tr("Time against"));
  nodes_->setPlaceholderText(tr("as in the scenario"));
  nodes_->setAccessibleName(tr("Numbers of nodes to try"));
  nodes_->setToolTip(tr("Numbers of nodes to try, for example 1, 2, 4"));
  nodes_->setMaximumWidth(fontMetrics().averageCharWidth() * 24);
  nodes_->setValidator(new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]+( *, *[0-9]+)*")), nodes_));
  price_->setRange(0.0, 1e6);
  price_->setDecimals(2);
  price_->setSpecialValueText(tr("no price"));
  price_->setSuffix(tr(" a GPU and hour"));
  price_->setAccessibleName(tr("Price of one GPU and hour, in any currency"));
  bar_ = new JobBar(job_, tr("&Search plans"), this);
  QSplitter* below = splitter(Qt::Horizontal, {{plans_, 3}, {fell_out_, 2}});
  QHBoxLayout* choices = controlBar({caption(tr("Minimise"), objective_), objective_, price_, nullptr, caption(tr("Nodes"), nodes_), nodes_, nullptr, caption(tr("Show time against"), axis_), axis_});
  choices->addStretch(1);
  fillPage(this, bars({choices, controlBar({bar_})}), splitter(Qt::Vertical, {{scatter_, 1}, {below, 1}}));
  connect(bar_->startButton(), &QPushButton::clicked, this, &SearchPanel::run);
  connect(axis_, &QComboBox::currentIndexChanged, this, &SearchPanel::draw);
  connect(plans_, &TableView::rowOpened, this, &SearchPanel::open);
  connect(plans_, &TableView::rowSelected, this, [this](int row) {
    if (row < 0 || static_cast<std::size_t>(row) >= found_.plans.size()) return;
    Chart chart = scatter_->chart();
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      for (std::size_t p = 0; p < chart.series[s].tips.size(); ++p) {
        if (chart.series[s].tips[p].startsWith(qstr(found_.plans[static_cast<std::size_t>(row)].plan) + QLatin1Char('\n'))) chart.selected = std::pair(static_cast<int>(s), static_cast<int>(p));
      }
    }
    scatter_->setChart(std::move(chart));
  });
  const auto row_of = [this](int series, int point) {
    const QString plan = scatter_->chart().series[static_cast<std::size_t>(series)].tips[static_cast<std::size_t>(point)].section(QLatin1Char('\n'), 0, 0);
    for (std::size_t i = 0; i < found_.plans.size(); ++i) {
      if (qstr(found_.plans[i].plan) == plan) return static_cast<int>(i);
    }
    return -1;
  };
  connect(scatter_, &ChartView::pointSelected, this, [this, row_of](int s, int p) { plans_->selectRow(row_of(s, p)); });
  connect(scatter_, &ChartView::pointOpened, this, [this, row_of](int s, int p) { open(row_of(s, p)); });
  draw();
}

void SearchPanel::run() {
  std::vector<int> nodes;
  for (const QString& n : nodes_->text().split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    if (const int count = n.trimmed().toInt(); count > 0) nodes.push_back(count);
  }
  const SearchRequest request{.text = document_.text(), .name = document_.name().toStdString(), .folder = document_.folder().toStdString(), .objective = objective_->currentText().toStdString(), .price = price_->value(), .budget = 0.0, .nodes = std::move(nodes)};
  scenario::InputCache& cache = cache_;
  job_.start<FoundPlans>([request, &cache](JobControl& control) { return searchPlans(request, cache, control); }, [this](FoundPlans plans) { showPlans(std::move(plans)); });
}

void SearchPanel::showPlans(FoundPlans plans) {
  found_ = std::move(plans);
  bar_->say(tr("%1 plans considered, %2 legal, %3 simulated%4").arg(qstr(scenario::grouped(static_cast<std::int64_t>(found_.considered))), qstr(scenario::grouped(static_cast<std::int64_t>(found_.legal)))).arg(found_.simulated).arg(found_.complete ? QString() : tr("; not finished")));
  draw();
}

void SearchPanel::open(int row) {
  if (row < 0 || static_cast<std::size_t>(row) >= found_.plans.size()) return;
  const FoundPlan& plan = found_.plans[static_cast<std::size_t>(row)];
  Q_EMIT openSettings(plan.settings, tr("open plan %1").arg(qstr(plan.plan)));
}

void SearchPanel::draw() {
  const bool cost = axis_->currentIndex() == 1;
  Chart chart{.kind = ChartKind::scatter, .title = found_.plans.empty() ? QString() : tr("Plans that fit: click selects, double click opens"), .xTitle = cost ? tr("cost of a sample") : tr("memory headroom"), .yTitle = tr("step time"),
              .empty = tr("Search plans tries every legal plan of this model, cluster and global batch; the best are simulated."), .series = {}, .categories = {}, .xText = cost ? numberText : bytesText, .yText = timeText};
  if (!cost) chart.unitX = 1073741824.0;
  ChartSeries front{.name = tr("Pareto front"), .color = 5, .points = {}, .tips = {}, .marker = 3};
  ChartSeries others{.name = tr("other simulated plans"), .color = 0, .points = {}, .tips = {}, .marker = 0};
  Table table = tableOf(found_.plans.empty() ? tr("No plans yet") : tr("Plans (Return opens one)"), {tr("plan"), tr("GPUs"), tr("step time"), tr("memory"), tr("headroom"), tr("cost"), tr("figures"), tr("front")}, QStringLiteral("lrrrrrll"));
  for (const FoundPlan& p : found_.plans) {
    ChartSeries& s = p.on_front ? front : others;
    const QString words = qstr(p.plan);
    s.points.emplace_back(cost ? p.cost : p.headroom, p.step_time);
    s.tips.push_back(tr("%1\n%2 a step, %3 free%4").arg(words, timeText(p.step_time), bytesText(p.headroom), p.simulated ? QString() : tr(" (estimated)")));
    table.rows.push_back({{words}, countCell(p.gpus), timeCell(p.step_time), bytesCell(p.memory), bytesCell(p.headroom), cellOr(p.cost > 0 ? std::optional(p.cost) : std::nullopt, numberText), {p.simulated ? tr("simulated") : tr("estimated")}, {p.on_front ? tr("yes") : QString()}});
  }
  if (!front.points.empty()) chart.series.push_back(std::move(front));
  if (!others.points.empty()) chart.series.push_back(std::move(others));
  Table out = tableOf(tr("Why plans fell out"), {tr("rule"), tr("plans"), tr("example")}, QStringLiteral("lrl"));
  for (const auto& r : found_.fell_out) {
    out.rows.push_back({{qstr(r.rule)}, countCell(static_cast<std::int64_t>(r.plans)), longCell(qstr(r.example))});
  }
  scatter_->setChart(std::move(chart));
  plans_->setTable(std::move(table));
  fell_out_->setTable(std::move(out));
}

}  // namespace sgsim::gui
