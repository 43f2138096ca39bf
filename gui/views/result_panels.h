#pragma once

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QWidget>
#include <memory>

#include "gui/models/chart.h"
#include "gui/session/job.h"
#include "gui/session/simulate_job.h"
#include "gui/views/chart_view.h"
#include "gui/views/table_view.h"
#include "gui/views/timeline_view.h"
#include "sim/scenario/live.h"

namespace sgsim::gui {

/// A page of the window: shows a simulated scenario and says what of it can be exported.
class Panel : public QWidget {
  Q_OBJECT
 public:
  using QWidget::QWidget;
  virtual void present(const std::shared_ptr<const Simulated>& simulated) { simulated_ = simulated; }
  /// The charts and tables on the page, for exports and reports.
  [[nodiscard]] virtual std::vector<ChartView*> charts() const { return {}; }
  [[nodiscard]] virtual std::vector<TableView*> tables() const { return {}; }
  /// Lets go of what runs on the page.
  virtual void stop() {}
  /// A person wants it to end: as `stop`, but work that has found something keeps that.
  virtual void cancel() { stop(); }

 protected:
  [[nodiscard]] const std::shared_ptr<const Simulated>& simulated() const { return simulated_; }

 private:
  std::shared_ptr<const Simulated> simulated_;
};

/// The prediction in figures: as `sgsim simulate` prints it.
class OverviewPanel : public Panel {
  Q_OBJECT
 public:
  explicit OverviewPanel(QWidget* parent = nullptr);
  void present(const std::shared_ptr<const Simulated>& simulated) override;
  [[nodiscard]] std::vector<ChartView*> charts() const override { return {bars_}; }
  [[nodiscard]] std::vector<TableView*> tables() const override { return {figures_, step_, kernels_, communication_, classes_, notes_}; }
  [[nodiscard]] QString headline() const { return headline_->text(); }

 private:
  QLabel *headline_, *sub_;
  ChartView* bars_;
  TableView *figures_, *step_, *kernels_, *communication_, *classes_, *notes_;
};

/// The timeline with its search, layers, critical path and the facts of the selected task.
class TimelinePanel : public Panel {
  Q_OBJECT
 public:
  explicit TimelinePanel(QWidget* parent = nullptr);
  void present(const std::shared_ptr<const Simulated>& simulated) override;
  [[nodiscard]] std::vector<TableView*> tables() const override { return {facts_, path_}; }
  [[nodiscard]] TimelineView* view() const { return view_; }
  [[nodiscard]] QLineEdit* search() const { return search_; }
  [[nodiscard]] QCheckBox* pathBox() const { return path_box_; }
  [[nodiscard]] QComboBox* layers() const { return layers_; }
  [[nodiscard]] QString found() const { return found_->text(); }
  /// Puts a measured run (a Kineto trace or any other format that is recognised) under the predicted one.
  void openMeasured(const QString& path);
  void nextMatch(int by);
  void stop() override { measured_job_.cancel(); }

 Q_SIGNALS:
  void failed(const QString& title, const sgsim::gui::Failure& failure);

 private:
  void selectionChanged();
  void searchFor(const QString& text);
  void showPath(bool on);
  void rebuild();

  TimelineView* view_;
  QLineEdit* search_;
  QLabel* found_;
  QComboBox* layers_;
  QCheckBox* path_box_;
  QPushButton* measured_button_;
  TableView *facts_, *path_;
  std::vector<SliceRef> matches_;
  std::int64_t match_ = -1;             // the one that was last gone to
  std::shared_ptr<const trace::ImportedRun> measured_;
  Job measured_job_;
};

/// Memory over the step, stacked by kind, and what is live at the peak or at a time that was clicked: by kind, and every item with
/// its layer and micro-batch.
class MemoryPanel : public Panel {
  Q_OBJECT
 public:
  explicit MemoryPanel(QWidget* parent = nullptr);
  void present(const std::shared_ptr<const Simulated>& simulated) override;
  [[nodiscard]] std::vector<ChartView*> charts() const override { return {chart_}; }
  [[nodiscard]] std::vector<TableView*> tables() const override { return {kinds_, items_}; }
  [[nodiscard]] QComboBox* classes() const { return classes_; }
  [[nodiscard]] QPushButton* peakButton() const { return peak_; }
  [[nodiscard]] TableView* itemsTable() const { return items_; }
  [[nodiscard]] TableView* kindsTable() const { return kinds_; }
  /// Items are listed on a thread of their own, once the page is seen.
  [[nodiscard]] bool listing() const { return job_.running(); }
  void stop() override { job_.cancel(); }

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void choose(int index);
  void showAt(int point);      // of curve_; -1: the fullest
  void listItems();
  QComboBox* classes_;
  QPushButton* peak_;
  ChartView* chart_;
  TableView *kinds_, *items_;
  QLabel* note_;
  std::vector<scenario::MemoryAt> curve_;
  int point_ = -1;
  std::optional<std::uint32_t> rank_;              // simulated rank that is shown
  std::shared_ptr<const lower::MemoryLog> log_;    // of that rank; nothing until it is there
  Job job_;
};

}  // namespace sgsim::gui
