#include <QRegularExpressionValidator>
#include <array>
#include <nlohmann/json.hpp>

#include "gui/models/cells.h"
#include "gui/models/plan_front.h"
#include "gui/views/page_layout.h"
#include "gui/views/work_panels.h"
#include "planner/search/objective.h"
#include "sim/scenario/text_table.h"

namespace sgsim::gui {

namespace {

/// A number with its unit that may be left out.
QDoubleSpinBox* optionalNumber(const QString& name, const QString& none, const QString& suffix, double least, double step, int decimals, QWidget* parent) {
  auto* box = new QDoubleSpinBox(parent);
  box->setRange(least, 1e9);
  box->setDecimals(decimals);
  box->setSingleStep(step);
  box->setValue(least);
  box->setSpecialValueText(none);
  box->setSuffix(suffix);
  box->setAccessibleName(name);
  box->setToolTip(name);
  box->setMinimumWidth(box->fontMetrics().horizontalAdvance(QStringLiteral("000000") + suffix) + 40);
  box->setMaximumWidth(box->minimumWidth());
  return box;
}

/// A plan's words in three columns: how ranks are laid out, micro-batches, what is computed again or moved away.
std::array<QString, 3> columnsOf(const QString& plan) {
  std::array<QString, 3> columns;
  int depth = 0;
  QString part;
  const auto add = [&](QString words) {
    words = words.trimmed();
    const std::size_t at = words.startsWith(QLatin1String("micro-batch")) ? 1 : words.startsWith(QLatin1String("recompute")) || words.startsWith(QLatin1String("offload")) ? 2 : 0;
    words.replace(QLatin1String("micro-batch "), QString());
    words.replace(QLatin1String("recompute "), QString());
    words.replace(QLatin1String("(stages of "), QLatin1String("("));
    columns[at] += (columns[at].isEmpty() ? QString() : QStringLiteral(", ")) + words;
  };
  for (const QChar c : plan) {
    depth += c == QLatin1Char('(') ? 1 : c == QLatin1Char(')') ? -1 : 0;
    if (c == QLatin1Char(',') && depth == 0) {
      add(std::exchange(part, {}));
    } else {
      part += c;
    }
  }
  add(part);
  return columns;
}

}  // namespace

SearchPanel::SearchPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent)
    : WorkPanel(document, cache, tr("The plan search"), parent), objective_(new QComboBox(this)), axis_(new QComboBox(this)), nodes_(new QLineEdit(this)),
      price_(optionalNumber(tr("Price of one GPU and hour, in any currency"), tr("no price"), tr(" a GPU hour"), 0.0, 0.1, 2, this)),
      budget_(optionalNumber(tr("Stop searching after so many seconds, with what was found"), tr("no limit"), tr(" s"), 0.0, 10.0, 0, this)),
      failures_(new QWidget(this)), open_(new QPushButton(tr("&Open plan"), this)), scatter_(new ChartView(tr("Plans: time against memory or cost"), this)),
      plans_(new TableView(tr("Plans"), true, this)), fell_out_(new TableView(tr("Why plans fell out"), true, this)) {
  mtbf_ = optionalNumber(tr("Mean time between failures of one GPU"), tr("not stated"), tr(" h"), 0.0, 1000.0, 0, failures_);
  checkpoint_ = optionalNumber(tr("Standstill for one checkpoint"), tr("not stated"), tr(" s"), -1.0, 5.0, 0, failures_);
  restart_ = optionalNumber(tr("From a failure to training again"), tr("not stated"), tr(" s"), -1.0, 30.0, 0, failures_);
  for (const char* word : {"time", "cost", "goodput", "memory"}) objective_->addItem(QLatin1String(word));
  objective_->setAccessibleName(tr("What to minimise"));
  objective_->setToolTip(tr("time: of a sample; cost: of a sample; goodput: time with failures counted; memory: of the fullest GPU"));
  axis_->addItems({tr("memory headroom"), tr("cost of a sample")});
  axis_->setAccessibleName(tr("Time against"));
  nodes_->setPlaceholderText(tr("as in the scenario"));
  nodes_->setAccessibleName(tr("Numbers of nodes to try"));
  nodes_->setToolTip(tr("Numbers of nodes to try, for example 1, 2, 4"));
  nodes_->setFixedWidth(fontMetrics().averageCharWidth() * 24);
  nodes_->setValidator(new QRegularExpressionValidator(QRegularExpression(QStringLiteral("[0-9]+( *, *[0-9]+)*")), nodes_));
  bar_ = new JobBar(job_, tr("Se&arch plans"), JobBar::OnCancel::keep, this);
  QLayout* failures = controlBar({caption(tr("a GPU fails every"), mtbf_), mtbf_, caption(tr("checkpoint"), checkpoint_), checkpoint_, caption(tr("restart"), restart_), restart_});
  failures->setContentsMargins(8, 0, 8, 2);
  failures_->setLayout(failures);
  auto* failures_row = new QHBoxLayout;
  failures_row->addWidget(failures_);
  QSplitter* above = splitter(Qt::Horizontal, {{scatter_, 3}, {fell_out_, 2}});
  QLayout* choices = controlBar({caption(tr("Minimise"), objective_), objective_, caption(tr("Price"), price_), price_, caption(tr("Nodes"), nodes_), nodes_, caption(tr("Time limit"), budget_), budget_});
  QLayout* second = controlBar({bar_, open_, caption(tr("Show time against"), axis_), axis_});
  fillPage(this, bars({choices, failures_row, second}), splitter(Qt::Vertical, {{above, 1}, {plans_, 1}}));
  connect(bar_->startButton(), &QPushButton::clicked, this, &SearchPanel::run);
  connect(objective_, &QComboBox::currentIndexChanged, this, &SearchPanel::choose);
  connect(axis_, &QComboBox::currentIndexChanged, this, &SearchPanel::draw);
  connect(price_, &QDoubleSpinBox::valueChanged, this, &SearchPanel::draw);
  connect(open_, &QPushButton::clicked, this, [this] { open(plans_->currentRow()); });
  connect(plans_, &TableView::rowOpened, this, &SearchPanel::open);
  connect(plans_, &TableView::rowSelected, this, [this](int row) { open_->setEnabled(row >= 0); });
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
  choose();
  draw();
}

