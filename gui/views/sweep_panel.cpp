#include <QGridLayout>
#include <nlohmann/json.hpp>

#include "gui/models/cells.h"
#include "gui/models/fields.h"
#include "gui/views/page_layout.h"
#include "gui/views/work_panels.h"
#include "planner/cli/engines.h"
#include "sim/core/text_file.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

struct Figure {
  const char* name;
  double (*of)(const scenario::Result&);
  QString (*text)(double);
};
const Figure kFigures[6] = {{"step time", [](const scenario::Result& r) { return r.step_time.value(); }, timeText},
                            {"samples a second", [](const scenario::Result& r) { return r.samples_per_second; }, numberText},
                            {"MFU", [](const scenario::Result& r) { return r.mfu; }, percentText},
                            {"exposed communication", [](const scenario::Result& r) { return r.exposed_comm.value(); }, timeText},
                            {"bubble", [](const scenario::Result& r) { return r.bubble.value(); }, timeText},
                            {"memory, reserved", [](const scenario::Result& r) { return r.reserved_memory.value(); }, bytesText}};

QString shown(const std::string& json) {
  const nlohmann::json value = nlohmann::json::parse(json, nullptr, false);
  return qstr(value.is_string() ? value.get<std::string>() : json);
}

std::vector<std::string> values_of(const QString& text) {
  std::vector<std::string> values;
  for (const QString& part : text.split(QLatin1Char(','), Qt::SkipEmptyParts)) {
    const std::string value = part.trimmed().toStdString();
    if (!value.empty()) values.push_back(nlohmann::json::accept(value) ? value : nlohmann::json(value).dump());
  }
  return values;
}

}  // namespace

SweepPanel::SweepPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent)
    : WorkPanel(document, cache, tr("The sweep"), parent), figure_(new QComboBox(this)), chart_(new ChartView(tr("Sweep"), this)), table_(new TableView(tr("Points of the sweep"), true, this)) {
  auto* grid = new QGridLayout;
  grid->setContentsMargins(8, 6, 8, 2);
  grid->setSpacing(6);
  const QString names[] = {tr("Along"), tr("A line for each")};
  for (int a = 0; a < 2; ++a) {
    paths_[a] = new QComboBox(this);
    paths_[a]->setEditable(true);
    paths_[a]->setAccessibleName(tr("%1: field").arg(names[a]));
    paths_[a]->setMinimumContentsLength(26);
    if (a == 1) paths_[a]->addItem(QString());
    for (const Section& s : scenarioSections()) {
      for (const Field& f : s.fields) {
        if (f.kind != FieldKind::file) paths_[a]->addItem(f.path);
      }
    }
    values_[a] = new QLineEdit(this);
    values_[a]->setAccessibleName(tr("%1: values").arg(names[a]));
    values_[a]->setPlaceholderText(tr("values, for example 1, 2, 4, 8"));
    grid->addWidget(new QLabel(names[a], this), a, 0);
    grid->addWidget(paths_[a], a, 1);
    grid->addWidget(values_[a], a, 2);
  }
  paths_[0]->setCurrentText(QStringLiteral("cluster.nodes"));
  for (const Figure& f : kFigures) figure_->addItem(tr(f.name));
  figure_->setAccessibleName(tr("Figure"));
  grid->addWidget(new QLabel(tr("Figure"), this), 0, 3);
  grid->addWidget(figure_, 0, 4);
  bar_ = new JobBar(job_, tr("&Run sweep"), JobBar::OnCancel::keep, this);
  grid->addWidget(bar_, 1, 3, 1, 3);
  grid->setColumnStretch(2, 2);
  grid->setColumnStretch(5, 3);
  fillPage(this, grid, splitter(Qt::Vertical, {{chart_, 2}, {table_, 1}}));
  connect(bar_->startButton(), &QPushButton::clicked, this, &SweepPanel::run);
  connect(figure_, &QComboBox::currentIndexChanged, this, &SweepPanel::draw);
  connect(table_, &TableView::rowOpened, this, [this](int row) {
    if (row >= 0 && static_cast<std::size_t>(row) < points_.size()) openResult(points_[static_cast<std::size_t>(row)].settings, tr("open a point of the sweep"), tr("swept"));
  });
  draw();
}

