#include "gui/views/result_panels.h"

#include <QApplication>
#include <QFileDialog>
#include <QGridLayout>
#include <QScrollArea>
#include <QShortcut>
#include <QVBoxLayout>

#include "gui/models/cells.h"
#include "gui/models/result_views.h"
#include "gui/views/announce.h"
#include "gui/views/page_layout.h"
#include "gui/views/timeline_legend.h"
#include "sim/core/error.h"
#include "sim/import/format.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/memory_curve.h"
#include "sim/scenario/report.h"

namespace sgsim::gui {
namespace {

/// Points of a memory curve that a screen can tell apart.
constexpr std::size_t kCurvePoints = 1500;
constexpr std::size_t kMostMatches = 200'000;

}  // namespace

OverviewPanel::OverviewPanel(QWidget* parent)
    : Panel(parent), headline_(new QLabel(this)), sub_(new QLabel(this)), bars_(new ChartView(tr("Where the step goes"), this)), figures_(new TableView(tr("Prediction"), false, this)),
      step_(new TableView(tr("Where the step goes"), false, this)), kernels_(new TableView(tr("Kernels"), true, this)), communication_(new TableView(tr("Communication"), true, this)),
      classes_(new TableView(tr("Ranks by class"), false, this)), notes_(new TableView(tr("Notes"), false, this)) {
  headline_->setWordWrap(true);
  headline_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  headline_->setContentsMargins(8, 6, 8, 0);
  sub_->setWordWrap(true);
  sub_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  sub_->setContentsMargins(8, 0, 8, 4);
  auto* page = new QWidget(this);
  auto* grid = new QGridLayout(page);
  grid->setContentsMargins(4, 4, 4, 4);
  grid->addWidget(headline_, 0, 0, 1, 2);
  grid->addWidget(sub_, 1, 0, 1, 2);
  grid->addWidget(bars_, 2, 0, 1, 2);
  grid->addWidget(figures_, 3, 0, 1, 1, Qt::AlignTop);
  grid->addWidget(step_, 3, 1, 1, 1, Qt::AlignTop);
  grid->addWidget(kernels_, 4, 0, 1, 1, Qt::AlignTop);
  grid->addWidget(communication_, 4, 1, 1, 1, Qt::AlignTop);
  grid->addWidget(classes_, 5, 0, 1, 2);
  grid->addWidget(notes_, 6, 0, 1, 2);
  grid->setColumnStretch(0, 1);
  grid->setColumnStretch(1, 1);
  grid->setRowStretch(7, 1);
  auto* scroll = new QScrollArea(this);
  scroll->setWidget(page);
  scroll->setWidgetResizable(true);
  scroll->setAccessibleName(tr("Overview"));
  scroll->setFrameShape(QFrame::NoFrame);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);
  present(nullptr);
}

