#include "gui/app/main_window.h"

#include <QAction>
#include <QApplication>
#include <QCloseEvent>
#include <QDesktopServices>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QMenuBar>
#include <QMessageBox>
#include <QMimeData>
#include <QStatusBar>
#include <QVBoxLayout>
#include <nlohmann/json.hpp>

#include "gui/models/theme.h"
#include "gui/session/autosave.h"
#include "sim/core/text_file.h"
#include "sim/scenario/info.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

constexpr int kSimulateAfter = 500;   // ms without a change
constexpr int kKeepAfter = 1000;      // ms until unsaved work is on disk
constexpr const char* kSample = "llama3-8b-8xh100.json";

/// Files that scenarios name, read once for the whole program. Never destroyed: threads that were let go may still read.
scenario::InputCache& sharedCache() {
  static auto* cache = new scenario::InputCache;
  return *cache;
}

QString samplesFolder() {
  try {
    return QString::fromStdString(scenario::data_folder());
  } catch (const std::exception&) {
    return {};
  }
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

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent), cache_(sharedCache()), job_(tr("The simulation")) {
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
                                                    dropUnsaved(document_.path());
                                                    unsaved_->hide();
                                                  }}});
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
  progress_ = new QProgressBar(this);
  progress_->setRange(0, 1000);
  progress_->setMaximumWidth(180);
  progress_->setTextVisible(false);
  progress_->setAccessibleName(tr("Progress of the simulation"));
  progress_->hide();
  statusBar()->addWidget(status_, 1);
  statusBar()->addPermanentWidget(progress_);
  makeMenus();
  delay_.setSingleShot(true);
  delay_.setInterval(kSimulateAfter);
  keep_.setSingleShot(true);
  keep_.setInterval(kKeepAfter);
  connect(&delay_, &QTimer::timeout, this, &MainWindow::simulate);
  connect(&keep_, &QTimer::timeout, this, [this] {
    if (!document_.dirty()) return;
    const Unsaved work{.text = document_.text(), .path = document_.path(), .folder = document_.folder(), .name = document_.name(), .when = {}};
    if (!keepUnsaved(work)) status_->setText(tr("Unsaved work cannot be kept in %1").arg(stateFolder()));
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
    status_->setText(tr("the simulation failed"));
    fail(tr("The simulation failed"), f);
  });
  connect(timeline_, &TimelinePanel::failed, this, &MainWindow::fail);
  for (WorkPanel* panel : std::initializer_list<WorkPanel*>{compare_, sweep_, search_, fidelity_}) {
    connect(panel, &WorkPanel::failed, this, &MainWindow::fail);
    connect(panel, &WorkPanel::openSettings, this, &MainWindow::applySettings);
  }
}

Panel* MainWindow::page() const { return qobject_cast<Panel*>(pages_->currentWidget()); }

