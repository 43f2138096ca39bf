#include <fmt/format.h>

#include <cmath>
#include <thread>

#include "gui/models/result_views.h"
#include "gui/views/page_layout.h"
#include "gui/views/work_panels.h"
#include "planner/cli/engines.h"
#include "planner/cli/progress_bar.h"
#include "sim/scenario/memory_curve.h"
#include "sim/scenario/read.h"
#include "sim/scenario/report.h"

namespace sgsim::gui {
namespace {

/// The first lane of each, renamed: two steps under one clock.
std::shared_ptr<const TimelineData> side_by_side(const std::vector<std::pair<QString, std::shared_ptr<const TimelineData>>>& parts) {
  auto data = std::make_shared<TimelineData>();
  for (const auto& [name, part] : parts) {
    if (!part || part->lanes.empty()) continue;
    Lane lane = part->lanes.front();
    lane.title = name.toStdString();
    lane.subtitle = part->lanes.front().title + ", " + part->lanes.front().subtitle;
    lane.measured = true;  // tasks of another run: no facts of this one
    const auto offset = static_cast<std::uint32_t>(data->names.size());
    data->names.insert(data->names.end(), part->names.begin(), part->names.end());
    for (Row& row : lane.rows) {
      for (Slice& s : row.slices) s.name += offset;
      data->tasks += row.summary ? 0 : row.slices.size();
    }
    data->end = std::max(data->end, part->end);
    data->lanes.push_back(std::move(lane));
  }
  return data->lanes.empty() ? nullptr : data;
}

}  // namespace

JobBar::JobBar(Job& job, const QString& start, OnCancel on_cancel, QWidget* parent) : QWidget(parent), job_(job), on_cancel_(on_cancel), start_(new QPushButton(start, this)), cancel_(new QPushButton(tr("Cancel"), this)), bar_(new QProgressBar(this)), label_(new QLabel(this)) {
  cancel_->setAccessibleName(tr("Cancel %1").arg(job.name()));
  bar_->setAccessibleName(tr("Progress of %1").arg(job.name()));
  bar_->setRange(0, 1000);
  bar_->setMinimumWidth(fontMetrics().averageCharWidth() * 28);
  bar_->setMaximumWidth(fontMetrics().averageCharWidth() * 60);
  bar_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar_->setFormat(QStringLiteral("%p %"));
  bar_->hide();
  cancel_->hide();
  label_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(start_);
  layout->addWidget(bar_, 1);
  layout->addWidget(cancel_);
  layout->addWidget(label_, 2);
  connect(cancel_, &QPushButton::clicked, this, &JobBar::cancel);
  connect(&job, &Job::started, this, [this] {
    bar_->setValue(0);
    bar_->show();
    cancel_->show();
    start_->setEnabled(false);
    label_->setText(tr("starting"));
  });
  connect(&job, &Job::progressed, this, [this, &job] {
    bar_->setValue(static_cast<int>(job.fraction() * 1000.0));
    const double left = job.remaining(), digit = left > 0.0 ? std::pow(10.0, std::floor(std::log10(left)) - 1.0) : 1.0;  // two are known at best
    if (!job.windingUp()) label_->setText((left > 0.5 ? tr("about %1 left: ").arg(QString::fromStdString(left >= 10.0 ? cli::duration_text(std::round(left / digit) * digit) : fmt::format("{:.2g} s", left))) : QString()) + job.text());
    label_->setToolTip(label_->text());
  });
  connect(&job, &Job::failed, this, [this](const Failure& failure) { label_->setText(tr("failed: %1").arg(failure.chain.value(0))); });
  connect(&job, &Job::ended, this, [this] {
    bar_->hide();
    cancel_->hide();
    start_->setEnabled(true);
  });
}

void JobBar::cancel() {
  if (!job_.running()) return;
  if (on_cancel_ == OnCancel::keep && !job_.windingUp()) {
    job_.windUp();
    label_->setText(tr("stopping; what was found stays"));
    return;
  }
  label_->setText(tr("cancelled"));
  job_.cancel();
}

WorkPanel::WorkPanel(ScenarioDocument& document, scenario::InputCache& cache, const QString& job, QWidget* parent) : Panel(parent), document_(document), cache_(cache), job_(job) {
  connect(&job_, &Job::failed, this, [this](const Failure& f) { Q_EMIT failed(tr("%1 failed").arg(job_.name()), f); });
  connect(&document_, &ScenarioDocument::changed, this, [this] {
    const Elsewhere before = elsewhere_;
    elsewhere_ = elsewhere();
    if (elsewhere_ != before) draw();
  });
}

void WorkPanel::setOrigin(Origin origin) {
  origin_ = std::move(origin);
  elsewhere_ = elsewhere();
}

WorkPanel::Elsewhere WorkPanel::elsewhere() const {
  if (!origin_ || holdsFor(document_.state())) return Elsewhere::no;
  return origin_->state.name == document_.name() && origin_->state.folder == document_.folder() ? Elsewhere::changed : Elsewhere::other;
}

QString WorkPanel::originText(const QString& done) const {
  if (!origin_) return {};
  const QString of = tr(" of %1").arg(origin_->state.name);
  switch (elsewhere_) {
    case Elsewhere::no: return of;
    case Elsewhere::changed: return tr("%1, %2 BEFORE THE SCENARIO CHANGED").arg(of, done);
    case Elsewhere::other: return tr("%1, NOT OF THE SCENARIO THAT IS OPEN").arg(of);
  }
  return of;
}

void WorkPanel::openResult(const std::vector<scenario::Setting>& settings, const QString& what, const QString& done) {
  if (elsewhere_ == Elsewhere::no) {
    Q_EMIT openSettings(settings, what);
    return;
  }
  const QString why = elsewhere_ == Elsewhere::changed ? tr("It was %1 before %2 changed: its figures do not hold for what is open now.").arg(done, document_.name())
                                                        : tr("It was %1 for %2, and %3 is open: it may not even be legal there.").arg(done, originName(), document_.name());
  Q_EMIT failed(tr("Nothing was opened"), Failure{{why, elsewhere_ == Elsewhere::changed ? tr("Start it again, or undo the change") : tr("Open %1, or start it again for %2").arg(originName(), document_.name())}});
}

ComparePanel::ComparePanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent)
    : WorkPanel(document, cache, tr("Trying changes"), parent), variants_(new TableView(tr("Variants"), false, this)), difference_(new TableView(tr("Difference by kernel"), true, this)), changes_(new TableView(tr("Changes"), true, this)),
      bars_(new ChartView(tr("Step time breakdown"), this)), memory_(new ChartView(tr("Memory breakdown"), this)), curves_(new ChartView(tr("Memory over time"), this)), timelines_(new TimelineView(this)), pages_(new QTabWidget(this)) {
  auto* add = new QPushButton(tr("&Keep this scenario (Ctrl+D)"), this);
  add->setObjectName(QStringLiteral("keep"));
  auto* remove = new QPushButton(tr("&Remove"), this);
  remove->setObjectName(QStringLiteral("remove"));
  auto* open = new QPushButton(tr("&Open"), this);
  open->setObjectName(QStringLiteral("openVariant"));
  bar_ = new JobBar(job_, tr("&Try changes"), JobBar::OnCancel::drop, this);
  timelines_->setEmptyText(tr("Keep two variants to see their first ranks one above the other."));
  pages_->setDocumentMode(true);
  pages_->setAccessibleName(tr("What is compared"));
  pages_->addTab(splitter(Qt::Vertical, {{bars_, 1}, {memory_, 1}}), tr("Breakdown"));
  pages_->addTab(difference_, tr("Difference"));
  pages_->addTab(timelines_, tr("Timelines"));
  pages_->addTab(curves_, tr("Memory over time"));
  pages_->addTab(changes_, tr("What would help"));
  fillPage(this, controlBar({add, open, remove, nullptr, bar_}), splitter(Qt::Vertical, {{variants_, 1}, {pages_, 4}}));
  connect(add, &QPushButton::clicked, this, [this] { addCurrent(); });
  connect(remove, &QPushButton::clicked, this, &ComparePanel::removeCurrent);
  const auto open_row = [this](int row) {
    if (row >= 0 && static_cast<std::size_t>(row) < kept_.size()) document_.replaceText(kept_[static_cast<std::size_t>(row)].simulated->text, tr("open variant %1").arg(kept_[static_cast<std::size_t>(row)].name));
  };
  connect(open, &QPushButton::clicked, this, [this, open_row] { open_row(variants_->currentRow()); });
  connect(variants_, &TableView::rowOpened, this, open_row);
  connect(variants_, &TableView::rowSelected, this, [this](int row) {
    const auto list = all();
    if (row <= 0 || static_cast<std::size_t>(row) >= list.size()) return;
    difference_->setTable(differenceTable({list[0].name, &list[0].simulated->run->result}, {list[static_cast<std::size_t>(row)].name, &list[static_cast<std::size_t>(row)].simulated->run->result}));
  });
  connect(bar_->startButton(), &QPushButton::clicked, this, &ComparePanel::explain);
  connect(changes_, &TableView::rowOpened, this, [this](int row) {
    if (!explanation_ || row < 0 || static_cast<std::size_t>(row) >= explanation_->changes.size()) return;
    const scenario::Variant& v = explanation_->changes[static_cast<std::size_t>(row)].variant;
    openResult(v.settings, tr("try %1").arg(QString::fromStdString(v.name)), tr("tried"));
  });
  changes_->setTable(tableOf(tr("Try changes simulates every change worth trying; Return on a row makes it.")));
  refresh();
}

