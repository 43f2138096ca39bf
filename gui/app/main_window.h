#pragma once

#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QTabWidget>
#include <QTimer>
#include <memory>
#include <optional>

#include "gui/session/autosave.h"
#include "gui/session/document.h"
#include "gui/session/job.h"
#include "gui/session/simulate_job.h"
#include "gui/views/editor_view.h"
#include "gui/views/result_panels.h"
#include "gui/views/topology_view.h"
#include "gui/views/work_panels.h"

namespace sgsim::gui {

/// What a person sees first: the scenario on the left, what it means on the right.
class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(QWidget* parent = nullptr);

  /// Opens a scenario; other files do what dropping them does. Failures are shown, never thrown.
  bool openFile(const QString& path);
  /// The file that the program was started with: over the sample, which stays where it cannot be opened and which parts of
  /// scenarios go into.
  bool openStart(const QString& path);
  /// What was open and unsaved when the program last ended; else the sample.
  void openFirst();
  void openSample();
  void simulate();
  /// Ends what runs; what has found something keeps that.
  void cancelWork();
  /// Whether a simulation runs or is about to.
  [[nodiscard]] bool busy() const { return job_.running() || delay_.isActive(); }

  [[nodiscard]] ScenarioDocument& document() { return document_; }
  [[nodiscard]] EditorView* editor() const { return editor_; }
  [[nodiscard]] OverviewPanel* overview() const { return overview_; }
  [[nodiscard]] TimelinePanel* timeline() const { return timeline_; }
  [[nodiscard]] MemoryPanel* memory() const { return memory_; }
  [[nodiscard]] TopologyPanel* topology() const { return topology_; }
  [[nodiscard]] ComparePanel* compare() const { return compare_; }
  [[nodiscard]] SweepPanel* sweep() const { return sweep_; }
  [[nodiscard]] SearchPanel* search() const { return search_; }
  [[nodiscard]] FidelityPanel* fidelity() const { return fidelity_; }
  [[nodiscard]] QTabWidget* pages() const { return pages_; }
  [[nodiscard]] const std::shared_ptr<const Simulated>& simulated() const { return simulated_; }
  [[nodiscard]] QString failureText() const { return failure_->isHidden() ? QString() : failure_text_->text(); }
  /// The same without markup, a line a cause.
  [[nodiscard]] QString failurePlainText() const { return failure_->isHidden() ? QString() : failure_plain_; }
  [[nodiscard]] QString statusText() const { return status_->text(); }
  /// Whether work from an earlier time is offered for the file that is open.
  [[nodiscard]] bool offersUnsaved() const { return !unsaved_->isHidden(); }
  void setTheme(const QString& name);   // "light", "dark"

  /// Writes by the ending: .png, .svg (the page), .csv (its tables and charts), .html (the report), .json, .json.gz (Perfetto).
  /// Throws EnvironmentError.
  void exportTo(const QString& path);
  void copyTable();

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void makeMenus();
  void nameParts();
  void openDialog();
  bool save(bool as);
  /// The file holds another edit than the one that was opened: asks what is to be done. False: nothing is written there.
  bool settleConflict();
  void exportDialog(const QString& filter);
  void documentChanged();
  void present(std::shared_ptr<const Simulated> simulated);
  /// `of`: whose next start or success takes the message away; nothing: it stays until it is dismissed or something opens.
  void fail(const QString& title, const Failure& failure, const QObject* of = nullptr);
  void checkRules();
  void say(const QString& status);
  [[nodiscard]] Unsaved work() const;     // the document as autosave keeps it
  /// Unsaved work is on disk before something else is opened. Throws EnvironmentError.
  void keepWork();
  void openDraft(const Unsaved& draft);
  /// A new scenario without a file: of a sample, of a measured run. Kept as a draft once it is changed.
  void openText(const std::string& text, const QString& folder, const QString& name);
  void openCopy(const QString& path);
  void offerUnsaved(const QString& path);
  void fillRecent();
  void zoomFont(double by);
  void showKeys();
  void applySettings(const std::vector<scenario::Setting>& settings, const QString& what);
  [[nodiscard]] Panel* page() const;
  [[nodiscard]] std::vector<WorkPanel*> workers() const { return {compare_, sweep_, search_, fidelity_}; }
  void loadScenario(const QString& path);
  /// What a file means to the scenario that is open, by its content.
  void openPart(const QString& path, const std::string& text);
  void openTrace(const QString& path);

  ScenarioDocument document_;
  scenario::InputCache& cache_;
  Job job_, rules_;
  QTimer delay_, keep_;
  bool asked_ = false;               // a person asked for the simulation that runs
  const QObject* failure_of_ = nullptr;
  QString failure_plain_;
  std::shared_ptr<const Simulated> simulated_;
  EditorView* editor_;
  OverviewPanel* overview_;
  TimelinePanel* timeline_;
  MemoryPanel* memory_;
  TopologyPanel* topology_;
  ComparePanel* compare_;
  SweepPanel* sweep_;
  SearchPanel* search_;
  FidelityPanel* fidelity_;
  QTabWidget* pages_;
  QWidget* failure_;
  QLabel* failure_text_;
  QWidget* unsaved_;
  QLabel* unsaved_text_;
  QLabel* status_;
  QProgressBar* progress_;
  QMenu* recent_ = nullptr;
  QAction* automatic_ = nullptr;
};

}  // namespace sgsim::gui