void MainWindow::makeMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  const auto add = [this](QMenu* menu, const QString& text, const QKeySequence& key, auto act) {
    QAction* a = menu->addAction(text);
    a->setShortcut(key);
    connect(a, &QAction::triggered, this, act);
    return a;
  };
  QMenu* samples = file->addMenu(tr("&New from a sample"));
  connect(samples, &QMenu::aboutToShow, this, [this, samples] {
    samples->clear();
    const QDir dir(samplesFolder());
    for (const QString& name : dir.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
      samples->addAction(name.chopped(5), this, [this, path = dir.absoluteFilePath(name), name] {
        try {
          document_.setText(scenario::read_document_text(path.toStdString()), QFileInfo(path).absolutePath(), tr("copy of %1").arg(name));
        } catch (...) {
          fail(tr("The sample was not read"), failureOf(std::current_exception()));
        }
      });
    }
  });
  add(file, tr("&Open\u2026"), QKeySequence::Open, [this] { openDialog(); });
  recent_ = file->addMenu(tr("Open &recent"));
  connect(recent_, &QMenu::aboutToShow, this, &MainWindow::fillRecent);
  add(file, tr("&Save"), QKeySequence::Save, [this] { save(false); });
  add(file, tr("Save &as\u2026"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), [this] { save(true); });
  file->addSeparator();
  add(file, tr("&Report (HTML)\u2026"), QKeySequence(Qt::CTRL | Qt::Key_R), [this] { exportDialog(tr("Report (*.html)")); });
  add(file, tr("Export page as &picture\u2026"), QKeySequence(Qt::CTRL | Qt::Key_E), [this] { exportDialog(tr("Pictures (*.png *.svg)")); });
  add(file, tr("Export &figures (CSV)\u2026"), {}, [this] { exportDialog(tr("Comma-separated values (*.csv)")); });
  add(file, tr("Export &timeline (Perfetto)\u2026"), {}, [this] { exportDialog(tr("Perfetto (*.json.gz *.json)")); });
  file->addSeparator();
  add(file, tr("&Quit"), QKeySequence::Quit, [this] { close(); });
  QMenu* edit = menuBar()->addMenu(tr("&Edit"));
  QAction* undo = document_.undoStack().createUndoAction(this, tr("&Undo"));
  undo->setShortcut(QKeySequence::Undo);
  QAction* redo = document_.undoStack().createRedoAction(this, tr("&Redo"));
  redo->setShortcuts({QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z), QKeySequence(Qt::CTRL | Qt::Key_Y)});
  edit->addAction(undo);
  edit->addAction(redo);
  add(edit, tr("&Copy page's table as text"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), [this] { copyTable(); });
  QMenu* run = menuBar()->addMenu(tr("&Simulate"));
  add(run, tr("&Simulate"), QKeySequence(Qt::Key_F5), [this] { simulate(); });
  add(run, tr("&Cancel"), QKeySequence(Qt::SHIFT | Qt::Key_F5), [this] {
    delay_.stop();
    job_.cancel();
    for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->stop();
    status_->setText(tr("cancelled"));
  });
  automatic_ = run->addAction(tr("&After every change"));
  automatic_->setCheckable(true);
  automatic_->setChecked(true);
  add(run, tr("&Keep as variant"), QKeySequence(Qt::CTRL | Qt::Key_D), [this] {
    compare_->addCurrent();
    pages_->setCurrentWidget(compare_);
  });
  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < pages_->count(); ++i) add(view, pages_->tabText(i), QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)), [this, i] { pages_->setCurrentIndex(i); });
  view->addSeparator();
  add(view, tr("&Light"), {}, [this] { setTheme(QStringLiteral("light")); });
  add(view, tr("&Dark"), {}, [this] { setTheme(QStringLiteral("dark")); });
  view->addSeparator();
  add(view, tr("Larger &text"), QKeySequence::ZoomIn, [this] { zoomFont(1.1); });
  add(view, tr("S&maller text"), QKeySequence::ZoomOut, [this] { zoomFont(1 / 1.1); });
  add(view, tr("Editor"), QKeySequence(Qt::Key_F6), [this] {
    if (QWidget* field = editor_->fieldWidget(QStringLiteral("plan.tp"))) field->setFocus();
  });
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  add(help, tr("&Keys"), QKeySequence(Qt::Key_F1), [this] {
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Keys"),
                                tr("<table cellpadding=3><tr><td>F5, Shift+F5</td><td>simulate, cancel</td></tr><tr><td>F6</td><td>to the editor</td></tr><tr><td>Ctrl+1 \u2026 8</td><td>views</td></tr><tr><td>Ctrl+Z, Ctrl+Y</td><td>undo, redo</td></tr>"
                                   "<tr><td>Ctrl+D</td><td>keep as variant</td></tr><tr><td>Ctrl+R</td><td>report</td></tr><tr><td>Up, Down in a number</td><td>twice, half</td></tr>"
                                   "<tr><td>Timeline</td><td>arrows or A D move, + \u2212 or W S zoom, Home all, N P next and previous task, F fits the task, Ctrl+F finds, Esc lets go</td></tr>"
                                   "<tr><td>Charts</td><td>Left and Right go from point to point, Return opens</td></tr><tr><td>Tables</td><td>Ctrl+C copies, Return opens</td></tr></table>"),
                                QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
  });
}

void MainWindow::fillRecent() {
  recent_->clear();
  for (const QString& path : recentFiles()) recent_->addAction(path, this, [this, path] { openFile(path); });
  if (recent_->isEmpty()) recent_->addAction(tr("none yet"))->setEnabled(false);
}

