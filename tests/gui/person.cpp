#include "tests/gui/person.h"

#include <QDir>
#include <QTest>

#include "gui/session/autosave.h"

QString shipped(const QString& name) { return QStringLiteral(SGSIM_SOURCE_DIR) + QStringLiteral("/scenarios/") + name; }

void retype(QLineEdit* edit, const QString& text) {
  edit->setFocus();
  edit->selectAll();
  QTest::keyClick(edit, Qt::Key_Delete);
  QTest::keyClicks(edit, text);
}

void forgetUnsaved() {
  for (const QFileInfo& f : QDir(sgsim::gui::stateFolder()).entryInfoList({"unsaved-*"})) QFile::remove(f.absoluteFilePath());
}

std::unique_ptr<sgsim::gui::MainWindow> shownWindow() {
  auto window = std::make_unique<sgsim::gui::MainWindow>();
  window->resize(1500, 950);
  window->show();
  return window;
}
