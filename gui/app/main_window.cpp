#include "gui/app/main_window.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QCloseEvent>
#include <QComboBox>
#include <QDockWidget>
#include <QHBoxLayout>
#include <QMessageBox>
#include <QStatusBar>
#include <QToolButton>
#include <QVBoxLayout>
#include <nlohmann/json.hpp>

#include "gui/models/fields.h"
#include "gui/models/theme.h"
#include "gui/session/rules_job.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

constexpr int kSimulateAfter = 500;   // ms without a change
constexpr int kKeepAfter = 1000;      // ms until unsaved work is on disk

/// Files that scenarios name, read once for the whole program. Never destroyed: threads that were let go may still read.
scenario::InputCache& sharedCache() {
  static auto* cache = new scenario::InputCache;
  return *cache;
}

QWidget* makeBanner(QLabel*& text, QWidget* parent, const std::vector<std::pair<QString, std::function<void()>>>& buttons) {
  auto* banner = new QFrame(parent);
  banner->setFrameShape(QFrame::StyledPanel);
  text = new QLabel(banner);
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  auto* layout = new QHBoxLayout(banner);
  layout->setContentsMargins(10, 6, 10, 6);
  layout->addWidget(text, 1);
  for (const auto& [name, act] : buttons) {
    auto* button = new QPushButton(name, banner);
    QObject::connect(button, &QPushButton::clicked, banner, act);
    layout->addWidget(button, 0, Qt::AlignTop);
  }
  banner->hide();
  return banner;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), cache_(sharedCache()), job_(tr("The simulation")), rules_(tr("Checking the plan")) {
  setAcceptDrops(true);
  resize(1500, 950);
  editor_ = new EditorView(document_, this);
  overview_ = new OverviewPanel(this);
  timeline_ = new TimelinePanel(this);
  memory_ = new MemoryPanel(this);
  topology_ = new TopologyPanel(document_, this);
  compare_ = new ComparePanel(document_, cache_, this);
  sweep_ = new SweepPanel(document_, cache_, this);
  search_ = new SearchPanel(document_, cache_, this);
  fidelity_ = new FidelityPanel(document_, cache_, this);
  pages_ = new QTabWidget(this);
  pages_->setDocumentMode(true);
  pages_->setAccessibleName(tr("Views"));
  pages_->addTab(overview_, tr("&1 Overview"));
  pages_->addTab(timeline_, tr("&2 Timeline"));
  pages_->addTab(memory_, tr("&3 Memory"));
  pages_->addTab(topology_, tr("&4 Topology"));
  pages_->addTab(compare_, tr("&5 Compare"));
  pages_->addTab(sweep_, tr("&6 Sweep"));
  pages_->addTab(search_, tr("&7 Plan search"));
  pages_->addTab(fidelity_, tr("&8 Fidelity"));
  auto* centre = new QWidget(this);
  auto* column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  failure_ = makeBanner(failure_text_, centre, {{tr("Dismiss"), [this] { failure_->hide(); }}});
  failure_text_->setAccessibleName(tr("What failed"));
  unsaved_ = makeBanner(unsaved_text_, centre, {{tr("Restore"),
                                                  [this] {
                                                    unsaved_->hide();
                                                    if (const auto work = unsavedOf(document_.path())) document_.replaceText(work->text, tr("restore unsaved work"));
                                                  }},
                                                 {tr("Throw away"), [this] {
                                                    if (!document_.dirty()) dropUnsaved(document_.path());
                                                    unsaved_->hide();
                                                  }}});
  unsaved_text_->setAccessibleName(tr("Unsaved work"));
  column->addWidget(failure_);
  column->addWidget(unsaved_);
  column->addWidget(pages_, 1);
  setCentralWidget(centre);
  auto* dock = new QDockWidget(tr("Scenario"), this);
  dock->setObjectName(QStringLiteral("scenarioDock"));
  dock->setWidget(editor_);
  dock->setFeatures(QDockWidget::DockWidgetMovable | QDockWidget::DockWidgetFloatable);
  addDockWidget(Qt::LeftDockWidgetArea, dock);
  status_ = new QLabel(this);
  status_->setOpenExternalLinks(true);
  status_->setAccessibleName(tr("Status"));
  status_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  progress_ = new QProgressBar(this);
  progress_->setRange(0, 1000);
  progress_->setMinimumWidth(fontMetrics().averageCharWidth() * 30);
  progress_->setFormat(QStringLiteral("%p %"));
  progress_->setAccessibleName(tr("Progress of the simulation"));
  progress_->hide();
  statusBar()->addWidget(status_, 1);
  statusBar()->addPermanentWidget(progress_);
  makeMenus();
  delay_.setSingleShot(true);
  delay_.setInterval(kSimulateAfter);
  keep_.setSingleShot(true);
  keep_.setInterval(kKeepAfter);
  connect(&delay_, &QTimer::timeout, this, [this] {
    simulate();
    asked_ = false;
  });
  connect(&keep_, &QTimer::timeout, this, [this] {
    if (!document_.dirty()) return;
    if (!unsaved_->isHidden()) {
      // Work was offered and something else is done instead: it becomes a draft of its own.
      if (auto offered = unsavedOf(document_.path())) {
        offered->draft = QStringLiteral("%1 of %2").arg(offered->path, offered->when.toString(Qt::ISODate));
        offered->path.clear();
        if (!keepUnsaved(*offered)) return;
      }
      unsaved_->hide();
    }
    if (!keepUnsaved(work())) status_->setText(tr("Unsaved work cannot be kept in %1").arg(stateFolder()));
  });
  connect(&document_, &ScenarioDocument::changed, this, &MainWindow::documentChanged);
  connect(&document_, &ScenarioDocument::nameChanged, this, [this] { setWindowTitle(QStringLiteral("%1%2 \u2014 SGSim Planner").arg(document_.dirty() ? QStringLiteral("*") : QString(), document_.name())); });
  connect(&job_, &Job::started, this, [this] {
    progress_->setValue(0);
    progress_->show();
    status_->setText(tr("simulating\u2026"));
  });
  connect(&job_, &Job::progressed, this, [this] {
    progress_->setValue(static_cast<int>(job_.fraction() * 1000));
    status_->setText(job_.text() + QStringLiteral("\u2026"));
  });
  connect(&job_, &Job::ended, progress_, &QWidget::hide);
  connect(&job_, &Job::failed, this, [this](const Failure& f) {
    status_->setText(tr("the simulation failed%1").arg(simulated_ ? tr("; the views show the scenario as it was before") : QString()));
    fail(tr("The simulation failed"), f, &job_);
  });
  connect(&rules_, &Job::failed, this, [this] { editor_->showViolations({}); });  // simulating says why
  connect(timeline_, &TimelinePanel::failed, this, [this](const QString& title, const Failure& f) { fail(title, f); });
  connect(fidelity_, &FidelityPanel::openText, this, [this](const std::string& text, const QString& name) {
    try {
      openText(text, dataFolder(), name);
      pages_->setCurrentWidget(overview_);
    } catch (...) {
      fail(tr("The run was not opened"), failureOf(std::current_exception()));
    }
  });
  for (WorkPanel* panel : workers()) {
    connect(panel, &WorkPanel::failed, this, [this, panel](const QString& title, const Failure& f) { fail(title, f, panel); });
    connect(&panel->job(), &Job::started, this, [this, panel] {
      if (failure_of_ == panel) failure_->hide();
      say(tr("%1 runs").arg(panel->job().name()));
    });
    connect(&panel->job(), &Job::progressed, this, [this, panel] { say(tr("%1: %2").arg(panel->job().name(), panel->bar()->said())); });
    connect(&panel->job(), &Job::ended, this, [this, panel] { say(tr("%1: %2").arg(panel->job().name(), panel->bar()->said())); });
    connect(panel, &WorkPanel::openSettings, this, &MainWindow::applySettings);
  }
  nameParts();
}