void ComparePanel::present(const std::shared_ptr<const Simulated>& s) {
  Panel::present(s);
  refresh();
}

void ComparePanel::addCurrent(const QString& given) {
  if (!simulated() || !simulated()->run) return;
  QString name = given;
  if (name.isEmpty()) name = tr("%1: %2").arg(kept_.size() + 1).arg(QString::fromStdString(scenario::plan_text(simulated()->scenario.plan)).section(QLatin1Char(';'), 0, 0));
  kept_.push_back({name, simulated()});
  refresh();
}

void ComparePanel::removeCurrent() {
  const int row = variants_->currentRow();
  if (row < 0 || static_cast<std::size_t>(row) >= kept_.size()) return;
  kept_.erase(kept_.begin() + row);
  refresh();
}

std::vector<ComparePanel::Variant> ComparePanel::all() const {
  std::vector<Variant> list = kept_;
  const bool kept = !kept_.empty() && std::any_of(kept_.begin(), kept_.end(), [this](const Variant& v) { return v.simulated == simulated(); });
  if (simulated() && simulated()->run && !kept) list.push_back({tr("now in the editor"), simulated()});
  return list;
}

void ComparePanel::refresh() {
  const auto list = all();
  std::vector<NamedResult> results;
  std::vector<std::pair<QString, std::shared_ptr<const TimelineData>>> lanes;
  Chart curves{.kind = ChartKind::lines, .title = tr("Memory allocated on the fullest recorded rank"), .xTitle = tr("time in the step"), .yTitle = tr("allocated on one GPU"), .empty = tr("Nothing simulated yet."), .series = {}, .categories = {}, .xText = timeText, .yText = bytesText};
  curves.unitY = 1073741824.0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const scenario::Run& run = *list[i].simulated->run;
    results.push_back({list[i].name, &run.result});
    lanes.emplace_back(list[i].name, list[i].simulated->timeline);
    std::uint32_t fullest = 0;
    double most = -1.0;
    for (const Lane& lane : list[i].simulated->timeline->lanes) {
      const double reserved = run.lowered.memory.at(run.simulation.workload.ranks.at(lane.rank).program.value).reserved.value();
      if (reserved > most) most = reserved, fullest = lane.rank;
    }
    if (most < 0.0) continue;
    ChartSeries s{.name = list[i].name, .color = static_cast<int>(i), .points = {}, .tips = {}, .marker = static_cast<int>(i), .step = true};
    for (const auto& at : scenario::thinned(scenario::memory_curve(run.simulation, run.lowered.memory.at(run.simulation.workload.ranks.at(fullest).program.value), fullest), 800)) {
      double sum = 0.0;
      for (const Bytes b : at.by_class) sum += b.value();
      s.points.emplace_back(at.time.value(), sum);
    }
    curves.series.push_back(std::move(s));
  }
  bars_->setChart(breakdownChart(results));
  memory_->setChart(memoryBars(results));
  curves_->setChart(std::move(curves));
  timelines_->setData(list.size() > 1 ? side_by_side(lanes) : nullptr);
  if (results.empty()) {
    variants_->setTable(tableOf(tr("Simulate a scenario, keep it, change one thing, and compare.")));
    difference_->setTable(tableOf(tr("Keep a variant and change something to see the difference.")));
    return;
  }
  variants_->setTable(compareTable(results));
  difference_->setTable(results.size() > 1 ? differenceTable(results.front(), results.back()) : tableOf(tr("Keep this variant (Ctrl+D) and change something to see the difference.")));
}

