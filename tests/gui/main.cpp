// Runs the test objects of this folder one after the other, offscreen, with a state folder of its own.
#include <QApplication>
#include <QStyleFactory>
#include <QTemporaryDir>

#include "gui/models/theme.h"
#include "tests/gui/gui_tests.h"

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  const QTemporaryDir state;
  qputenv("SGSIM_PLANNER_STATE", state.path().toUtf8());
  QApplication app(argc, argv);
  QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  QApplication::setPalette(sgsim::gui::paletteOf(sgsim::gui::lightTheme()));
  int failed = 0;
  failed += runModelTests(argc, argv);
  failed += runSessionTests(argc, argv);
  failed += runWindowTests(argc, argv);
  failed += runWorkTests(argc, argv);
  return failed == 0 ? 0 : 1;
}
