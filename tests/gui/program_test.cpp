// The program as a process: killed and started again, pictures that leave no trace, pictures of a high-resolution screen.
#include <QElapsedTimer>
#include <QProcess>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

#include "gui/app/main_window.h"
#include "gui/session/autosave.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/person.h"

using namespace sgsim::gui;

namespace {

QByteArray contentsOf(const QString& folder) {
  QByteArray all;
  for (const QFileInfo& f : QDir(folder).entryInfoList(QDir::Files, QDir::Name)) {
    QFile file(f.absoluteFilePath());
    if (file.open(QIODevice::ReadOnly)) all += f.fileName().toUtf8() + '\n' + file.readAll();
  }
  return all;
}

QProcessEnvironment environment(const QString& state) {
  QProcessEnvironment e = QProcessEnvironment::systemEnvironment();
  e.insert(QStringLiteral("SGSIM_PLANNER_STATE"), state);
  e.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
  e.insert(QStringLiteral("XDG_RUNTIME_DIR"), state);  // Qt says so where there is none
  return e;
}

}  // namespace

int editAndDie(const char* file) {
  MainWindow window;
  window.show();
  if (!window.openFile(QString::fromLocal8Bit(file))) return 1;
  auto* field = qobject_cast<QLineEdit*>(window.editor()->fieldWidget(QStringLiteral("plan.micro_batch")));
  field->setFocus();
  field->selectAll();
  QTest::keyClicks(field, QStringLiteral("4"));
  QTest::qWait(1500);  // autosave comes a second after a change
  (void)std::raise(SIGKILL);
  return 1;
}

