#pragma once

#include <QDoubleSpinBox>
#include <QListWidget>
#include <QProgressBar>
#include <QTabWidget>
#include <set>

#include "gui/session/document.h"
#include "gui/session/search_job.h"
#include "gui/views/result_panels.h"
#include "sim/check/record.h"
#include "sim/check/row.h"
#include "sim/scenario/explain.h"
#include "sim/scenario/sweep/sweep.h"

namespace sgsim::gui {

/// Progress, time left and a cancel button of a job.
class JobBar : public QWidget {
  Q_OBJECT
 public:
  /// keep: cancelling asks the work to end with what it has found; a second time lets go of it.
  enum class OnCancel : unsigned char { drop, keep };
  JobBar(Job& job, const QString& start, OnCancel on_cancel, QWidget* parent = nullptr);
  void cancel();
  [[nodiscard]] QPushButton* startButton() const { return start_; }
  [[nodiscard]] QPushButton* cancelButton() const { return cancel_; }
  [[nodiscard]] QString said() const { return label_->text(); }
  void say(const QString& text) { label_->setText(text); }

 private:
  Job& job_;
  OnCancel on_cancel_;
  QPushButton *start_, *cancel_;
  QProgressBar* bar_;
  QLabel* label_;
};

/// A page with work of its own.
class WorkPanel : public Panel {
  Q_OBJECT
 public:
  WorkPanel(ScenarioDocument& document, scenario::InputCache& cache, const QString& job, QWidget* parent);
  void stop() override { job_.cancel(); }
  [[nodiscard]] Job& job() { return job_; }
  [[nodiscard]] virtual JobBar* bar() const = 0;
  /// Whether what the page shows holds for this scenario; what was worked out of none holds for all.
  [[nodiscard]] bool holdsFor(const ScenarioState& state) const { return !origin_ || sameBut(origin_->state, state, origin_->free); }
  /// The scenario that the results are of; empty where they are of none.
  [[nodiscard]] QString originName() const { return origin_ ? origin_->state.name : QString(); }

 Q_SIGNALS:
  void failed(const QString& title, const sgsim::gui::Failure& failure);
  /// A person asks for the scenario with these settings.
  void openSettings(const std::vector<sgsim::scenario::Setting>& settings, const QString& what);

 protected:
  /// What results are of; `free`: the fields that they state themselves, wherever the scenario stands there.
  struct Origin {
    ScenarioState state;
    std::set<std::string> free;
  };
  virtual void draw() = 0;
  void setOrigin(Origin origin);
  /// For headings: of which scenario the results are, and whether it is another by now ("searched": what was done).
  [[nodiscard]] QString originText(const QString& done) const;
  /// Whether the results hold for the scenario that is open.
  [[nodiscard]] bool holds() const { return elsewhere_ == Elsewhere::no; }
  /// Gives the scenario these settings, unless they were worked out for another one: then says so.
  void openResult(const std::vector<scenario::Setting>& settings, const QString& what, const QString& done);

  ScenarioDocument& document_;
  scenario::InputCache& cache_;
  Job job_;

 private:
  enum class Elsewhere : unsigned char { no, changed, other };
  [[nodiscard]] Elsewhere elsewhere() const;
  std::optional<Origin> origin_;
  Elsewhere elsewhere_ = Elsewhere::no;  // as drawn
};

/// Variants side by side, and what changes would help.
class ComparePanel : public WorkPanel {
  Q_OBJECT
 public:
  ComparePanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent = nullptr);
  void present(const std::shared_ptr<const Simulated>& simulated) override;
  [[nodiscard]] std::vector<ChartView*> charts() const override { return {bars_, memory_, curves_}; }
  [[nodiscard]] std::vector<TableView*> tables() const override { return {variants_, difference_, changes_}; }
  void addCurrent(const QString& name = {});
  void removeCurrent();
  [[nodiscard]] std::size_t variants() const { return kept_.size(); }
  [[nodiscard]] TableView* variantTable() const { return variants_; }
  [[nodiscard]] TableView* changesTable() const { return changes_; }
  [[nodiscard]] QTabWidget* pages() const { return pages_; }
  void explain();
  [[nodiscard]] JobBar* bar() const override { return bar_; }
  void cancel() override { bar_->cancel(); }

 private:
  struct Variant {
    QString name;
    std::shared_ptr<const Simulated> simulated;
  };
  void refresh();
  void draw() override;           // the changes
  [[nodiscard]] std::vector<Variant> all() const;
  std::vector<Variant> kept_;
  std::optional<scenario::Explanation> explanation_;
  TableView *variants_, *difference_, *changes_;
  ChartView *bars_, *memory_, *curves_;
  TimelineView* timelines_;
  QTabWidget* pages_;
  JobBar* bar_;
};

