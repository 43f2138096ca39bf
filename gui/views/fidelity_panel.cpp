#include <QFileDialog>
#include <QHBoxLayout>
#include <QSplitter>
#include <QVBoxLayout>

#include "gui/views/work_panels.h"
#include "planner/cli/engines.h"
#include "sim/check/predict.h"
#include "sim/check/record.h"
#include "sim/check/summary.h"

namespace sgsim::gui {
namespace {

QString text(const std::string& s) { return QString::fromStdString(s); }

QString errorText(const std::optional<double>& e) { return e ? (*e > 0 ? QStringLiteral("+") : QString()) + percentText(*e) : QStringLiteral("-"); }

Cell number(const std::optional<double>& v, QString (*words)(double)) { return v ? Cell(words(*v), *v) : Cell(QStringLiteral("-"), 1e300); }

}  // namespace

FidelityPanel::FidelityPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent)
    : WorkPanel(document, cache, tr("The comparison"), parent), scatter_(new ChartView(tr("Predicted against measured"), this)), summary_(new TableView(tr("By file"), false, this)), rows_(new TableView(tr("Rows"), true, this)), why_(new TableView(tr("Why"), false, this)),
      about_(new QLabel(this)), what_(new QComboBox(this)) {
  bar_ = new JobBar(job_, tr("&Open measured runs\u2026"), this);
  what_->addItems({tr("step time"), tr("memory")});
  what_->setAccessibleName(tr("Figure"));
  auto* bar = new QHBoxLayout;
  bar->setContentsMargins(8, 6, 8, 2);
  bar->addWidget(new QLabel(tr("Compare"), this));
  bar->addWidget(what_);
  bar->addSpacing(16);
  bar->addWidget(bar_, 1);
  auto* side = new QSplitter(Qt::Vertical, this);
  side->addWidget(summary_);
  side->addWidget(why_);
  auto* top = new QSplitter(Qt::Horizontal, this);
  top->addWidget(scatter_);
  top->addWidget(side);
  top->setStretchFactor(0, 3);
  top->setStretchFactor(1, 2);
  auto* split = new QSplitter(Qt::Vertical, this);
  split->addWidget(top);
  split->addWidget(rows_);
  split->setStretchFactor(0, 3);
  split->setStretchFactor(1, 2);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(bar);
  layout->addWidget(split, 1);
  about_->hide();
  connect(bar_->startButton(), &QPushButton::clicked, this, [this] {
    const QStringList files = QFileDialog::getOpenFileNames(this, tr("Measured runs"), {}, tr("Records (*.json *.json.gz)"));
    if (!files.isEmpty()) openFiles(files);
  });
  connect(what_, &QComboBox::currentIndexChanged, this, &FidelityPanel::draw);
  connect(rows_, &TableView::rowSelected, this, &FidelityPanel::explainRow);
  connect(scatter_, &ChartView::pointSelected, this, [this](int s, int p) {
    if (static_cast<std::size_t>(s) < point_rows_.size() && static_cast<std::size_t>(p) < point_rows_[static_cast<std::size_t>(s)].size()) rows_->selectRow(point_rows_[static_cast<std::size_t>(s)][static_cast<std::size_t>(p)]);
  });
  draw();
}

void FidelityPanel::openFiles(const QStringList& files) {
  job_.start<std::vector<check::Row>>(
      [files](JobControl& control) {
        std::vector<check::Record> records;
        for (const QString& file : files) {
          for (check::Record& r : check::read_records(file.toStdString())) records.push_back(std::move(r));
        }
        const check::Sources sources = check::shipped_sources();
        std::vector<check::Row> rows;
        // Few at a time, so that progress shows and cancelling takes hold.
        constexpr std::size_t kChunk = 4;
        for (std::size_t i = 0; i < records.size() && !control.cancelled(); i += kChunk) {
          control.progress(static_cast<double>(i), static_cast<double>(records.size()), "run " + std::to_string(i) + " of " + std::to_string(records.size()));
          const std::vector<check::Record> part(records.begin() + static_cast<std::ptrdiff_t>(i), records.begin() + static_cast<std::ptrdiff_t>(std::min(records.size(), i + kChunk)));
          for (check::Row& row : check::predict(part, sources, cli::run_engine, {.threads = 1, .profiles = {}})) rows.push_back(std::move(row));
        }
        return rows;
      },
      [this](std::vector<check::Row> rows) {
        results_ = std::move(rows);
        bar_->say(tr("%1 runs").arg(results_.size()));
        draw();
      });
}

