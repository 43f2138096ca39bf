// The document, jobs and autosave, without windows.
#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <atomic>
#include <thread>

#include "gui/session/autosave.h"
#include "gui/session/document.h"
#include "gui/session/job.h"
#include "gui/session/simulate_job.h"
#include "sim/core/error.h"
#include "sim/scenario/read.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/person.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

void write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  QVERIFY(file.open(QIODevice::WriteOnly));
  file.write(bytes);
}

}  // namespace

class SessionTests : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void savedInAnotherFolderItIsTheSameScenario() {
    const QTemporaryDir folder;
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    const ScenarioState before = d.state();
    d.save(folder.filePath("elsewhere.json"));
    QVERIFY(d.state().folder != before.folder && d.state().text != before.text);
    QVERIFY(sameBut(before, d.state()));
    d.type("plan.micro_batch", "1", "micro-batch");
    QVERIFY(!sameBut(before, d.state()));
    QVERIFY(sameBut(before, d.state(), {"plan.micro_batch"}));
  }
  void documentKeepsTheFileAsItIs() {
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    QCOMPARE(d.value("plan.micro_batch"), std::optional<QString>("2"));
    QVERIFY(!d.value("plan.tp"));                 // left out stays left out
    QVERIFY(!d.dirty());
    QVERIFY(d.text().find("\"schema_version\"") < d.text().find("\"model\""));  // order of the file
    QVERIFY(std::holds_alternative<scenario::Scenario>(d.check()));
  }
  void typingIsOneStepAndUndoes() {
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    const std::string before = d.text();
    d.type("plan.micro_batch", "1", "micro-batch");
    d.type("plan.micro_batch", "16", "micro-batch");
    QCOMPARE(d.value("plan.micro_batch"), std::optional<QString>("16"));
    QCOMPARE(d.undoStack().count(), 1);
    d.type("cluster.node.nic.bandwidth", "100 Gbit/s", "bandwidth");
    QCOMPARE(d.undoStack().count(), 2);
    QVERIFY(d.dirty());
    d.undoStack().undo();
    QVERIFY(!d.value("cluster.node.nic.bandwidth"));
    d.undoStack().undo();
    QCOMPARE(d.text(), before);
    d.undoStack().redo();
    QCOMPARE(d.value("plan.micro_batch"), std::optional<QString>("16"));
  }
  void emptiedFieldsAndSectionsGo() {
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    const std::string before = d.text();
    d.type("cluster.node.nic.bandwidth", "100 Gbit/s", "b");
    d.type("cluster.node.nic.bandwidth", "", "b");
    QCOMPARE(d.text(), before);
  }
  void wrongValuesStayAndAreNamed() {
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    d.type("cluster.node.nic.bandwidth", "400", "b");
    const auto checked = d.check();
    const auto* problem = std::get_if<InputProblem>(&checked);
    QVERIFY(problem != nullptr);
    QCOMPARE(problem->where, std::string("$.cluster.node.nic.bandwidth"));
    d.type("cluster.node.nic.bandwidth", "400 Gbit/s", "b");
    QVERIFY(std::holds_alternative<scenario::Scenario>(d.check()));
  }
  void faultsAreAList() {
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    d.setAll({{"cluster.faults[0]", R"({"kind":"slow_gpu","node":0,"index":1,"factor":0.5})"}}, "mark");
    QCOMPARE(d.listSize("cluster.faults"), 1);
    const auto checked = d.check();
    QVERIFY(std::holds_alternative<scenario::Scenario>(checked));
    QCOMPARE(std::get<scenario::Scenario>(checked).cluster.faults.size(), std::size_t{1});
    d.setAll({{"cluster.faults[0]", std::nullopt}}, "remove");
    QCOMPARE(d.listSize("cluster.faults"), 0);
  }
  void savedElsewherePathsStillPoint() {
    QTemporaryDir folder;
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    d.type("plan.micro_batch", "1", "m");
    d.save(folder.filePath("mine.json"));
    QVERIFY(!d.dirty());
    const scenario::Scenario again = scenario::read_scenario(folder.filePath("mine.json").toStdString());
    const scenario::Scenario original = scenario::read_scenario(shipped("llama3-8b-8xh100.json").toStdString());
    QCOMPARE(QFileInfo(QString::fromStdString(again.model.path)).canonicalFilePath(), QFileInfo(QString::fromStdString(original.model.path)).canonicalFilePath());
    QCOMPARE(again.plan.micro_batch, std::int64_t{1});
  }
  void badFilesAreRefusedWithReasons() {
    QTemporaryDir folder;
    for (const QByteArray& bytes : {QByteArray("{\"model\": "), QByteArray("[1, 2]"), QByteArray("{\"a\": 1, \"a\": 2}"), QByteArray("\xff\xfe\x00", 3), QByteArray()}) {
      write(folder.filePath("bad.json"), bytes);
      ScenarioDocument d;
      QVERIFY_EXCEPTION_THROWN(d.load(folder.filePath("bad.json")), InputError);
      QVERIFY(d.path().isEmpty());
    }
    ScenarioDocument d;
    QVERIFY_EXCEPTION_THROWN(d.load(folder.filePath("absent.json")), InputError);
  }
  void savingWhereNothingCanBeWrittenFails() {
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    const std::string before = d.text();
    QVERIFY_EXCEPTION_THROWN(d.save("/proc/none/mine.json"), EnvironmentError);
    QCOMPARE(d.text(), before);
    QCOMPARE(d.path(), QFileInfo(shipped("llama3-8b-8xh100.json")).absoluteFilePath());
  }
  void jobGivesItsResult() {
    Job job("work");
    int result = 0;
    QSignalSpy ended(&job, &Job::ended);
    job.start<int>([](JobControl& c) { c.progress(1, 2, "half"); return 42; }, [&](int r) { result = r; });
    QVERIFY(job.running());
    QTRY_COMPARE(ended.count(), 1);
    QCOMPARE(result, 42);
    QVERIFY(!job.running());
  }
  void jobTellsTheWholeChain() {
    Job job("work");
    QStringList chain;
    connect(&job, &Job::failed, this, [&](const Failure& f) { chain = f.chain; });
    job.start<int>(
        [](JobControl&) -> int {
          try {
            throw InputError({.file = "a.json", .where = "$.b", .found = "1", .expected = "2", .hint = "mend it"});
          } catch (...) {
            std::throw_with_nested(std::runtime_error("reading the profile"));
          }
        },
        [](int) {});
    QTRY_COMPARE(chain.size(), 5);
    QCOMPARE(chain[0], QStringLiteral("reading the profile"));
    QVERIFY(chain[1].contains("a.json") && chain[1].contains("$.b"));
    QCOMPARE(chain[4], QStringLiteral("mend it"));
  }
  void cancelledJobsSayNothing() {
    Job job("work");
    std::atomic<bool> saw_it{false};
    bool done = false;
    job.start<int>(
        [&](JobControl& c) {
          while (!c.cancelled()) std::this_thread::yield();
          saw_it = true;
          return 1;
        },
        [&](int) { done = true; });
    job.cancel();
    QVERIFY(!job.running());
    QTRY_VERIFY(saw_it);
    QTest::qWait(50);
    QVERIFY(!done);
  }
  void destroyingAJobDoesNotWait() {
    std::atomic<bool> go{false};
    QElapsedTimer timer;
    timer.start();
    {
      Job job("work");
      job.start<int>([&](JobControl&) { while (!go) std::this_thread::yield(); return 1; }, [](int) { QFAIL("a dead job spoke"); });
    }
    QVERIFY(timer.elapsed() < 1000);
    go = true;
    QTRY_COMPARE(Job::threads(), 0);
  }
  void unsavedWorkComesBack() {
    dropUnsaved("/some/file.json");
    QVERIFY(!unsavedOf("/some/file.json"));
    QVERIFY(keepUnsaved({.text = "{\"a\": 1}", .path = "/some/file.json", .draft = {}, .folder = "/some", .name = "file.json"}));
    const auto work = unsavedOf("/some/file.json");
    QVERIFY(work.has_value());
    QCOMPARE(work->text, std::string("{\"a\": 1}"));
    dropUnsaved("/some/file.json");
    QVERIFY(allUnsaved().empty());
  }
  void draftsAreKeptApart() {
    for (const char* draft : {"one", "two"}) QVERIFY(keepUnsaved({.text = draft, .path = {}, .draft = draft, .folder = "/some", .name = "untitled"}));
    QCOMPARE(allUnsaved().size(), std::size_t{2});
    QCOMPARE(unsavedOf("one")->text, std::string("one"));
    QCOMPARE(unsavedOf("two")->text, std::string("two"));
    for (const char* draft : {"one", "two"}) dropUnsaved(draft);
    QVERIFY(allUnsaved().empty());
  }
  void recentFilesAreNewestFirstAndExist() {
    QTemporaryDir folder;
    for (const char* name : {"a.json", "b.json"}) {
      write(folder.filePath(name), "{}");
      noteRecent(folder.filePath(name));
    }
    QCOMPARE(recentFiles().value(0), folder.filePath("b.json"));
    QFile::remove(folder.filePath("b.json"));
    QCOMPARE(recentFiles().value(0), folder.filePath("a.json"));
  }
  /// Every scenario that ships simulates, and the timeline's summary adds up to the engine's accounting.
  void everyScenarioThatShips_data() {
    QTest::addColumn<QString>("file");
    for (const QFileInfo& info : QDir(shipped("")).entryInfoList({"*.json"}, QDir::Files, QDir::Name)) QTest::newRow(qPrintable(info.fileName())) << info.absoluteFilePath();
  }
  void everyScenarioThatShips() {
    QFETCH(QString, file);
    static scenario::InputCache cache;
    JobControl control;
    ScenarioDocument d;
    d.load(file);
    const auto s = simulateScenario(d.text(), d.name().toStdString(), d.folder().toStdString(), cache, control);
    QVERIFY(s->run);
    QVERIFY(s->timeline->tasks > 0);
    QVERIFY(!s->report.empty());
    if (s->everything_recorded) QVERIFY(!s->path.empty());
    const double step = s->run->result.step_time.value();
    for (const Lane& lane : s->timeline->lanes) {
      const auto& accounting = s->run->simulation.timeline.ranks.at(lane.rank);
      double compute = 0.0, exposed = 0.0;
      for (const Slice& slice : lane.rows.front().slices) {
        if (slice.category == Category::computing) compute += slice.end - slice.start;
        if (slice.category == Category::exposed) exposed += slice.end - slice.start;
      }
      QVERIFY2(std::abs(compute - accounting.compute.value()) < 1e-3 * step + 1e-9, qPrintable(QStringLiteral("compute %1, accounted %2").arg(compute).arg(accounting.compute.value())));
      QVERIFY2(std::abs(exposed - accounting.exposed_comm.value()) < 1e-3 * step + 1e-9, qPrintable(QStringLiteral("exposed %1, accounted %2").arg(exposed).arg(accounting.exposed_comm.value())));
    }
  }
};

int runSessionTests(int argc, char** argv) {
  SessionTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "session_test.moc"
