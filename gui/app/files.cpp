// Opening, saving, dropping: what comes into the window and what of it is kept.
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <nlohmann/json.hpp>

#include "gui/app/main_window.h"
#include "gui/models/fields.h"
#include "sim/check/record.h"
#include "sim/core/text_file.h"
#include "sim/scenario/info.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

constexpr const char* kSample = "llama3-8b-8xh100.json";
/// A larger file is a trace, which is read off the window's thread; nothing else that is opened here comes near.
constexpr qint64 kLargest = 16 << 20;

}  // namespace

void MainWindow::openDialog() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open"), document_.folder(), tr("Scenarios and what belongs to them (*.json *.json.gz);;All files (*)"));
  if (!path.isEmpty()) openFile(path);
}

Unsaved MainWindow::work() const { return {.text = document_.text(), .path = document_.path(), .draft = document_.draft(), .folder = document_.folder(), .name = document_.name()}; }

void MainWindow::keepWork() {
  keep_.stop();
  if (document_.dirty() && !keepUnsaved(work())) throw EnvironmentError("the unsaved scenario cannot be kept in " + stateFolder().toStdString() + "; save it first");
}

void MainWindow::openText(const std::string& text, const QString& folder, const QString& name) {
  keepWork();
  document_.setText(text, folder, name);
  unsaved_->hide();
}

void MainWindow::openCopy(const QString& path) {
  try {
    openText(scenario::read_document_text(path.toStdString()), QFileInfo(path).absolutePath(), tr("copy of %1").arg(QFileInfo(path).fileName()));
  } catch (...) {
    fail(tr("The sample was not read"), failureOf(std::current_exception()));
  }
}

void MainWindow::openDraft(const Unsaved& draft) {
  try {
    keepWork();
    document_.setText(draft.text, draft.folder, draft.name, draft.draft);
    document_.undoStack().resetClean();
    unsaved_->hide();
  } catch (...) {
    fail(tr("The draft was not read"), failureOf(std::current_exception()));
  }
}

void MainWindow::loadScenario(const QString& path) {
  keepWork();
  document_.load(path);
  noteRecent(document_.path());
  offerUnsaved(document_.path());
}

void MainWindow::offerUnsaved(const QString& path) {
  const auto kept = unsavedOf(path);
  unsaved_->setVisible(kept.has_value() && kept->text != document_.text());
  if (kept) unsaved_text_->setText(tr("There is unsaved work on this scenario from %1.").arg(QLocale().toString(kept->when, QLocale::ShortFormat)));
}

void MainWindow::openTrace(const QString& path) {
  pages_->setCurrentWidget(timeline_);
  timeline_->openMeasured(path);
}

void MainWindow::openPart(const QString& path, const std::string& text) {
  const std::string relative = nlohmann::json(QDir(document_.folder()).relativeFilePath(path).toStdString()).dump();
  switch (scenario::kind_of(text)) {
    case scenario::FileKind::scenario: return loadScenario(path);
    case scenario::FileKind::graph:
      return document_.setAll({{"model.graph", relative}, {"model.config", std::nullopt}, {"model.sequence", std::nullopt}, {"model.attention", std::nullopt}, {"model.dense_mask", std::nullopt}}, tr("drop a captured graph"));
    case scenario::FileKind::model_config: return document_.setAll({{"model.config", relative}, {"model.graph", std::nullopt}}, tr("drop a model config"));
    case scenario::FileKind::cluster:
      return document_.setAll({{"cluster.file", relative}, {"cluster.builtin", std::nullopt}, {"cluster.nodes", std::nullopt}, {"cluster.node", std::nullopt}, {"cluster.fabric", std::nullopt}}, tr("drop a cluster file"));
    case scenario::FileKind::profile: return document_.set(QStringLiteral("profile"), relative, tr("drop a profile"));
    case scenario::FileKind::sweep: pages_->setCurrentWidget(sweep_); return sweep_->openFile(path);
    case scenario::FileKind::timeline: return openTrace(path);
    default: break;
  }
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (check::holds_collectives(text) || (json.is_array() && !json.empty() && json.front().is_object() && json.front().contains("measured"))) {
    pages_->setCurrentWidget(fidelity_);
    return fidelity_->openFiles({path});
  }
  if (json.is_object() && json.contains("traceEvents")) return openTrace(path);
  if (json.is_discarded() || json.is_object()) return loadScenario(path);  // says what is wrong with it
  throw InputError({.file = path.toStdString(), .where = "", .found = "a file of no kind that is known here", .expected = "a scenario, model config, captured graph, cluster, profile, sweep, trace or measured runs", .hint = ""});
}