void SweepPanel::run() {
  std::vector<Axis> axes;
  for (int a = 1; a >= 0; --a) {
    const std::vector<std::string> values = values_of(values_[a]->text());
    if (paths_[a]->currentText().trimmed().isEmpty() || values.empty()) continue;
    Axis axis{.name = paths_[a]->currentText().trimmed().toStdString(), .paths = {paths_[a]->currentText().trimmed().toStdString()}, .values = {}};
    for (const std::string& v : values) axis.values.push_back({v});
    axes.push_back(std::move(axis));
  }
  if (axes.empty()) {
    bar_->say(tr("Give a field and at least one value."));
    return;
  }
  start(std::move(axes), {}, document_.state());
}

void SweepPanel::openFile(const QString& path) {
  const scenario::Sweep sweep = scenario::read_sweep(path.toStdString());
  std::vector<Axis> axes;
  for (const scenario::Axis& a : sweep.axes) {
    std::string name;
    for (const std::string& p : a.paths) name += (name.empty() ? "" : ", ") + p;
    axes.push_back({name, a.paths, a.values});
  }
  const QFileInfo base(qstr(sweep.scenario));
  bar_->say(tr("sweep file %1").arg(QFileInfo(path).fileName()));
  start(std::move(axes), sweep.set, {.text = scenario::read_document_text(sweep.scenario), .folder = base.absolutePath(), .name = base.fileName()});
}