void SearchPanel::choose() {
  failures_->setVisible(objective_->currentText() == QLatin1String("goodput"));
  if (objective_->currentText() == QLatin1String("cost")) axis_->setCurrentIndex(1);
}

void SearchPanel::run() {
  std::vector<int> nodes;
  for (const QString& n : nodes_->text().split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    constexpr int kMostNodes = 1'000'000;
    const int count = n.trimmed().toInt();  // 0 beyond an int
    if (count <= 0 || count > kMostNodes) {
      bar_->say(tr("nodes to try: expected whole numbers from 1 to %1, found %2").arg(kMostNodes).arg(n.trimmed()));
      Q_EMIT failed(tr("Nothing was searched"), Failure{{bar_->said()}});
      nodes_->setFocus();
      nodes_->selectAll();
      return;
    }
    nodes.push_back(count);
  }
  const SearchRequest request{.text = document_.text(), .name = document_.name().toStdString(), .folder = document_.folder().toStdString(), .objective = objective_->currentText().toStdString(), .price = price_->value(),
                              .mtbf = mtbf_->value() * 3600.0, .checkpoint = checkpoint_->value(), .restart = restart_->value(), .budget = budget_->value(), .nodes = std::move(nodes)};
  scenario::InputCache& cache = cache_;
  job_.start<FoundPlans>([request, &cache](JobControl& control) { return searchPlans(request, cache, control); }, [this, of = document_.state()](FoundPlans plans) { showPlans(std::move(plans), of); });
}

void SearchPanel::showPlans(FoundPlans plans) { showPlans(std::move(plans), document_.state()); }