/// Names for what Qt makes by itself: lists of combo boxes, buttons inside line edits.
void MainWindow::nameParts() {
  for (QComboBox* box : findChildren<QComboBox*>()) box->view()->setAccessibleName(box->accessibleName());
  for (QLineEdit* edit : findChildren<QLineEdit*>()) {
    for (QToolButton* button : edit->findChildren<QToolButton*>()) {
      if (button->accessibleName().isEmpty()) button->setAccessibleName(edit->isClearButtonEnabled() ? tr("Clear %1").arg(edit->accessibleName()) : tr("Choices for %1").arg(edit->accessibleName()));
    }
  }
}

Panel* MainWindow::page() const { return qobject_cast<Panel*>(pages_->currentWidget()); }

void MainWindow::documentChanged() {
  keep_.start();
  if (document_.undoStack().count() == 0) editor_->showViolations({});  // another scenario
  checkRules();
  if (automatic_->isChecked()) delay_.start();
  // Undone to what is on disk. Opening is no reason: what was kept then is offered.
  if (!document_.dirty() && document_.undoStack().count() > 0) dropUnsaved(work().key());
}

void MainWindow::checkRules() {
  Checked checked = document_.checkAll();
  if (!checked.rest) {
    rules_.cancel();
    editor_->showViolations({});
    return;
  }
  scenario::InputCache& cache = cache_;
  rules_.start<std::vector<plan::Violation>>([s = std::move(*checked.rest), &cache](JobControl&) { return brokenRules(s, cache); },
                                             [this](std::vector<plan::Violation> broken) { editor_->showViolations(std::move(broken)); });
}