void OverviewPanel::present(const std::shared_ptr<const Simulated>& s) {
  Panel::present(s);
  const bool has = s && s->run;
  QFont big = QApplication::font();
  big.setPointSizeF(big.pointSizeF() * 1.7);
  big.setBold(true);
  headline_->setFont(big);
  bars_->setFixedHeight(fontMetrics().height() * 9);
  for (QWidget* w : std::initializer_list<QWidget*>{bars_, figures_, step_, kernels_, communication_, classes_, notes_}) w->setVisible(has);
  if (!s) {
    headline_->setText(tr("Nothing simulated yet"));
    sub_->setText(tr("Open a scenario (Ctrl+O) or change a field on the left; F5 simulates."));
    return;
  }
  if (!has) {
    headline_->setText(tr("This plan cannot run"));
    QStringList rules;
    for (const auto& v : s->violations) rules << QStringLiteral("\u2022 %1 (%2)").arg(qstr(v.message), qstr(v.rule));
    sub_->setText(rules.join(QLatin1Char('\n')));
    return;
  }
  const scenario::Result& r = s->run->result;
  headline_->setText(tr("%1 a step (%2) \u2014 MFU %3 \u2014 %4").arg(timeText(r.step_time.value()), intervalText(r), percentText(r.mfu), r.fits ? tr("fits, %1 free").arg(bytesText((r.capacity - r.reserved_memory).value())) : tr("DOES NOT FIT: %1 too much").arg(bytesText((r.reserved_memory - r.capacity).value()))));
  QString sub = tr("%1 on %2 x %3; %4").arg(qstr(s->inputs.model)).arg(r.gpus).arg(qstr(s->scenario.cluster.node.gpu.name), qstr(scenario::plan_text(s->scenario.plan)));
  sub = sub.toHtmlEscaped();
  if (!s->remedies.empty()) sub += QStringLiteral("<pre>%1</pre>").arg(qstr(scenario::text_report(s->remedies)).trimmed().toHtmlEscaped());
  sub_->setText(sub);
  bars_->setChart(breakdownChart({{tr("this scenario"), &r}}));
  figures_->setTable(figuresTable(r));
  step_->setTable(stepTable(r));
  kernels_->setTable(timesTable(tr("Kernels (device time, mean over ranks)"), r.kernels, r.step_time.value()));
  communication_->setTable(timesTable(tr("Communication (transfer time, mean over ranks)"), r.communication, r.step_time.value()));
  classes_->setTable(classesTable(r));
  notes_->setTable(notesTable(r));
  communication_->setVisible(!r.communication.empty());
  notes_->setVisible(!notes_->table().rows.empty());
  figures_->fitRows(9);
  step_->fitRows(9);
  kernels_->fitRows(12);
  communication_->fitRows(12);
  classes_->fitRows(12);
  notes_->fitRows(10);
}

TimelinePanel::TimelinePanel(QWidget* parent)
    : Panel(parent), view_(new TimelineView(this)), search_(new QLineEdit(this)), found_(new QLabel(this)), layers_(new QComboBox(this)), path_box_(new QCheckBox(tr("&Critical path"), this)),
      measured_button_(new QPushButton(tr("&Measured trace\u2026"), this)), facts_(new TableView(tr("Selected task"), false, this)), path_(new TableView(tr("Critical path"), true, this)), measured_job_(tr("reading the trace")) {
  search_->setPlaceholderText(tr("Find tasks by name (Ctrl+F)"));
  search_->setAccessibleName(tr("Find tasks by name"));
  search_->setClearButtonEnabled(true);
  search_->setFixedWidth(fontMetrics().averageCharWidth() * 32);
  layers_->setAccessibleName(tr("Jump to layer"));
  layers_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  layers_->setMinimumContentsLength(22);
  layers_->addItem(tr("Jump to layer"));
  auto* legend = new TimelineLegend(this);
  QLayout* bar = controlBar({search_, found_, layers_, path_box_, measured_button_});
  view_->setToolTip(tr("Wheel zooms, Shift+wheel pans, Ctrl+wheel scrolls, Shift+drag zooms into a stretch (F1: keys)"));
  auto* second = new QHBoxLayout;
  second->setContentsMargins(8, 0, 8, 4);
  second->addWidget(legend, 1);
  auto* side = new QSplitter(Qt::Vertical, this);
  side->addWidget(facts_);
  side->addWidget(path_);
  auto* split = new QSplitter(Qt::Horizontal, this);
  split->addWidget(view_);
  split->addWidget(side);
  split->setStretchFactor(0, 1);
  split->setSizes({1000, fontMetrics().averageCharWidth() * 72});
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addLayout(bar);
  layout->addLayout(second);
  layout->addWidget(split, 1);
  auto* find = new QShortcut(QKeySequence::Find, this);
  find->setContext(Qt::WidgetWithChildrenShortcut);
  connect(find, &QShortcut::activated, search_, [this] {
    search_->setFocus();
    search_->selectAll();
  });
  connect(search_, &QLineEdit::textChanged, this, &TimelinePanel::searchFor);
  connect(search_, &QLineEdit::returnPressed, this, [this] { nextMatch((QGuiApplication::keyboardModifiers() & Qt::ShiftModifier) != 0 ? -1 : 1); });
  connect(path_box_, &QCheckBox::toggled, this, &TimelinePanel::showPath);
  connect(view_, &TimelineView::selectionChanged, this, &TimelinePanel::selectionChanged);
  connect(layers_, &QComboBox::activated, this, [this](int index) {
    if (index <= 0 || !simulated() || !simulated()->run || view_->data() == nullptr) return;
    if (const auto found = find_layer(*view_->data(), *simulated()->run, layers_->itemText(index).toStdString())) view_->select(*found, true);
  });
  connect(measured_button_, &QPushButton::clicked, this, [this] {
    const QString file = QFileDialog::getOpenFileName(this, tr("Measured trace"), {}, tr("Traces (*.json *.json.gz);;All files (*)"));
    if (!file.isEmpty()) openMeasured(file);
  });
  connect(&measured_job_, &Job::failed, this, [this](const Failure& f) { Q_EMIT failed(tr("The trace was not read"), f); });
  connect(path_, &TableView::rowSelected, this, [this](int row) {
    if (row < 0 || !simulated() || static_cast<std::size_t>(row) >= simulated()->path_times.size()) return;
    search_->setText(qstr(simulated()->path_times[static_cast<std::size_t>(row)].name));
  });
  facts_->setTable(tableOf(tr("Selected task"), {tr("what"), tr("value")}, QStringLiteral("ll")));
}