class ProgramTests : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void workSurvivesBeingKilled() {
    const QTemporaryDir state, folder;
    const QString path = folder.filePath("mine.json");
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    d.save(path);
    QProcess child;
    child.setProcessEnvironment(environment(state.path()));
    child.start(QCoreApplication::applicationFilePath(), {QStringLiteral("--edit-and-die"), path});
    QVERIFY(child.waitForFinished(60000));
    QCOMPARE(child.exitStatus(), QProcess::CrashExit);
    const QByteArray kept = qgetenv("SGSIM_PLANNER_STATE");
    qputenv("SGSIM_PLANNER_STATE", state.path().toUtf8());
    {
      MainWindow window;
      window.openFirst();
      QCOMPARE(window.document().path(), path);
      QCOMPARE(window.document().value("plan.micro_batch"), std::optional<QString>("4"));
      QVERIFY(window.document().dirty());
      window.document().undoStack().undo();
      QCOMPARE(window.document().value("plan.micro_batch"), std::optional<QString>("2"));  // what is on disk is one step away
    }
    qputenv("SGSIM_PLANNER_STATE", kept);
  }
  void picturesLeaveNoTrace() {
    const QTemporaryDir state, pictures;
    const QByteArray kept = qgetenv("SGSIM_PLANNER_STATE");
    qputenv("SGSIM_PLANNER_STATE", state.path().toUtf8());
    QVERIFY(keepUnsaved({.text = "{\"plan\": {\"tp\": 2}}", .path = shipped("gpt2-124m-1xh200-compiled.json"), .draft = {}, .folder = {}, .name = "x"}));
    noteRecent(shipped("llama3-8b-8xh100.json"));
    qputenv("SGSIM_PLANNER_STATE", kept);
    const QByteArray before = contentsOf(state.path());
    QProcess program;
    QProcessEnvironment e = environment(state.path());
    e.insert(QStringLiteral("QT_SCALE_FACTOR"), QStringLiteral("2"));
    program.setProcessEnvironment(e);
    program.start(QStringLiteral(SGSIM_PLANNER), {shipped("gpt2-124m-1xh200-compiled.json"), QStringLiteral("--screenshot"), pictures.path()});
    QVERIFY(program.waitForFinished(300000));
    QVERIFY2(program.exitCode() == 0, program.readAllStandardError().constData());
    QCOMPARE(contentsOf(state.path()), before);
    for (const char* name : {"overview", "timeline", "memory", "topology", "compare", "sweep", "plan-search", "fidelity", "illegal-plan", "wrong-value", "failure"}) {
      const QImage image(pictures.filePath(QStringLiteral("%1.png").arg(QLatin1String(name))));
      QVERIFY2(image.width() == 3000 && image.height() == 1900, qPrintable(QStringLiteral("%1: %2 x %3").arg(QLatin1String(name)).arg(image.width()).arg(image.height())));
    }
    QVERIFY(QFileInfo(pictures.filePath("report.html")).size() > 20000);
  }
  void aFileThatIsNoneEndsWithItsReason() {
    const QTemporaryDir state, pictures;
    QProcess program;
    program.setProcessEnvironment(environment(state.path()));
    program.start(QStringLiteral(SGSIM_PLANNER), {QStringLiteral("/no/such/file.json"), QStringLiteral("--screenshot"), pictures.path()});
    QVERIFY(program.waitForFinished(60000));
    QCOMPARE(program.exitCode(), 2);
    // A terminal reads it: one line a cause, no markup.
    const QString said = QString::fromUtf8(program.readAllStandardError());
    QVERIFY2(said.startsWith(QLatin1String("file.json was not opened\n")), qPrintable(said));
    QVERIFY2(said.count(QLatin1Char('\n')) >= 2 && said.contains(QLatin1String("/no/such/file.json")), qPrintable(said));
    for (const char* markup : {"<", ">", "&", "\u2192"}) QVERIFY2(!said.contains(QString::fromUtf8(markup)), qPrintable(said));
    QVERIFY(QDir(pictures.path()).isEmpty());
  }
  void whatCannotBeDoneIsRefusedAtOnce_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("says");
    QTest::newRow("folder of the system") << QStringList{"--screenshot", "/proc/no"} << "cannot write into /proc/no";
    QTest::newRow("folder below a file") << QStringList{"--screenshot", shipped("llama3-8b-8xh100.json") + "/x"} << "llama3-8b-8xh100.json/x: Not a directory";
    QTest::newRow("no such theme") << QStringList{"--theme", "purple"} << "--theme: expected light or dark, found purple";
    QTest::newRow("two files") << QStringList{"a.json", "b.json"} << "one FILE is expected, found 2: a.json, b.json";
  }
  void whatCannotBeDoneIsRefusedAtOnce() {
    QFETCH(QStringList, arguments);
    QFETCH(QString, says);
    const QTemporaryDir state;
    QProcess program;
    program.setProcessEnvironment(environment(state.path()));
    program.start(QStringLiteral(SGSIM_PLANNER), arguments);
    QVERIFY(program.waitForFinished(10000));
    QCOMPARE(program.exitCode(), 2);
    const QString said = QString::fromUtf8(program.readAllStandardError());
    QVERIFY2(said.contains(says) && said.count(QLatin1Char('\n')) == 1, qPrintable(said));
  }
  void theDesktopsErrorsReadTheSameWay() {
    const QTemporaryDir state, pictures, folder;
    QFile bad(folder.filePath("b<a&d>.json"));
    QVERIFY(bad.open(QIODevice::WriteOnly));
    bad.write("{ \"plan\": ");
    bad.close();
    QProcess program;
    program.setProcessEnvironment(environment(state.path()));
    program.start(QStringLiteral(SGSIM_PLANNER), {bad.fileName(), QStringLiteral("--screenshot"), pictures.path()});
    QVERIFY(program.waitForFinished(60000));
    QCOMPARE(program.exitCode(), 2);
    const QString said = QString::fromUtf8(program.readAllStandardError());
    QVERIFY2(said.startsWith(QLatin1String("b<a&d>.json was not opened\n")) && said.contains(QLatin1String("expected")) && !said.contains(QLatin1String("<br>")) && !said.contains(QLatin1String("&lt;")), qPrintable(said));
  }
};

int runProgramTests(int argc, char** argv) {
  ProgramTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "program_test.moc"