void SearchPanel::showPlans(FoundPlans plans, ScenarioState of) {
  const auto count = [](std::uint64_t n) { return qstr(scenario::grouped(static_cast<std::int64_t>(n))); };
  if (!plans.complete && plans.plans.empty()) return bar_->say(tr("stopped before any plan was found; the table is as it was"));
  found_ = std::move(plans);
  Origin origin{.state = std::move(of), .free = {}};
  for (const FoundPlan& plan : found_.plans) {
    for (const scenario::Setting& s : plan.settings) origin.free.insert(s.path);
  }
  // Their number of nodes is the scenario's unless others were tried too.
  const std::string nodes = nlohmann::json::parse(origin.state.text).value(nlohmann::json::json_pointer("/cluster/nodes"), nlohmann::json()).dump();
  const bool own = std::all_of(found_.plans.begin(), found_.plans.end(), [&nodes](const FoundPlan& plan) {
    return std::all_of(plan.settings.begin(), plan.settings.end(), [&nodes](const scenario::Setting& s) { return s.path != "cluster.nodes" || s.value == nodes; });
  });
  if (own) origin.free.erase("cluster.nodes");
  setOrigin(std::move(origin));
  bar_->say(tr("%1%2 of %3 plans are legal, %4 simulated, %5").arg(found_.complete ? QString() : tr("stopped early: "), count(found_.legal), count(found_.considered), count(found_.simulated), timeText(found_.seconds)));
  draw();
}

std::optional<double> SearchPanel::costOf(const FoundPlan& plan) const {
  search::Economics economics;
  if (price_->value() > 0.0) economics.price = price_->value();
  return search::cost_per_sample(economics, plan.gpus, Seconds(plan.step_time), static_cast<std::int64_t>(plan.batch));
}

void SearchPanel::open(int row) {
  if (row < 0 || static_cast<std::size_t>(row) >= found_.plans.size()) return;
  const FoundPlan& plan = found_.plans[static_cast<std::size_t>(row)];
  openResult(plan.settings, tr("open plan %1").arg(qstr(plan.plan)), tr("searched"));
}