void ComparePanel::draw() {
  if (!explanation_) return;
  Table table = gui::changesTable(*explanation_);
  if (!holds()) table.title += originText(tr("tried"));
  changes_->setTable(std::move(table));
}

void ComparePanel::explain() {
  const std::string text = document_.text(), name = document_.name().toStdString(), folder = document_.folder().toStdString();
  scenario::InputCache& cache = cache_;
  job_.start<std::variant<scenario::Explanation, std::vector<plan::Violation>>>(
      [text, name, folder, &cache](JobControl& control) {
        control.progress(0.05, 1.0, "simulating every change worth trying");
        scenario::Scenario s = scenario::scenario_from_text(text, name, folder);
        if (s.engine.name == scenario::EngineName::simgrid) throw InputError({.file = name, .where = "$.engine.name", .found = "simgrid", .expected = "fast, which changes are tried with", .hint = "Set engine to fast"});
        return scenario::explain(s, cache, cli::run_engine, std::max(1U, std::thread::hardware_concurrency()));
      },
      [this, of = document_.state()](std::variant<scenario::Explanation, std::vector<plan::Violation>> outcome) {
        if (auto* e = std::get_if<scenario::Explanation>(&outcome)) {
          explanation_ = std::move(*e);
          setOrigin({.state = of, .free = {}});
          draw();
          bar_->say(tr("%1 changes simulated").arg(explanation_->changes.size()));
          pages_->setCurrentWidget(changes_);
        } else {
          bar_->say(tr("this plan cannot run: there is nothing to improve on"));
        }
      });
}

}  // namespace sgsim::gui