/// One or two fields over values, as line charts.
class SweepPanel : public WorkPanel {
  Q_OBJECT
 public:
  SweepPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent = nullptr);
  [[nodiscard]] std::vector<ChartView*> charts() const override { return {chart_}; }
  [[nodiscard]] std::vector<TableView*> tables() const override { return {table_}; }
  /// Reads a sweep file and runs it. Throws InputError.
  void openFile(const QString& path);
  void run();
  [[nodiscard]] QComboBox* path(int axis) const { return paths_[axis]; }
  [[nodiscard]] QLineEdit* values(int axis) const { return values_[axis]; }
  [[nodiscard]] QComboBox* figure() const { return figure_; }
  [[nodiscard]] JobBar* bar() const override { return bar_; }
  void cancel() override { bar_->cancel(); }

 private:
  struct Point {
    std::vector<std::string> values;   // by axis, as shown
    std::vector<scenario::Setting> settings;
    std::optional<double> figures[6];
    std::string reason;
  };
  struct Axis {
    std::string name;
    std::vector<std::string> paths;
    std::vector<std::vector<std::string>> values;
  };
  void start(std::vector<Axis> axes, std::vector<scenario::Setting> always, ScenarioState of);
  void draw() override;
  QComboBox* paths_[2];
  QLineEdit* values_[2];
  QComboBox* figure_;
  ChartView* chart_;
  TableView* table_;
  JobBar* bar_;
  std::vector<Axis> axes_;
  std::vector<Point> points_;
};

/// The search for plans: table, Pareto scatter, why plans fell out.
class SearchPanel : public WorkPanel {
  Q_OBJECT
 public:
  SearchPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent = nullptr);
  [[nodiscard]] std::vector<ChartView*> charts() const override { return {scatter_}; }
  [[nodiscard]] std::vector<TableView*> tables() const override { return {plans_, fell_out_}; }
  [[nodiscard]] JobBar* bar() const override { return bar_; }
  [[nodiscard]] TableView* plansTable() const { return plans_; }
  [[nodiscard]] TableView* fellOutTable() const { return fell_out_; }
  [[nodiscard]] QLineEdit* nodes() const { return nodes_; }
  [[nodiscard]] QComboBox* objective() const { return objective_; }
  [[nodiscard]] QComboBox* axis() const { return axis_; }
  [[nodiscard]] QDoubleSpinBox* price() const { return price_; }
  [[nodiscard]] QDoubleSpinBox* budget() const { return budget_; }
  [[nodiscard]] QDoubleSpinBox* failures() const { return mtbf_; }
  [[nodiscard]] QPushButton* openButton() const { return open_; }
  void run();
  void showPlans(FoundPlans plans);
  void cancel() override { bar_->cancel(); }

 private:
  void open(int row);
  void draw() override;
  void choose();
  void showPlans(FoundPlans plans, ScenarioState of);
  [[nodiscard]] std::optional<double> costOf(const FoundPlan& plan) const;
  QComboBox *objective_, *axis_;
  QLineEdit* nodes_;
  QDoubleSpinBox *price_, *budget_, *mtbf_, *checkpoint_, *restart_;
  QWidget* failures_;             // what the objective goodput needs
  QPushButton* open_;
  ChartView* scatter_;
  TableView *plans_, *fell_out_;
  JobBar* bar_;
  FoundPlans found_;
};

/// Predicted against measured: the rows of `sgsim check`.
class FidelityPanel : public WorkPanel {
  Q_OBJECT
 public:
  FidelityPanel(ScenarioDocument& document, scenario::InputCache& cache, QWidget* parent = nullptr);
  [[nodiscard]] std::vector<ChartView*> charts() const override { return {scatter_}; }
  [[nodiscard]] std::vector<TableView*> tables() const override { return {summary_, rows_, why_}; }
  void openFiles(const QStringList& records);
  void openShipped();
  [[nodiscard]] JobBar* bar() const override { return bar_; }
  [[nodiscard]] TableView* rowsTable() const { return rows_; }
  [[nodiscard]] TableView* whyTable() const { return why_; }
  void cancel() override { bar_->cancel(); }

 Q_SIGNALS:
  /// A person asks for a measured run as a scenario.
  void openText(const std::string& text, const QString& name);

 private:
  struct Compared {
    std::vector<check::Record> records;  // rows beyond these are collectives
    std::vector<check::Row> rows;
    std::size_t all = 0;                 // to compare
  };
  void draw() override;
  void explainRow(int row);
  void openRow(int row);
  ChartView* scatter_;
  TableView *summary_, *rows_, *why_;
  JobBar* bar_;
  QComboBox* what_;
  std::vector<check::Row> results_;
  std::vector<check::Record> records_;
  std::vector<std::vector<int>> point_rows_;
};

}  // namespace sgsim::gui