void MainWindow::openDialog() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open"), document_.folder(), tr("Scenarios and what belongs to them (*.json *.json.gz);;All files (*)"));
  if (!path.isEmpty()) openFile(path);
}

void MainWindow::loadScenario(const QString& path) {
  keep_.stop();
  if (document_.dirty() && !keepUnsaved({.text = document_.text(), .path = document_.path(), .folder = document_.folder(), .name = document_.name(), .when = {}})) {
    throw EnvironmentError("the unsaved scenario cannot be kept in " + stateFolder().toStdString() + "; save it first");
  }
  document_.load(path);
  noteRecent(document_.path());
  offerUnsaved(document_.path());
}

void MainWindow::offerUnsaved(const QString& path) {
  const auto work = unsavedOf(path);
  unsaved_->setVisible(work.has_value() && work->text != document_.text());
  if (work) unsaved_text_->setText(tr("There is unsaved work on this scenario from %1.").arg(QLocale().toString(work->when, QLocale::ShortFormat)));
}

bool MainWindow::openFile(const QString& path) {
  try {
    const QString full = QFileInfo(path).absoluteFilePath();
    const std::string text = scenario::read_document_text(full.toStdString());
    const std::string relative = nlohmann::json(QDir(document_.folder()).relativeFilePath(full).toStdString()).dump();
    switch (scenario::kind_of(text)) {
      case scenario::FileKind::scenario: loadScenario(full); break;
      case scenario::FileKind::graph:
        document_.setAll({{"model.graph", relative}, {"model.config", std::nullopt}, {"model.sequence", std::nullopt}, {"model.attention", std::nullopt}, {"model.dense_mask", std::nullopt}}, tr("drop a captured graph"));
        break;
      case scenario::FileKind::model_config: document_.setAll({{"model.config", relative}, {"model.graph", std::nullopt}}, tr("drop a model config")); break;
      case scenario::FileKind::cluster: document_.setAll({{"cluster.file", relative}, {"cluster.builtin", std::nullopt}, {"cluster.nodes", std::nullopt}, {"cluster.node", std::nullopt}, {"cluster.fabric", std::nullopt}}, tr("drop a cluster file")); break;
      case scenario::FileKind::profile: document_.set(QStringLiteral("profile"), relative, tr("drop a profile")); break;
      case scenario::FileKind::sweep:
        pages_->setCurrentWidget(sweep_);
        sweep_->openFile(full);
        break;
      case scenario::FileKind::timeline:
        pages_->setCurrentWidget(timeline_);
        timeline_->openMeasured(full);
        break;
      default: {
        const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
        if (json.is_array() && !json.empty() && json.front().is_object() && json.front().contains("measured")) {
          pages_->setCurrentWidget(fidelity_);
          fidelity_->openFiles({full});
        } else if (json.is_object() && json.contains("traceEvents")) {
          pages_->setCurrentWidget(timeline_);
          timeline_->openMeasured(full);
        } else if (json.is_discarded() || json.is_object()) {
          loadScenario(full);  // says what is wrong with it
        } else {
          throw InputError({.file = path.toStdString(), .where = "", .found = "a file of no kind that is known here", .expected = "a scenario, model config, captured graph, cluster, profile, sweep, trace or measured runs", .hint = ""});
        }
      }
    }
    failure_->hide();
    return true;
  } catch (...) {
    fail(tr("%1 was not opened").arg(QFileInfo(path).fileName()), failureOf(std::current_exception()));
    return false;
  }
}

void MainWindow::openSample() {
  try {
    const QString path = samplesFolder() + QLatin1Char('/') + QLatin1String(kSample);
    document_.setText(scenario::read_document_text(path.toStdString()), QFileInfo(path).absolutePath(), tr("copy of %1").arg(QLatin1String(kSample)));
  } catch (...) {
    fail(tr("The sample was not read"), failureOf(std::current_exception()));
  }
}

