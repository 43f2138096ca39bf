// Work is never lost, and views lead to each other: drafts, offered work, faults of links, measured runs as scenarios.
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>

#include "gui/app/main_window.h"
#include "gui/session/autosave.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/person.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 120000;

}  // namespace

class WorkTests : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> window_;

  void restart() {
    window_.reset();
    window_ = shownWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }
  void open(const QString& path) {
    QVERIFY(window_->openFile(path));
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->simulated() && window_->simulated()->run);
  }
  QString copyOf(const QString& name, const QTemporaryDir& folder) {
    ScenarioDocument d;
    d.load(shipped(name));
    d.save(folder.filePath(name));
    return folder.filePath(name);
  }

 private Q_SLOTS:
  void init() {
    forgetUnsaved();
    restart();
  }
  void cleanup() { window_.reset(); }

  void aDraftIsKeptWhenSomethingElseOpens() {
    window_->openSample();
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    QVERIFY(window_->openFile(shipped("gpt2-124m-1xh200-eager.json")));
    QCOMPARE(allUnsaved().size(), std::size_t{1});
    const Unsaved first = allUnsaved().front();
    QVERIFY(first.path.isEmpty());
    // A second draft does not write over the first.
    window_->openSample();
    window_->document().type("plan.micro_batch", "4", "micro-batch");
    QVERIFY(window_->openFile(shipped("gpt2-124m-1xh200-eager.json")));
    QCOMPARE(allUnsaved().size(), std::size_t{2});
    QCOMPARE(unsavedOf(first.key())->text, first.text);
  }
  void unsavedWorkIsOfferedAndRestored() {
    const QTemporaryDir folder;
    const QString path = copyOf("llama3-8b-8xh100.json", folder);
    QVERIFY(window_->openFile(path));
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    QVERIFY(window_->openFile(shipped("gpt2-124m-1xh200-eager.json")));
    QVERIFY(!window_->offersUnsaved());
    QVERIFY(window_->openFile(path));
    QVERIFY(window_->offersUnsaved());
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("2"));
    for (QPushButton* button : window_->findChildren<QPushButton*>()) {
      if (button->text() == QLatin1String("Restore")) QTest::mouseClick(button, Qt::LeftButton);
    }
    QVERIFY(!window_->offersUnsaved());
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
    QVERIFY(window_->document().dirty());
  }
  void offeredWorkOutlivesOtherWork() {
    const QTemporaryDir folder;
    const QString path = copyOf("llama3-8b-8xh100.json", folder);
    QVERIFY(window_->openFile(path));
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    window_->close();
    restart();
    QVERIFY(window_->openFile(path));
    QVERIFY(window_->offersUnsaved());
    window_->document().type("plan.global_batch", "32", "batch");
    QTRY_COMPARE(allUnsaved().size(), std::size_t{2});  // the offered one as a draft, and the new one
    QVERIFY(!window_->offersUnsaved());
    const auto all = allUnsaved();
    QVERIFY(std::any_of(all.begin(), all.end(), [](const Unsaved& u) { return u.path.isEmpty() && u.text.find("\"micro_batch\": 1") != std::string::npos; }));
  }
  void savedWorkIsNotOffered() {
    const QTemporaryDir folder;
    const QString path = copyOf("llama3-8b-8xh100.json", folder);
    QVERIFY(window_->openFile(path));
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    QVERIFY(keepUnsaved({.text = window_->document().text(), .path = path, .draft = {}, .folder = folder.path(), .name = "x"}));
    QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
    QVERIFY(!window_->document().dirty());
    QVERIFY(allUnsaved().empty());
    restart();
    QVERIFY(window_->openFile(path));
    QVERIFY(!window_->offersUnsaved());
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
  }
  void laterEditsOfAFieldAreStepsOfTheirOwn() {
    window_->openSample();
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    QTest::qWait(1700);
    window_->document().type("plan.micro_batch", "4", "micro-batch");
    QCOMPARE(window_->document().undoStack().count(), 2);
  }
  void aFailedPortIsMarkedAndRunAgain() {
    open(shipped("mixtral-8x7b-16xh100.json"));
    const double before = window_->simulated()->run->result.step_time.value();
    window_->pages()->setCurrentWidget(window_->topology());
    QApplication::processEvents();
    TopologyView* view = window_->topology()->view();
    QTest::mouseClick(view, Qt::LeftButton, Qt::NoModifier, view->rectOf({true, 1, 2}).center().toPoint());
    QVERIFY(view->selected().has_value() && view->selected()->nic);
    QVERIFY(view->textOf(*view->selected()).contains("Port 2 of node 1"));
    QCOMPARE(window_->topology()->kind()->currentData().toString(), QStringLiteral("slow_nic"));
    QCOMPARE(window_->topology()->kind()->currentText(), QStringLiteral("slow network port"));  // words, not the scenario's
    window_->topology()->factor()->setValue(0.1);
    QTest::mouseClick(window_->topology()->markButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->simulated()->run->result.step_time.value() > before);
    QVERIFY(view->textOf({true, 1, 2}).contains("slow"));
    QTest::mouseClick(window_->topology()->clearButton(), Qt::LeftButton);
    QCOMPARE(window_->document().listSize("cluster.faults"), 0);
  }
  void aMeasuredRunOpensAsAScenario() {
    QVERIFY(window_->openFile(shipped("records/h200.json.gz")));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->fidelity()->job().running(), kPatience);
    const auto& rows = window_->fidelity()->rowsTable()->table().rows;
    QVERIFY2(!rows.empty(), qPrintable(window_->failureText()));
    window_->fidelity()->rowsTable()->selectRow(0);
    QVERIFY(window_->fidelity()->whyTable()->table().rows.size() > 5);
    const double predicted = rows[0][5].sort.toDouble();
    Q_EMIT window_->fidelity()->rowsTable()->rowOpened(0);
    QCOMPARE(window_->pages()->currentWidget(), static_cast<QWidget*>(window_->overview()));
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY2(window_->simulated() && window_->simulated()->run, qPrintable(window_->failureText()));
    // The same question has the same answer.
    QVERIFY(std::abs(window_->simulated()->run->result.step_time.value() / predicted - 1.0) < 1e-6);
  }
};

int runWorkTests(int argc, char** argv) {
  WorkTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "work_test.moc"
