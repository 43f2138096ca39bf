#include <QFileDialog>

#include "gui/models/cells.h"
#include "gui/models/fields.h"
#include "gui/views/page_layout.h"
#include "gui/views/work_panels.h"
#include "planner/cli/engines.h"
#include "sim/check/collectives.h"
#include "sim/check/predict.h"
#include "sim/check/record.h"
#include "sim/check/summary.h"
#include "sim/core/text_file.h"

namespace sgsim::gui {
namespace {

QString errorText(const std::optional<double>& e) { return e ? changeText(*e) : QStringLiteral("-"); }

/// Sorted by its size, whatever its sign.
Cell errorCell(const std::optional<double>& e) { return {errorText(e), e ? std::abs(*e) : -1.0}; }

}  // namespace

FidelityPanel::FidelityPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent)
    : WorkPanel(document, cache, tr("The comparison"), parent), scatter_(new ChartView(tr("Predicted against measured"), this)), summary_(new TableView(tr("By file"), false, this)), rows_(new TableView(tr("Rows"), true, this)), why_(new TableView(tr("Why"), false, this)),
      what_(new QComboBox(this)) {
  bar_ = new JobBar(job_, tr("&Open measured runs\u2026"), JobBar::OnCancel::keep, this);
  what_->addItems({tr("step time"), tr("memory")});
  what_->setAccessibleName(tr("Figure"));
  auto* shipped = new QPushButton(tr("&Published runs"), this);
  shipped->setToolTip(tr("All measured runs that ship with the program"));
  QSplitter* side = splitter(Qt::Vertical, {{summary_, 1}, {why_, 2}});
  QSplitter* top = splitter(Qt::Horizontal, {{scatter_, 5}, {side, 4}});
  fillPage(this, controlBar({caption(tr("Compare"), what_), what_, nullptr, shipped, bar_}), splitter(Qt::Vertical, {{top, 3}, {rows_, 2}}));
  connect(bar_->startButton(), &QPushButton::clicked, this, [this] {
    const QStringList files = QFileDialog::getOpenFileNames(this, tr("Measured runs"), {}, tr("Records (*.json *.json.gz)"));
    if (!files.isEmpty()) openFiles(files);
  });
  connect(what_, &QComboBox::currentIndexChanged, this, &FidelityPanel::draw);
  connect(shipped, &QPushButton::clicked, this, &FidelityPanel::openShipped);
  connect(rows_, &TableView::rowSelected, this, &FidelityPanel::explainRow);
  connect(rows_, &TableView::rowOpened, this, &FidelityPanel::openRow);
  connect(scatter_, &ChartView::pointSelected, this, [this](int s, int p) {
    if (static_cast<std::size_t>(s) < point_rows_.size() && static_cast<std::size_t>(p) < point_rows_[static_cast<std::size_t>(s)].size()) rows_->selectRow(point_rows_[static_cast<std::size_t>(s)][static_cast<std::size_t>(p)]);
  });
  draw();
}

void FidelityPanel::openShipped() {
  QStringList files;
  const QDir dir(dataFolder() + QStringLiteral("/records"));
  for (const QString& name : dir.entryList({QStringLiteral("*.json.gz")}, QDir::Files, QDir::Name)) files << dir.absoluteFilePath(name);
  openFiles(files);
}

void FidelityPanel::openFiles(const QStringList& files) {
  job_.start<Compared>(
      [files](JobControl& control) {
        Compared compared;
        std::vector<check::Record>& records = compared.records;
        std::vector<check::Row> collectives;
        for (const QString& file : files) {
          const std::string path = file.toStdString(), text = read_text_file(path);
          if (check::holds_collectives(text)) {
            for (check::Row& r : check::predict_collectives(text, path, {})) collectives.push_back(std::move(r));
          } else {
            for (check::Record& r : check::records_from_text(text, path)) records.push_back(std::move(r));
          }
        }
        const check::Sources sources = check::shipped_sources();
        std::vector<check::Row>& rows = compared.rows;
        // Few at a time, so that progress shows and cancelling takes hold.
        constexpr std::size_t kChunk = 4;
        for (std::size_t i = 0; i < records.size() && !control.stopping(); i += kChunk) {
          control.progress(static_cast<double>(i), static_cast<double>(records.size()), "run " + std::to_string(i) + " of " + std::to_string(records.size()));
          const std::vector<check::Record> part(records.begin() + static_cast<std::ptrdiff_t>(i), records.begin() + static_cast<std::ptrdiff_t>(std::min(records.size(), i + kChunk)));
          for (check::Row& row : check::predict(part, sources, cli::run_engine, {.threads = 1, .profiles = {}})) rows.push_back(std::move(row));
        }
        compared.all = records.size() + collectives.size();
        records.resize(rows.size());  // stopped: those that were compared
        rows.insert(rows.end(), std::make_move_iterator(collectives.begin()), std::make_move_iterator(collectives.end()));
        return compared;
      },
      [this](Compared compared) {
        results_ = std::move(compared.rows);
        records_ = std::move(compared.records);
        bar_->say(results_.size() < compared.all ? tr("stopped after %1 of %2 runs").arg(results_.size()).arg(compared.all) : tr("%1 runs").arg(results_.size()));
        draw();
      });
}