void TimelinePanel::rebuild() {
  const auto& s = simulated();
  if (!s || !s->timeline) {
    view_->setData(nullptr);
    view_->setEmptyText(s ? tr("This plan cannot run: there is no timeline. The editor marks what is wrong.") : tr("No timeline yet. Simulate a scenario (F5)."));
    return;
  }
  if (!measured_) {
    view_->setData(s->timeline);
    return;
  }
  auto both = std::make_shared<TimelineData>(*s->timeline);
  add_measured(*both, *measured_);
  view_->setData(std::move(both));
}

void TimelinePanel::present(const std::shared_ptr<const Simulated>& s) {
  Panel::present(s);
  const QSignalBlocker blocker(layers_);
  layers_->clear();
  layers_->addItem(tr("Jump to layer"));
  if (s && s->timeline) {
    for (const std::string& layer : s->timeline->layers) layers_->addItem(qstr(layer));
  }
  rebuild();
  path_->setTable(s && s->run ? pathTable(s->path_times, s->run->result.step_time.value()) : tableOf(tr("Critical path")));
  path_box_->setEnabled(s && !s->path.empty());
  path_box_->setToolTip(s && s->run && s->path.empty() ? tr("The critical path needs every task: %1 are too many to record.").arg(s->run->result.tasks) : QString());
  searchFor(search_->text());
  showPath(path_box_->isChecked());
}

void TimelinePanel::selectionChanged() {
  Table table = tableOf(tr("Selected task"), {tr("what"), tr("value")}, QStringLiteral("ll"));
  const auto selected = view_->selected();
  if (!selected || view_->data() == nullptr) {
    table.title = tr("Selected task: none");
    table.rows.push_back({tr("click a task"), tr("to see its facts and what it waited for")});
    facts_->setTable(std::move(table));
    return;
  }
  const scenario::Run* run = simulated() ? simulated()->run.get() : nullptr;
  for (const auto& [what, value] : facts_of(*view_->data(), run, *selected)) table.rows.push_back({qstr(what), Cell(qstr(value))});
  if (run != nullptr) {
    Neighbours n = neighbours_of(*view_->data(), *run, *selected);
    for (const SliceRef& b : n.before) table.rows.push_back({tr("waits for"), Cell(qstr(view_->data()->names[view_->data()->at(b).name]))});
    for (const SliceRef& a : n.after) table.rows.push_back({tr("is waited for by"), Cell(qstr(view_->data()->names[view_->data()->at(a).name]))});
    view_->setNeighbours(std::move(n));
  }
  QStringList facts;
  for (std::size_t i = 0; i < table.rows.size() && i < 6; ++i) facts << table.rows[i][0].text + QLatin1Char(' ') + table.rows[i][1].text;
  announce(view_, facts.join(QStringLiteral(", ")));
  facts_->setTable(std::move(table));
}