void SweepPanel::start(std::vector<Axis> axes, std::vector<scenario::Setting> always, ScenarioState of) {
  scenario::InputCache& cache = cache_;
  Origin origin{.state = of, .free = {}};
  for (const scenario::Setting& s : always) origin.free.insert(s.path);
  for (const Axis& a : axes) origin.free.insert(a.paths.begin(), a.paths.end());
  job_.start<std::vector<Point>>(
      [axes, always = std::move(always), text = std::move(of.text), folder = of.folder.toStdString(), name = of.name.toStdString(), &cache](JobControl& control) {
        std::size_t count = 1;
        for (const Axis& a : axes) count *= a.values.size();
        if (count > 10'000) throw InputError({.file = "sweep", .where = "", .found = std::to_string(count) + " points", .expected = "at most 10000 here", .hint = "`sgsim sweep` takes more"});
        std::vector<Point> points;
        for (std::size_t i = 0; i < count && !control.stopping(); ++i) {
          control.progress(static_cast<double>(i), static_cast<double>(count), "point " + std::to_string(i + 1) + " of " + std::to_string(count));
          Point point;
          point.settings = always;
          std::size_t rest = i;
          point.values.resize(axes.size());
          for (std::size_t a = axes.size(); a-- > 0;) {
            const auto& values = axes[a].values[rest % axes[a].values.size()];
            rest /= axes[a].values.size();
            for (std::size_t p = 0; p < values.size(); ++p) {
              point.settings.push_back({axes[a].paths[p], values[p]});
              point.values[a] += (p == 0 ? "" : ", ") + shown(values[p]).toStdString();
            }
          }
          try {
            const scenario::Scenario s = scenario::scenario_from_text(text, name, folder, point.settings);
            const scenario::Outcome outcome = scenario::simulate(s, cache.load(s), cli::run_engine);
            if (const auto* run = std::get_if<scenario::Run>(&outcome)) {
              for (std::size_t f = 0; f < 6; ++f) point.figures[f] = kFigures[f].of(run->result);
              if (!run->result.fits) point.reason = "does not fit in memory";
            } else {
              point.reason = std::get<std::vector<plan::Violation>>(outcome).front().message;
            }
          } catch (const InputError& error) {
            point.reason = error.what();
          }
          points.push_back(std::move(point));
        }
        return points;
      },
      [this, axes, origin = std::move(origin)](std::vector<Point> points) {
        points_ = std::move(points);
        axes_ = axes;
        setOrigin(origin);
        std::size_t wanted = 1;
        for (const Axis& a : axes_) wanted *= a.values.size();
        bar_->say(points_.size() < wanted ? tr("stopped after %1 of %2 points").arg(points_.size()).arg(wanted) : tr("%1 points").arg(points_.size()));
        draw();
      });
}

void SweepPanel::draw() {
  const auto f = static_cast<std::size_t>(std::max(0, figure_->currentIndex()));
  Chart chart{.kind = ChartKind::lines, .title = points_.empty() ? QString() : tr("%1 over %2%3").arg(figure_->currentText(), qstr(axes_.back().name), originText(tr("swept"))), .xTitle = axes_.empty() ? QString() : qstr(axes_.back().name), .yTitle = figure_->currentText(),
              .empty = tr("Give a field and values and run the sweep, or drop a sweep file here."), .series = {}, .categories = {}, .xText = {}, .yText = kFigures[f].text};
  if (f == 5) chart.unitY = 1073741824.0;
  Table table = tableOf(points_.empty() ? QString() : tr("Points of the sweep%1").arg(originText(tr("swept"))));
  for (const Axis& a : axes_) table.columns << qstr(a.name), table.numeric += QLatin1Char('l');
  for (const Figure& figure : kFigures) table.columns << tr(figure.name), table.numeric += QLatin1Char('r');
  table.columns << tr("why not");
  table.numeric += QLatin1Char('l');
  if (!points_.empty()) {
    for (const auto& values : axes_.back().values) {
      QStringList words;
      for (const std::string& v : values) words << shown(v);
      chart.categories << words.join(QStringLiteral(", "));
    }
  }
  const auto misfit = [](const Point& p) { return p.figures[0].has_value() && !p.reason.empty(); };
  if (std::any_of(points_.begin(), points_.end(), misfit)) chart.hollowName = tr("does not fit in memory");
  std::map<QString, std::size_t> lines;
  const std::size_t along = axes_.empty() ? 1 : axes_.back().values.size();
  for (std::size_t i = 0; i < points_.size(); ++i) {
    const Point& p = points_[i];
    QStringList key;
    for (std::size_t a = 0; a + 1 < p.values.size(); ++a) key << qstr(axes_[a].name).section(QLatin1Char('.'), -1) + QLatin1Char(' ') + qstr(p.values[a]);
    const QString name = key.isEmpty() ? figure_->currentText() : key.join(QStringLiteral("; "));
    const auto [at, added] = lines.try_emplace(name, chart.series.size());
    if (added) chart.series.push_back({.name = name, .color = static_cast<int>(at->second), .points = {}, .tips = {}, .marker = static_cast<int>(at->second)});
    if (p.figures[f]) {
      chart.series[at->second].points.emplace_back(static_cast<double>(i % along), *p.figures[f]);
      chart.series[at->second].hollow.push_back(misfit(p));
      chart.series[at->second].tips.push_back(QStringLiteral("%1\n%2: %3%4").arg(name, qstr(p.values.back()), kFigures[f].text(*p.figures[f]), p.reason.empty() ? QString() : QLatin1Char('\n') + qstr(p.reason)));
    }
    std::vector<Cell> row;
    for (const std::string& v : p.values) row.push_back(qstr(v));
    for (std::size_t k = 0; k < 6; ++k) row.push_back(cellOr(p.figures[k], kFigures[k].text));
    row.push_back(qstr(p.reason));
    table.rows.push_back(std::move(row));
  }
  chart_->setChart(std::move(chart));
  table_->setTable(withoutEmptyColumns(table, static_cast<int>(table.columns.size()) - 1));
}

}  // namespace sgsim::gui