void FidelityPanel::openRow(int index) {
  if (index < 0 || static_cast<std::size_t>(index) >= results_.size()) return;
  if (static_cast<std::size_t>(index) >= records_.size()) return bar_->say(tr("a collective alone is no scenario"));
  const check::Record& record = records_[static_cast<std::size_t>(index)];
  const check::Question question = check::question_of(record, check::shipped_sources());
  if (!question.skipped.empty()) return bar_->say(tr("this run is no scenario: %1").arg(qstr(question.skipped)));
  Q_EMIT openText(question.text, qstr(record.id));
}

void FidelityPanel::explainRow(int index) {
  Table t = tableOf(tr("Why"), {tr("what"), tr("value")}, QStringLiteral("ll"));
  if (index >= 0 && static_cast<std::size_t>(index) < results_.size()) {
    const check::Row& r = results_[static_cast<std::size_t>(index)];
    t.title = qstr(r.id);
    const auto add = [&](const QString& what, const std::string& value) {
      if (!value.empty()) t.rows.push_back({what, Cell(qstr(value))});
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
              .empty = tr("Published runs compares every measured run that ships; or open your own (files of records, docs/formats/record.md), or drop one here."), .series = {}, .categories = {}, .xText = memory ? bytesText : timeText, .yText = memory ? bytesText : timeText};
  chart.logX = chart.logY = !memory;
  if (memory) chart.unitX = chart.unitY = 1073741824.0;
  chart.diagonal = true;
  point_rows_.clear();
  std::map<std::string, std::size_t> series;
  Table table = tableOf(results_.empty() ? tr("No measured runs yet") : tr("Runs"), {tr("run"), tr("file"), tr("GPU"), tr("plan"), tr("measured"), tr("predicted"), tr("error"), tr("memory error"), tr("in interval"), tr("skipped because")}, QStringLiteral("llllrrrrll"));
  if (!results_.empty()) table.hint = tr("select one to see why, Return opens it as a scenario");
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const check::Row& r = results_[i];
    const auto error = r.error(), memory_error = r.memory_error();
    const auto in = r.inside();
    table.rows.push_back({{qstr(r.id)}, {qstr(r.file)}, {qstr(r.gpu)}, {qstr(r.plan)}, cellOr(r.measured_s, timeText), cellOr(r.predicted_s, timeText), errorCell(error), errorCell(memory_error), {in ? (*in ? tr("yes") : tr("no")) : QString()}, {qstr(r.skipped)}});
    const auto x = memory ? r.measured_memory : r.measured_s, y = memory ? r.predicted_memory : r.predicted_s;
    if (!x || !y) continue;
    const auto [at, added] = series.try_emplace(r.file, chart.series.size());
    if (added) {
      chart.series.push_back({.name = qstr(r.file), .color = static_cast<int>(at->second), .points = {}, .tips = {}, .marker = static_cast<int>(at->second)});
      point_rows_.emplace_back();
    }
    chart.series[at->second].points.emplace_back(*x, *y);
    chart.series[at->second].tips.push_back(QStringLiteral("%1\n%2\n%3").arg(qstr(r.id), qstr(r.plan), tr("error %1").arg(errorText(memory ? memory_error : error))));
    point_rows_[at->second].push_back(static_cast<int>(i));
  }
  Table sums = tableOf(results_.empty() ? QString() : tr("Errors by file (absolute)"), {tr("file"), tr("runs"), tr("mean"), tr("median"), tr("worst"), tr("bias")}, QStringLiteral("lrrrrr"));
  for (const auto& [file, s] : check::summaries_by_file(results_)) {
    const check::ErrorSummary& e = memory ? s.memory : s.time;
    sums.rows.push_back({{qstr(file)}, countCell(static_cast<std::int64_t>(e.count)), shareCell(e.mean), shareCell(e.median), shareCell(e.worst), changeCell(e.bias)});
  }
  scatter_->setChart(std::move(chart));
  summary_->setTable(std::move(sums));
  rows_->setTable(withoutEmptyColumns(table, 7));
  explainRow(-1);
}

}  // namespace sgsim::gui