void FidelityPanel::explainRow(int index) {
  Table t{.title = tr("Why"), .columns = {tr("what"), tr("value")}, .numeric = QStringLiteral("ll"), .rows = {}};
  if (index >= 0 && static_cast<std::size_t>(index) < results_.size()) {
    const check::Row& r = results_[static_cast<std::size_t>(index)];
    t.title = text(r.id);
    const auto add = [&](const QString& what, const std::string& value) {
      if (!value.empty()) t.rows.push_back({what, Cell(text(value))});
    };
    add(tr("read in"), r.source);
    add(tr("GPU"), r.gpu);
    add(tr("plan"), r.plan);
    add(tr("framework"), r.framework);
    add(tr("stack"), r.stack);
    add(tr("no prediction"), r.skipped);
    if (r.measured_s) add(tr("measured"), timeText(*r.measured_s).toStdString());
    if (r.predicted_s) add(tr("predicted"), timeText(*r.predicted_s).toStdString());
    if (r.low_s && r.high_s) add(tr("90 % interval"), (timeText(*r.low_s) + tr(" to ") + timeText(*r.high_s) + (r.inside().value_or(true) ? tr(", holds the measured one") : tr(", misses the measured one"))).toStdString());
    add(tr("error"), errorText(r.error()).toStdString());
    add(tr("largest share"), r.dominates);
    if (r.measured_memory) add(tr("memory measured"), bytesText(*r.measured_memory).toStdString());
    if (r.predicted_memory) add(tr("memory predicted"), bytesText(*r.predicted_memory).toStdString());
    if (!r.trusted) add(tr("doubt"), "the source itself doubts the figure");
    for (const std::string& a : r.assumed) add(tr("assumed"), a);
  }
  why_->setTable(std::move(t));
}

void FidelityPanel::draw() {
  const bool memory = what_->currentIndex() == 1;
  Chart chart{.kind = ChartKind::scatter, .title = results_.empty() ? QString() : tr("Predicted against measured %1; on the dashed line they agree").arg(what_->currentText()), .xTitle = tr("measured"), .yTitle = tr("predicted"),
              .empty = tr("Open measured runs (files of records, docs/formats/record.md) to see how far predictions can be trusted. A file can be dropped here."), .series = {}, .categories = {}, .xText = memory ? bytesText : timeText, .yText = memory ? bytesText : timeText};
  chart.logX = chart.logY = !memory;
  if (memory) chart.unitX = chart.unitY = 1073741824.0;
  chart.diagonal = true;
  point_rows_.clear();
  std::map<std::string, std::size_t> series;
  Table table{.title = results_.empty() ? tr("No measured runs yet") : tr("Runs: select one to see why"), .columns = {tr("run"), tr("file"), tr("GPU"), tr("plan"), tr("measured"), tr("predicted"), tr("error"), tr("memory error"), tr("in interval"), tr("no prediction because")}, .numeric = QStringLiteral("llllrrrrll"), .rows = {}};
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const check::Row& r = results_[i];
    const auto error = r.error(), memory_error = r.memory_error();
    const auto in = r.inside();
    table.rows.push_back({{text(r.id)}, {text(r.file)}, {text(r.gpu)}, {text(r.plan)}, number(r.measured_s, timeText), number(r.predicted_s, timeText), {errorText(error), error ? std::abs(*error) : -1.0}, {errorText(memory_error), memory_error ? std::abs(*memory_error) : -1.0}, {in ? (*in ? tr("yes") : tr("no")) : QString()}, {text(r.skipped)}});
    const auto x = memory ? r.measured_memory : r.measured_s, y = memory ? r.predicted_memory : r.predicted_s;
    if (!x || !y) continue;
    const auto [at, added] = series.try_emplace(r.file, chart.series.size());
    if (added) {
      chart.series.push_back({.name = text(r.file), .color = static_cast<int>(at->second), .points = {}, .tips = {}, .marker = static_cast<int>(at->second)});
      point_rows_.emplace_back();
    }
    chart.series[at->second].points.emplace_back(*x, *y);
    chart.series[at->second].tips.push_back(QStringLiteral("%1\n%2\n%3").arg(text(r.id), text(r.plan), tr("error %1").arg(errorText(memory ? memory_error : error))));
    point_rows_[at->second].push_back(static_cast<int>(i));
  }
  Table sums{.title = results_.empty() ? QString() : tr("Errors by file (absolute)"), .columns = {tr("file"), tr("runs"), tr("mean"), tr("median"), tr("worst"), tr("bias")}, .numeric = QStringLiteral("lrrrrr"), .rows = {}};
  for (const auto& [file, s] : check::summaries_by_file(results_)) {
    const check::ErrorSummary& e = memory ? s.memory : s.time;
    sums.rows.push_back({{text(file)}, {QString::number(e.count), static_cast<double>(e.count)}, {percentText(e.mean), e.mean}, {percentText(e.median), e.median}, {percentText(e.worst), e.worst}, {percentText(e.bias), e.bias}});
  }
  scatter_->setChart(std::move(chart));
  summary_->setTable(std::move(sums));
  rows_->setTable(std::move(table));
  explainRow(-1);
}

}  // namespace sgsim::gui