void SearchPanel::draw() {
  const bool by_cost = axis_->currentIndex() == 1, nothing = found_.plans.empty(), no_price = by_cost && !nothing && price_->value() <= 0.0;
  const QString partial = found_.complete ? QString() : tr(" \u2014 PARTIAL: the search was stopped"), of = originText(tr("searched"));
  Chart chart{.kind = ChartKind::scatter, .title = nothing || no_price ? QString() : tr("Plans that fit%1%2").arg(holds() ? QString() : of, partial), .xTitle = by_cost ? tr("cost of a sample, in the currency of the price") : tr("memory headroom on the fullest GPU"), .yTitle = tr("step time"),
              .empty = no_price ? tr("State a price of one GPU and hour to see what a sample costs.") : tr("Search plans tries every legal plan of this model, cluster and global batch; the best are simulated."),
              .series = {}, .categories = {}, .xText = by_cost ? numberText : bytesText, .yText = timeText};
  if (!chart.title.isEmpty() && holds()) chart.hint = tr("click selects, double click opens, dragging zooms");
  if (!by_cost) chart.unitX = 1073741824.0;
  // Of what is drawn: among all plans, those kept are every one that a front of step time and headroom or step time and cost can
  // hold (the search keeps the front of step time, memory and GPUs). A lower bound beats nobody.
  std::vector<QPointF> places;
  std::vector<std::size_t> place_of;
  for (std::size_t i = 0; i < found_.plans.size(); ++i) {
    const FoundPlan& p = found_.plans[i];
    const std::optional<double> cost = costOf(p);
    if (p.bound || (by_cost && !cost)) continue;
    places.emplace_back(by_cost ? *cost : -p.headroom, p.step_time);
    place_of.push_back(i);
  }
  std::vector<bool> on_front(found_.plans.size(), false);
  const std::vector<bool> front = frontOf(places);
  for (std::size_t i = 0; i < front.size(); ++i) on_front[place_of[i]] = front[i];
  ChartSeries series[3] = {{.name = tr("simulated plans"), .color = 0, .points = {}, .tips = {}, .marker = 0}, {.name = tr("estimated only"), .color = 6, .points = {}, .tips = {}, .marker = 4},
                           {.name = tr("Pareto front of these axes"), .color = 5, .points = {}, .tips = {}, .marker = 3}};  // painted in this order: the front on top
  const bool priced = price_->value() > 0.0, failures = std::any_of(found_.plans.begin(), found_.plans.end(), [](const FoundPlan& p) { return p.useful >= 0.0; });
  // Columns in which nothing would stand are left out.
  Table table = tableOf(nothing ? tr("No plans yet") : tr("Plans%1%2").arg(of, partial), {tr("plan"), tr("micro-batches"), tr("recompute")}, QStringLiteral("lll"));
  const auto column = [&table](const QString& name, char align) {
    table.columns << name;
    table.numeric += QLatin1Char(align);
  };
  const auto differ = [this](auto part) { return std::any_of(found_.plans.begin(), found_.plans.end(), [&](const FoundPlan& p) { return part(p) != part(found_.plans.front()); }); };
  const bool sizes = differ([](const FoundPlan& p) { return p.gpus; }), kinds = differ([](const FoundPlan& p) { return p.simulated; });
  if (!nothing && !sizes) table.title = (found_.plans.front().gpus == 1 ? tr("Plans on 1 GPU") : tr("Plans on %1 GPUs").arg(found_.plans.front().gpus)) + of + partial;
  if (sizes) column(tr("GPUs"), 'r');
  for (const QString& name : {tr("step time"), tr("samples/s"), tr("memory"), tr("headroom")}) column(name, 'r');
  if (priced) column(tr("cost of a sample"), 'r');
  if (failures) column(tr("useful time"), 'r');
  if (kinds) column(tr("figures"), 'l');
  column(tr("front"), 'l');
  if (!nothing && holds()) table.hint = tr("Return opens one; front: of step time and %1").arg(by_cost ? tr("cost") : tr("headroom"));
  for (std::size_t i = 0; i < found_.plans.size(); ++i) {
    const FoundPlan& p = found_.plans[i];
    ChartSeries& s = series[on_front[i] ? 2 : p.simulated ? 0 : 1];
    const QString words = qstr(p.plan);
    const std::optional<double> cost = costOf(p);
    if (!by_cost || cost) {
      s.points.emplace_back(by_cost ? *cost : p.headroom, p.step_time);
      s.tips.push_back(tr("%1\n%2 a step, %3 free%4%5").arg(words, timeText(p.step_time), bytesText(p.headroom), cost ? tr(", %1 a sample").arg(numberText(*cost)) : QString(), p.simulated ? QString() : p.bound ? tr(" (a lower bound)") : tr(" (estimated)")));
    }
    std::vector<Cell> row;
    for (const QString& part : columnsOf(words)) {
      row.emplace_back(part);
      row.back().tip = words;
    }
    if (sizes) row.push_back(countCell(p.gpus));
    for (const Cell& cell : {timeCell(p.step_time), numberCell(p.batch / p.step_time), bytesCell(p.memory), bytesCell(p.headroom)}) row.push_back(cell);
    if (priced) row.push_back(cellOr(cost, numberText));
    if (failures) row.push_back(cellOr(p.useful >= 0.0 ? std::optional(p.useful) : std::nullopt, percentText));
    if (kinds) row.emplace_back(p.simulated ? tr("simulated") : p.bound ? tr("lower bound") : tr("estimated"));
    row.emplace_back(on_front[i] ? tr("yes") : QString());
    table.rows.push_back(std::move(row));
  }
  for (ChartSeries& s : series) {
    if (!s.points.empty()) chart.series.push_back(std::move(s));
  }
  Table out = tableOf(tr("Why plans fell out%1").arg(found_.fell_out.empty() ? QString() : of + partial), {tr("rule"), tr("plans"), tr("example")}, QStringLiteral("lrl"));
  for (const auto& r : found_.fell_out) {
    out.rows.push_back({{qstr(r.rule)}, countCell(static_cast<std::int64_t>(r.plans)), longCell(qstr(r.example))});
  }
  scatter_->setChart(std::move(chart));
  plans_->setTable(std::move(table));
  fell_out_->setTable(std::move(out));
  open_->setEnabled(plans_->currentRow() >= 0);
}

}  // namespace sgsim::gui