void TimelinePanel::searchFor(const QString& wanted) {
  matches_.clear();
  match_ = -1;
  if (view_->data() != nullptr) matches_ = find_slices(*view_->data(), wanted.toStdString(), kMostMatches);
  std::sort(matches_.begin(), matches_.end(), [this](SliceRef a, SliceRef b) { return view_->data()->at(a).start < view_->data()->at(b).start; });
  found_->setText(wanted.isEmpty() ? QString() : matches_.size() >= kMostMatches ? tr("%1 or more tasks").arg(kMostMatches) : tr("%n task(s)", nullptr, static_cast<int>(matches_.size())));
  view_->setMatches(matches_);
}

void TimelinePanel::nextMatch(int by) {
  if (matches_.empty()) return;
  const auto count = static_cast<std::int64_t>(matches_.size());
  match_ = ((match_ < 0 && by < 0 ? 0 : match_) + by + count) % count;
  view_->select(matches_[static_cast<std::size_t>(match_)], true);
  found_->setText(tr("%1 of %2").arg(match_ + 1).arg(count));
}

void TimelinePanel::showPath(bool on) {
  std::vector<SliceRef> path;
  if (on && simulated() && view_->data() != nullptr) {
    for (const scenario::PathStep& step : simulated()->path) {
      if (const auto slice = slice_of(*view_->data(), step.rank, step.task)) path.push_back(*slice);
    }
  }
  view_->setPath(std::move(path));
}

void TimelinePanel::openMeasured(const QString& path) {
  const std::string file = path.toStdString();
  measured_job_.start<std::shared_ptr<const trace::ImportedRun>>(
      [file](JobControl& control) -> std::shared_ptr<const trace::ImportedRun> {
        for (import::Imported& one : import::import_path(file, [&control](std::uint64_t done, std::uint64_t total) { control.progress(static_cast<double>(done), static_cast<double>(total), "reading"); })) {
          auto* run = std::get_if<trace::ImportedRun>(&one);
          if (run == nullptr) continue;
          const bool any = std::any_of(run->ranks.begin(), run->ranks.end(), [](const trace::RankTrace& rank) { return !rank.device_ops.empty(); });
          if (any) return std::make_shared<const trace::ImportedRun>(std::move(*run));
          throw InputError({.file = file, .where = "", .found = "a trace without any kernel, copy or collective of a GPU", .expected = "a profile taken with GPU activity", .hint = "In PyTorch: ProfilerActivity.CUDA"});
        }
        throw InputError({.file = file, .where = "", .found = "no trace of a run", .expected = "a profiler's trace (Kineto)", .hint = ""});
      },
      [this](std::shared_ptr<const trace::ImportedRun> run) {
        measured_ = std::move(run);
        rebuild();
      });
}

MemoryPanel::MemoryPanel(QWidget* parent)
    : Panel(parent), classes_(new QComboBox(this)), peak_(new QPushButton(tr("Go to the &peak"), this)), chart_(new ChartView(tr("Memory over the step"), this)), kinds_(new TableView(tr("Live by kind"), false, this)),
      items_(new TableView(tr("Live items"), true, this)), note_(new QLabel(this)), job_(tr("listing what is live")) {
  classes_->setAccessibleName(tr("Rank class"));
  classes_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  QLayout* bar = controlBar({caption(tr("Rank class"), classes_), classes_, peak_, note_});
  QSplitter* below = splitter(Qt::Horizontal, {{kinds_, 2}, {items_, 5}});
  fillPage(this, bar, splitter(Qt::Vertical, {{chart_, 5}, {below, 3}}));
  connect(classes_, &QComboBox::currentIndexChanged, this, &MemoryPanel::choose);
  connect(peak_, &QPushButton::clicked, this, [this] { showAt(-1); });
  connect(chart_, &ChartView::pointSelected, this, [this](int, int point) { showAt(point); });
  connect(&job_, &Job::failed, this, [this](const Failure& f) { items_->setTable(tableOf(tr("The items were not listed: %1").arg(f.text()))); });
  present(nullptr);
}

