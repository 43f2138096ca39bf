#include "tests/gui/person.h"

#include <QApplication>
#include <QDir>
#include <QMouseEvent>
#include <QWheelEvent>
#include <QTest>

#include "gui/session/autosave.h"

QString shipped(const QString& name) { return QStringLiteral(SGSIM_SOURCE_DIR) + QStringLiteral("/scenarios/") + name; }

void retype(QLineEdit* edit, const QString& text) {
  edit->setFocus();
  edit->selectAll();
  QTest::keyClick(edit, Qt::Key_Delete);
  QTest::keyClicks(edit, text);
}

void dragMouse(QWidget* widget, const QPoint& from, const QPoint& to, Qt::KeyboardModifiers keys, bool let_go) {
  QTest::mousePress(widget, Qt::LeftButton, keys, from);
  constexpr int kSteps = 5;
  for (int i = 1; i <= kSteps; ++i) {
    const QPointF at = from + (QPointF(to) - from) * i / kSteps;
    QMouseEvent move(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::LeftButton, keys);
    QApplication::sendEvent(widget, &move);
  }
  if (let_go) QTest::mouseRelease(widget, Qt::LeftButton, keys, to);
}

void turnWheel(QWidget* widget, const QPointF& at, int notches, Qt::KeyboardModifiers keys) {
  QWheelEvent event(at, widget->mapToGlobal(at), QPoint(), QPoint(0, notches * 120), Qt::NoButton, keys, Qt::NoScrollPhase, false);
  QApplication::sendEvent(widget, &event);
}

int columnOf(const sgsim::gui::Table& table, const QString& title) { return static_cast<int>(table.columns.indexOf(title)); }

void forgetUnsaved() {
  for (const QFileInfo& f : QDir(sgsim::gui::stateFolder()).entryInfoList({"unsaved-*"})) QFile::remove(f.absoluteFilePath());
}

std::unique_ptr<sgsim::gui::MainWindow> shownWindow() {
  auto window = std::make_unique<sgsim::gui::MainWindow>();
  window->resize(1500, 950);
  window->show();
  return window;
}
