// Runs the test objects of this folder one after the other, offscreen, with a state folder of its own.
#include <QApplication>
#include <QTemporaryDir>

#include "gui/models/theme.h"
#include "gui/views/planner_style.h"
#include "tests/gui/gui_tests.h"

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  if (argc == 3 && QByteArray(argv[1]) == "--edit-and-die") {
    QApplication child(argc, argv);
    return editAndDie(argv[2]);
  }
  const QTemporaryDir state;
  qputenv("SGSIM_PLANNER_STATE", state.path().toUtf8());
  QApplication app(argc, argv);
  QApplication::setStyle(new sgsim::gui::PlannerStyle);
  QApplication::setPalette(sgsim::gui::paletteOf(sgsim::gui::lightTheme()));
  int failed = 0;
  failed += runModelTests(argc, argv);
  failed += runSessionTests(argc, argv);
  failed += runWindowTests(argc, argv);
  failed += runWorkTests(argc, argv);
  failed += runViewTests(argc, argv);
  failed += runGestureTests(argc, argv);
  failed += runHonestyTests(argc, argv);
  failed += runSmokeTests(argc, argv);
  failed += runProgramTests(argc, argv);
  return failed == 0 ? 0 : 1;
}