void MemoryPanel::present(const std::shared_ptr<const Simulated>& s) {
  Panel::present(s);
  const QSignalBlocker blocker(classes_);
  const int kept = classes_->currentIndex();
  classes_->clear();
  if (s && s->timeline) {
    int fullest = 0;
    double most = -1.0;
    for (const Lane& lane : s->timeline->lanes) {
      if (lane.measured) continue;
      const std::uint32_t program = s->run->simulation.workload.ranks.at(lane.rank).program.value;
      const double reserved = s->run->lowered.memory.at(program).reserved.value();
      if (reserved > most) most = reserved, fullest = classes_->count();
      classes_->addItem(tr("%1 (%2), %3 reserved").arg(qstr(lane.title), qstr(lane.subtitle), bytesText(reserved)), lane.rank);
    }
    classes_->setCurrentIndex(kept >= 0 && kept < classes_->count() ? kept : fullest);
  }
  choose(classes_->currentIndex());
}

void MemoryPanel::choose(int index) {
  const auto& s = simulated();
  job_.cancel();
  log_.reset();
  rank_.reset();
  curve_.clear();
  peak_->setEnabled(s && s->run && index >= 0);
  if (!s || !s->run || index < 0) {
    Chart empty = memoryChart({}, {}, 1.0, 1.0);
    if (s) empty.empty = tr("This plan cannot run: there is no memory to show.");
    chart_->setChart(std::move(empty));
    kinds_->setTable(tableOf({}));
    items_->setTable(tableOf({}));
    note_->clear();
    return;
  }
  rank_ = classes_->itemData(index).toUInt();
  const lower::Memory& memory = s->run->lowered.memory.at(s->run->simulation.workload.ranks.at(*rank_).program.value);
  curve_ = scenario::thinned(scenario::memory_curve(s->run->simulation, memory, *rank_), kCurvePoints);
  const scenario::Result& r = s->run->result;
  Chart chart = memoryChart(tr("Memory of %1").arg(classes_->itemText(index)), curve_, r.step_time.value(), r.capacity.value());
  chart.hint = tr("click for what is live, drag to zoom");
  chart_->setChart(std::move(chart));
  note_->setText(tr("reserved with rounding and CUDA: %1 of %2%3").arg(bytesText(memory.reserved.value()), bytesText(r.capacity.value()), memory.reserved > r.capacity ? tr(" \u2014 DOES NOT FIT") : QString()));
  showAt(-1);
  if (isVisible()) listItems();
}

void MemoryPanel::showEvent(QShowEvent* event) {
  Panel::showEvent(event);
  if (rank_ && !log_ && !job_.running()) listItems();
}

void MemoryPanel::showAt(int point) {
  if (curve_.empty()) return;
  const auto peak = static_cast<int>(scenario::fullest(curve_) - curve_.data());
  point_ = point < 0 ? peak : std::min(point, static_cast<int>(curve_.size()) - 1);
  const scenario::MemoryAt& at = curve_[static_cast<std::size_t>(point_)];
  kinds_->setTable(gui::kindsTable(at, point_ == peak));
  Chart chart = chart_->chart();
  chart.cursor = at.time.value();
  if (point < 0) chart.selected.reset();
  chart_->setChart(std::move(chart));
  items_->setTable(log_ ? gui::itemsTable(scenario::live_at(*log_, at), at.time.value()) : tableOf(tr("Listing what is live\u2026")));
}

void MemoryPanel::listItems() {
  const std::shared_ptr<const Simulated> s = simulated();
  if (!s || !s->run || !rank_) return;
  const RankId real = s->run->simulation.timeline.representative.at(*rank_);
  job_.start<std::shared_ptr<const lower::MemoryLog>>(
      [s, real](JobControl&) { return std::make_shared<const lower::MemoryLog>(scenario::memory_log(s->scenario, s->inputs, real)); },
      [this](std::shared_ptr<const lower::MemoryLog> log) {
        log_ = std::move(log);
        showAt(point_);
      });
}

}  // namespace sgsim::gui