void MainWindow::cancelWork() {
  delay_.stop();
  QStringList ended;
  if (job_.running()) ended << job_.name();
  job_.cancel();
  for (WorkPanel* panel : workers()) {
    if (!panel->job().running()) continue;
    ended << panel->job().name();
    panel->cancel();
  }
  for (int i = 0; i < pages_->count(); ++i) {
    auto* panel = static_cast<Panel*>(pages_->widget(i));
    if (dynamic_cast<WorkPanel*>(panel) == nullptr) panel->stop();
  }
  if (ended.isEmpty()) return say(tr("nothing runs that could be cancelled"));
  // Work that keeps what it has found says so itself when it ends.
  const std::vector<WorkPanel*> panels = workers();
  if (std::none_of(panels.begin(), panels.end(), [](WorkPanel* p) { return p->job().running(); })) say(tr("cancelled: %1").arg(ended.join(QStringLiteral(", "))));
}

void MainWindow::say(const QString& status) { status_->setText(status); }

void MainWindow::simulate() {
  delay_.stop();
  asked_ = true;
  const auto checked = document_.check();
  if (std::holds_alternative<InputProblem>(checked)) {
    status_->setText(tr("the scenario has mistakes, which the editor marks%1").arg(simulated_ ? tr("; the views show it as it was before") : QString()));
    job_.cancel();
    return;
  }
  const std::string text = document_.text(), name = document_.name().toStdString(), folder = document_.folder().toStdString();
  scenario::InputCache& cache = cache_;
  job_.start<std::shared_ptr<const Simulated>>([text, name, folder, &cache](JobControl& control) { return simulateScenario(text, name, folder, cache, control); },
                                               [this](std::shared_ptr<const Simulated> s) { present(std::move(s)); });
}

void MainWindow::present(std::shared_ptr<const Simulated> s) {
  simulated_ = std::move(s);
  if (asked_ || failure_of_ == &job_) failure_->hide();
  if (simulated_->text == document_.text()) editor_->showViolations(simulated_->violations);  // rules of a later state are marked already
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->present(simulated_);
  if (!simulated_->run) {
    status_->setText(tr("this plan cannot run"));
    return;
  }
  const auto& r = simulated_->run->result;
  status_->setText(tr("%1 a step, %2; %3 tasks predicted in %4").arg(timeText(r.step_time.value()), r.fits ? tr("fits") : tr("does not fit")).arg(r.tasks).arg(timeText(simulated_->wall)));
}

void MainWindow::fail(const QString& title, const Failure& failure, const QObject* of) {
  failure_of_ = of;
  failure_plain_ = title + QLatin1Char('\n') + failure.text();
  QString html = QStringLiteral("<b>\u26A0 %1</b>").arg(title.toHtmlEscaped());
  for (const QString& link : failure.chain) html += QStringLiteral("<br>\u2192 %1").arg(link.toHtmlEscaped());
  failure_text_->setText(html);
  failure_->show();
}

void MainWindow::applySettings(const std::vector<scenario::Setting>& settings, const QString& what) {
  std::vector<std::pair<QString, std::optional<std::string>>> fields;
  for (const scenario::Setting& s : settings) {
    if (s.value == "null") {
      fields.emplace_back(QString::fromStdString(s.path), std::nullopt);
    } else {
      fields.emplace_back(QString::fromStdString(s.path), nlohmann::json::accept(s.value) ? s.value : nlohmann::json(s.value).dump());
    }
  }
  document_.setAll(fields, what);
  status_->setText(what);
}

void MainWindow::setTheme(const QString& name) {
  const QPalette palette = paletteOf(name == QLatin1String("dark") ? darkTheme() : lightTheme());
  QApplication::setPalette(palette);
  QApplication::sendPostedEvents();
  editor_->refresh();  // marks have the theme's red
}

void MainWindow::zoomFont(double by) {
  QFont f = QApplication::font();
  f.setPointSizeF(std::clamp(f.pointSizeF() * by, 6.0, 30.0));
  QApplication::setFont(f);
  remember(QStringLiteral("font"), f.pointSizeF());
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->present(simulated_);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  // Nothing is asked and nothing is lost: unsaved work is on disk and comes back at the next start. Jobs are let go.
  if (document_.dirty() && !keepUnsaved(work())) {
    if (QMessageBox::warning(this, tr("Unsaved work"), tr("Unsaved work cannot be kept in %1. Close all the same?").arg(stateFolder()), QMessageBox::Close | QMessageBox::Cancel) == QMessageBox::Cancel) {
      event->ignore();
      return;
    }
  }
  remember(QStringLiteral("geometry"), saveGeometry());
  delay_.stop();
  keep_.stop();
  job_.cancel();
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->stop();
  event->accept();
}

}  // namespace sgsim::gui
