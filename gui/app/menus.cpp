// The window's menus and their keys.
#include <QAction>
#include <QMenuBar>
#include <QMessageBox>

#include "gui/app/main_window.h"
#include "gui/models/fields.h"

namespace sgsim::gui {

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
    const QDir dir(dataFolder());
    for (const QString& name : dir.entryList({QStringLiteral("*.json")}, QDir::Files, QDir::Name)) {
      samples->addAction(name.chopped(5), this, [this, path = dir.absoluteFilePath(name)] { openCopy(path); });
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
  add(run, tr("&Cancel"), QKeySequence(Qt::SHIFT | Qt::Key_F5), [this] { cancelWork(); });
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
  for (const auto& [text, theme] : {std::pair(tr("&Light"), QStringLiteral("light")), std::pair(tr("&Dark"), QStringLiteral("dark"))}) {
    add(view, text, {}, [this, theme = theme] {
      setTheme(theme);
      remember(QStringLiteral("theme"), theme);
    });
  }
  view->addSeparator();
  add(view, tr("Larger &text"), QKeySequence::ZoomIn, [this] { zoomFont(1.1); });
  add(view, tr("S&maller text"), QKeySequence::ZoomOut, [this] { zoomFont(1 / 1.1); });
  add(view, tr("Editor"), QKeySequence(Qt::Key_F6), [this] {
    if (QWidget* field = editor_->fieldWidget(QStringLiteral("plan.tp"))) field->setFocus();
  });
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  add(help, tr("&Keys"), QKeySequence(Qt::Key_F1), [this] { showKeys(); });
}

void MainWindow::showKeys() {
  auto* box = new QMessageBox(QMessageBox::NoIcon, tr("Keys"),
                              tr("<table cellpadding=3><tr><td>F5, Shift+F5</td><td>simulate, cancel</td></tr><tr><td>F6</td><td>to the editor</td></tr><tr><td>Ctrl+1 \u2026 8</td><td>views</td></tr><tr><td>Ctrl+Z, Ctrl+Y</td><td>undo, redo</td></tr>"
                                 "<tr><td>Ctrl+D</td><td>keep as variant</td></tr><tr><td>Ctrl+R</td><td>report</td></tr><tr><td>Up, Down in a number</td><td>twice, half</td></tr><tr><td>Down in a file or name</td><td>what there is to choose</td></tr>"
                                 "<tr><td>Timeline</td><td>arrows or A D move, + \u2212 or W S zoom, Home all, N P next and previous task, F fits the task, Ctrl+F finds, Esc lets go</td></tr>"
                                 "<tr><td>Charts</td><td>Left and Right go from point to point, Return opens</td></tr><tr><td>Topology</td><td>arrows go from place to place, N from GPUs to ports to leaf switches</td></tr><tr><td>Tables</td><td>Ctrl+C copies, Return opens, Alt+Up and Alt+Down sort by the current column</td></tr></table>"),
                              QMessageBox::Close, this);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

void MainWindow::fillRecent() {
  recent_->clear();
  for (const QString& path : recentFiles()) recent_->addAction(path, this, [this, path] { openFile(path); });
  bool first = true;
  for (const Unsaved& kept : allUnsaved()) {
    if (!kept.path.isEmpty() || kept.draft == document_.draft()) continue;
    if (std::exchange(first, false)) recent_->addSection(tr("Never saved"));
    recent_->addAction(QStringLiteral("%1, %2").arg(kept.name, QLocale().toString(kept.when, QLocale::ShortFormat)), this, [this, kept] { openDraft(kept); });
  }
  if (recent_->isEmpty()) recent_->addAction(tr("none yet"))->setEnabled(false);
}

}  // namespace sgsim::gui
