// Work is never lost, and views lead to each other: drafts, offered work, faults of links, measured runs as scenarios.
#include <QAction>
#include <QLineEdit>
#include <QMessageBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QTest>
#include <QTimer>
#include <nlohmann/json.hpp>

#include "gui/app/main_window.h"
#include "gui/session/autosave.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/with_window.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 120000;

}  // namespace

class WorkTests : public WithWindow {
  Q_OBJECT
 private:
  void restart() {
    window_.reset();
    window_ = shownWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }
  QString copyOf(const QString& name, const QTemporaryDir& folder) {
    ScenarioDocument d;
    d.load(shipped(name));
    d.save(folder.filePath(name));
    return folder.filePath(name);
  }

 private Q_SLOTS:
  void savingOverAnotherEditAsks() {
    const QTemporaryDir folder;
    const QString path = copyOf("gpt2-124m-1xh200-compiled.json", folder);
    QVERIFY(window_->openFile(path));
    const auto onDisk = [&path] {
      ScenarioDocument d;
      d.load(path);
      return d.value("plan.global_batch").value_or(QString());
    };
    const auto elsewhere = [&path](const QString& batch) {
      ScenarioDocument d;
      d.load(path);
      d.type("plan.global_batch", batch, "batch");
      d.save(path);
    };
    QString asked;
    const auto saveAndAnswer = [this, &asked](const QString& button) {
      asked.clear();
      QTimer::singleShot(0, this, [&asked, button] {
        auto* box = qobject_cast<QMessageBox*>(QApplication::activeModalWidget());
        if (box == nullptr) return;
        asked = box->text();
        for (QAbstractButton* b : box->buttons()) {
          if (b->text().remove(QLatin1Char('&')) == button) return b->click();
        }
        box->reject();
      });
      for (QAction* action : window_->findChildren<QAction*>()) {
        if (action->text() == QLatin1String("&Save")) action->trigger();
      }
      QApplication::processEvents();
    };
    window_->document().type("plan.global_batch", "16", "batch");
    saveAndAnswer("Overwrite");
    QVERIFY2(asked.isEmpty(), "nobody else wrote: nothing is asked");
    QCOMPARE(onDisk(), QStringLiteral("16"));
    elsewhere("32");
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    window_->document().type("plan.global_batch", "64", "batch");
    saveAndAnswer("Cancel");
    QVERIFY2(asked.contains(path), qPrintable(asked));
    QCOMPARE(onDisk(), QStringLiteral("32"));
    QVERIFY(window_->document().dirty());
    saveAndAnswer("Reload");
    QCOMPARE(onDisk(), QStringLiteral("32"));
    QVERIFY2(!asked.isEmpty() && window_->statusText().startsWith("reloaded"), qPrintable(asked + window_->statusText() + window_->failurePlainText()));
    QCOMPARE(window_->document().value("plan.global_batch"), std::optional<QString>("32"));
    QVERIFY(!window_->document().dirty());
    window_->document().undoStack().undo();  // the own edit is not lost either
    QCOMPARE(window_->document().value("plan.global_batch"), std::optional<QString>("64"));
    QVERIFY(window_->document().dirty());
    elsewhere("128");
    saveAndAnswer("Overwrite");
    QVERIFY(!asked.isEmpty());
    QCOMPARE(onDisk(), QStringLiteral("64"));
    QVERIFY(!window_->document().dirty());
  }
  void plansOfAnotherScenarioAreMarkedAndRefused() {
    open(shipped("llama3-8b-8xh100.json"));
    SearchPanel* search = window_->search();
    FoundPlans plans;
    for (const char* tp : {"1", "2"}) plans.plans.push_back({.plan = std::string("tp ") + tp, .settings = {{"cluster.nodes", "1"}, {"plan.tp", tp}}, .gpus = 8, .step_time = 2.0, .memory = 4e10, .headroom = 4e10, .simulated = true});
    search->showPlans(plans);
    const auto title = [search] { return search->plansTable()->table().title; };
    const auto steps = [this] { return window_->document().undoStack().count(); };
    QCOMPARE(title(), QStringLiteral("Plans on 8 GPUs of llama3-8b-8xh100.json"));
    // A plan that is opened is one of this search: it still holds, and the next one opens too.
    Q_EMIT search->plansTable()->rowOpened(0);
    Q_EMIT search->plansTable()->rowOpened(1);
    QCOMPARE(window_->document().value("plan.tp"), std::optional<QString>("2"));
    QVERIFY2(!title().contains("CHANGED"), qPrintable(title()));
    for (const auto& [path, value] : {std::pair("plan.global_batch", "64"), std::pair("model.config", "models/gpt2-124m.json"), std::pair("cluster.nodes", "2")}) {
      window_->document().type(path, value, "change");
      QVERIFY2(title().endsWith("searched BEFORE THE SCENARIO CHANGED"), qPrintable(QLatin1String(path) + title()));
      const int before = steps();
      Q_EMIT search->plansTable()->rowOpened(0);
      QCOMPARE(steps(), before);
      QVERIFY2(window_->failurePlainText().contains("figures do not hold"), qPrintable(window_->failurePlainText()));
      window_->document().undoStack().undo();
      QVERIFY2(!title().contains("CHANGED"), qPrintable(title()));
    }
    open(shipped("gpt2-124m-1xh200-compiled.json"));
    QVERIFY2(title().contains("llama3-8b-8xh100.json, NOT OF THE SCENARIO THAT IS OPEN"), qPrintable(title()));
    const std::string text = window_->document().text();
    Q_EMIT search->plansTable()->rowOpened(0);
    QVERIFY(window_->document().text() == text);
    QVERIFY2(window_->failurePlainText().contains("gpt2-124m-1xh200-compiled.json is open"), qPrintable(window_->failurePlainText()));
    // Nor does the report take them.
    const QTemporaryDir folder;
    window_->exportTo(folder.filePath("report.html"));
    QFile file(folder.filePath("report.html"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray html = file.readAll();
    QVERIFY(!html.contains("Plans on 8 GPUs") && html.contains("Left out: plans searched for llama3-8b-8xh100.json"));
    QVERIFY(html.contains("<title>gpt2-124m-1xh200-compiled.json</title>"));
  }
  void pointsOfAnotherScenarioAreMarkedAndRefused() {
    open(shipped("gpt2-124m-1xh200-compiled.json"));
    SweepPanel* sweep = window_->sweep();
    sweep->path(0)->setCurrentText("plan.global_batch");
    sweep->values(0)->setText("8, 16");
    sweep->run();
    QTRY_VERIFY_WITH_TIMEOUT(!sweep->job().running(), kPatience);
    const auto title = [sweep] { return sweep->tables().front()->table().title; };
    QVERIFY2(title().endsWith(" of gpt2-124m-1xh200-compiled.json"), qPrintable(title()));
    Q_EMIT sweep->tables().front()->rowOpened(1);
    QCOMPARE(window_->document().value("plan.global_batch"), std::optional<QString>("16"));
    QVERIFY2(title().endsWith(" of gpt2-124m-1xh200-compiled.json"), qPrintable(title()));
    QVERIFY(window_->openFile(shipped("llama3-8b-8xh100.json")));
    QVERIFY2(title().contains("NOT OF THE SCENARIO") && sweep->charts().front()->chart().title.contains("NOT OF THE SCENARIO"), qPrintable(title()));
    Q_EMIT sweep->tables().front()->rowOpened(0);
    QVERIFY(!window_->document().dirty());
    QVERIFY(!window_->failureText().isEmpty());
  }
  void reportsNameWhatWasSimulated() {
    open(shipped("gpt2-124m-1xh200-compiled.json"));
    const QTemporaryDir folder;
    const QString out = folder.filePath("report.html");
    window_->document().type("plan.tp", "no number", "tp");
    window_->exportTo(out);
    QFile file(out);
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.readAll().contains("has been changed since this was simulated"));
    window_->document().undoStack().undo();
    // Another scenario with a wrong value cannot be simulated: no report carries its name over the figures of the first.
    ScenarioDocument d;
    d.load(shipped("llama3-8b-8xh100.json"));
    d.type("plan.tp", "no number", "tp");
    d.save(folder.filePath("wrong.json"));
    QVERIFY(window_->openFile(folder.filePath("wrong.json")));
    window_->simulate();
    QVERIFY(QFile::remove(out));
    QVERIFY_EXCEPTION_THROWN(window_->exportTo(out), EnvironmentError);
    QVERIFY_EXCEPTION_THROWN(window_->exportTo(folder.filePath("trace.json")), EnvironmentError);
    QVERIFY(!QFileInfo::exists(out));
  }
  void wrongNumbersOfNodesAreRefused() {
    open(shipped("gpt2-124m-1xh200-compiled.json"));
    for (const char* wrong : {"1, 0", "99999999999"}) {
      retype(window_->search()->nodes(), wrong);
      window_->search()->run();
      QVERIFY(!window_->search()->job().running());
      QVERIFY2(window_->failurePlainText().contains(QString::fromLatin1(wrong).section(QLatin1Char(' '), -1)), qPrintable(window_->failurePlainText()));
    }
  }
  void f5ReadsTheFilesAgain() {
    const QTemporaryDir folder;
    QVERIFY(QFile::copy(shipped("models/gpt2-124m.json"), folder.filePath("model.json")));
    const QString path = copyOf("gpt2-124m-1xh200-compiled.json", folder);
    {
      ScenarioDocument d;
      d.load(path);
      d.set("model.config", std::string("\"model.json\""), "model");
      d.save(path);
    }
    open(path);
    const double before = window_->simulated()->run->result.step_time.value();
    QFile model(folder.filePath("model.json"));
    model.setPermissions(QFile::ReadOwner | QFile::WriteOwner);
    QVERIFY(model.open(QIODevice::ReadOnly));
    nlohmann::ordered_json config = nlohmann::ordered_json::parse(model.readAll().toStdString());
    model.close();
    const char* key = config.contains("num_hidden_layers") ? "num_hidden_layers" : "n_layer";
    config[key] = config[key].get<int>() * 2;
    QVERIFY(model.open(QIODevice::WriteOnly | QIODevice::Truncate));
    model.write(QByteArray::fromStdString(config.dump(2)));
    model.close();
    QTest::keyClick(window_.get(), Qt::Key_F5);
    QVERIFY(window_->busy());
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    const double after = window_->simulated()->run->result.step_time.value();
    QVERIFY2(after > before * 1.4, qPrintable(QStringLiteral("%1 s before, %2 s after").arg(before).arg(after)));
  }
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