bool MainWindow::openFile(const QString& path) {
  try {
    const QFileInfo file(path);
    if (file.isDir()) throw InputError({.file = path.toStdString(), .where = "", .found = "a folder", .expected = "a file: a scenario, model config, captured graph, cluster, profile, sweep, trace or measured runs", .hint = ""});
    if (file.size() > kLargest) {
      openTrace(file.absoluteFilePath());
    } else {
      openPart(file.absoluteFilePath(), scenario::read_document_text(file.absoluteFilePath().toStdString()));
    }
    failure_->hide();
    return true;
  } catch (...) {
    const QString name = QFileInfo(QDir::cleanPath(path)).fileName();  // a folder has one too
    fail(tr("%1 was not opened").arg(name.isEmpty() ? path : name), failureOf(std::current_exception()));
    return false;
  }
}

bool MainWindow::openStart(const QString& path) {
  openSample();
  return openFile(path);
}

void MainWindow::openSample() {
  openCopy(dataFolder() + QLatin1Char('/') + QLatin1String(kSample));
}

void MainWindow::openFirst() {
  const std::vector<Unsaved> all = allUnsaved();
  if (all.empty()) return openSample();
  const Unsaved& last = all.front();
  try {
    if (!last.path.isEmpty() && QFileInfo::exists(last.path)) {
      document_.load(last.path);
      document_.replaceText(last.text, tr("restore unsaved work"));
    } else {
      openDraft(last);
    }
    status_->setText(tr("unsaved work of %1 is back").arg(QLocale().toString(last.when, QLocale::ShortFormat)));
  } catch (...) {
    fail(tr("Unsaved work was not restored"), failureOf(std::current_exception()));
    openSample();
  }
}

bool MainWindow::settleConflict() {
  QMessageBox box(QMessageBox::Warning, tr("Changed on disk"),
                  tr("%1 has been changed by somebody else since it was opened here. Saving would overwrite that change.").arg(document_.path()), QMessageBox::NoButton, this);
  const QPushButton* reload = box.addButton(tr("&Reload"), QMessageBox::DestructiveRole);
  const QPushButton* overwrite = box.addButton(tr("&Overwrite"), QMessageBox::AcceptRole);
  const QPushButton* as = box.addButton(tr("Save &as\u2026"), QMessageBox::ActionRole);
  QPushButton* cancel = box.addButton(QMessageBox::Cancel);
  box.setDefaultButton(cancel);
  box.setInformativeText(tr("Reload takes what the file holds now; undo brings your own edit back."));
  box.exec();
  if (box.clickedButton() == overwrite) return true;
  if (box.clickedButton() == as) return save(true), false;
  if (box.clickedButton() == reload) {
    try {
      document_.reload();
      status_->setText(tr("reloaded %1; undo brings your own edit back").arg(document_.path()));
    } catch (...) {
      fail(tr("The scenario was not reloaded"), failureOf(std::current_exception()));
    }
  }
  return false;
}

bool MainWindow::save(bool as) {
  QString path = document_.path();
  if (as || path.isEmpty()) {
    path = QFileDialog::getSaveFileName(this, tr("Save the scenario"), document_.folder() + QLatin1Char('/') + document_.name(), tr("Scenarios (*.json)"));
    if (path.isEmpty()) return false;
    if (!path.endsWith(QLatin1String(".json"))) path += QLatin1String(".json");
  }
  if (QFileInfo(path).absoluteFilePath() == document_.path() && document_.changedOnDisk() && !settleConflict()) return false;
  try {
    const QString old = work().key();
    document_.save(path);
    if (unsaved_->isHidden()) {
      dropUnsaved(old);
      dropUnsaved(document_.path());
    }
    noteRecent(document_.path());
    status_->setText(tr("saved %1").arg(document_.path()));
    return true;
  } catch (...) {
    fail(tr("The scenario was not saved"), failureOf(std::current_exception()));
    return false;
  }
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