void MainWindow::openFirst() {
  const auto work = newestUnsaved();
  if (!work) return openSample();
  try {
    if (!work->path.isEmpty() && QFileInfo::exists(work->path)) {
      document_.load(work->path);
      document_.replaceText(work->text, tr("restore unsaved work"));
    } else {
      document_.setText(work->text, work->folder, work->name);
      document_.undoStack().resetClean();
    }
    status_->setText(tr("unsaved work of %1 is back").arg(QLocale().toString(work->when, QLocale::ShortFormat)));
  } catch (...) {
    fail(tr("Unsaved work was not restored"), failureOf(std::current_exception()));
    openSample();
  }
}

bool MainWindow::save(bool as) {
  QString path = document_.path();
  if (as || path.isEmpty()) {
    path = QFileDialog::getSaveFileName(this, tr("Save the scenario"), document_.folder() + QLatin1Char('/') + document_.name(), tr("Scenarios (*.json)"));
    if (path.isEmpty()) return false;
    if (!path.endsWith(QLatin1String(".json"))) path += QLatin1String(".json");
  }
  try {
    const QString old = document_.path();
    document_.save(path);
    dropUnsaved(old);
    dropUnsaved(document_.path());
    noteRecent(document_.path());
    status_->setText(tr("saved %1").arg(document_.path()));
    return true;
  } catch (...) {
    fail(tr("The scenario was not saved"), failureOf(std::current_exception()));
    return false;
  }
}

void MainWindow::exportDialog(const QString& filter) {
  const QString ending = filter.section(QLatin1Char('*'), 1, 1).section(QLatin1Char(')'), 0, 0).trimmed();
  QString path = QFileDialog::getSaveFileName(this, tr("Export"), QFileInfo(document_.name()).completeBaseName() + ending, filter);
  if (path.isEmpty()) return;
  if (QFileInfo(path).suffix().isEmpty()) path += ending;
  try {
    exportTo(path);
    status_->setText(tr("wrote %1").arg(path));
  } catch (...) {
    fail(tr("%1 was not written").arg(path), failureOf(std::current_exception()));
  }
}

void MainWindow::documentChanged() {
  keep_.start();
  if (automatic_->isChecked()) delay_.start();
  if (!document_.dirty() && !document_.path().isEmpty()) dropUnsaved(document_.path());
}

void MainWindow::simulate() {
  delay_.stop();
  const auto checked = document_.check();
  if (std::holds_alternative<InputProblem>(checked)) {
    status_->setText(tr("the scenario has mistakes; the editor marks them"));
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
  failure_->hide();
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->present(simulated_);
  if (!simulated_->run) {
    editor_->showViolations(simulated_->violations);
    status_->setText(tr("this plan cannot run"));
    return;
  }
  const auto& r = simulated_->run->result;
  status_->setText(tr("%1 a step, %2; %3 tasks predicted in %4").arg(timeText(r.step_time.value()), r.fits ? tr("fits") : tr("does not fit")).arg(r.tasks).arg(timeText(simulated_->wall)));
}

void MainWindow::fail(const QString& title, const Failure& failure) {
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
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->present(simulated_);
  editor_->refresh();
}

void MainWindow::zoomFont(double by) {
  QFont f = QApplication::font();
  f.setPointSizeF(std::clamp(f.pointSizeF() * by, 6.0, 30.0));
  QApplication::setFont(f);
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->present(simulated_);
}

void MainWindow::closeEvent(QCloseEvent* event) {
  // Nothing is asked and nothing is lost: unsaved work is on disk and comes back at the next start. Jobs are let go.
  if (document_.dirty() && !keepUnsaved({.text = document_.text(), .path = document_.path(), .folder = document_.folder(), .name = document_.name(), .when = {}})) {
    if (QMessageBox::warning(this, tr("Unsaved work"), tr("Unsaved work cannot be kept in %1. Close all the same?").arg(stateFolder()), QMessageBox::Close | QMessageBox::Cancel) == QMessageBox::Cancel) {
      event->ignore();
      return;
    }
  }
  if (!document_.dirty()) dropUnsaved(document_.path());
  delay_.stop();
  keep_.stop();
  job_.cancel();
  for (int i = 0; i < pages_->count(); ++i) static_cast<Panel*>(pages_->widget(i))->stop();
  event->accept();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) openFile(url.toLocalFile());
  }
  event->acceptProposedAction();
}

}  // namespace sgsim::gui
