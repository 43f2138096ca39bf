// The window as a person uses it: clicks, types, drags, undoes, cancels, opens bad files.
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QElapsedTimer>
#include <QLineEdit>
#include <QMimeData>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QXmlStreamReader>
#include <nlohmann/json.hpp>

#include "gui/app/main_window.h"
#include "gui/session/autosave.h"
#include "sim/scenario/json_reader.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/with_window.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 120000;

}  // namespace

class WindowTests : public WithWindow {
  Q_OBJECT
 private Q_SLOTS:
  void firstStartShowsASample() {
    window_->openFirst();
    QTRY_VERIFY_WITH_TIMEOUT(window_->simulated() != nullptr, kPatience);
    QVERIFY(window_->overview()->headline().contains("MFU"));
    QVERIFY(window_->document().path().isEmpty());
  }
  void aWrongValueIsMarkedInPlaceAndUndone() {
    open("llama3-8b-8xh100.json");
    const QString path = QStringLiteral("cluster.node.nic.bandwidth");
    retype(field(path), "400 Gb");
    QVERIFY2(window_->editor()->fieldError(path).contains("expected"), qPrintable(window_->editor()->fieldError(path)));
    retype(field(path), "400 Gbit/s");
    QVERIFY(window_->editor()->fieldError(path).isEmpty());
    window_->document().undoStack().undo();
    QVERIFY(!window_->document().value(path));
  }
  void aRuleOfLegalityIsMarkedInPlace() {
    open("llama3-8b-8xh100.json");
    retype(field("plan.tp"), "3");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(!window_->simulated()->run);
    QVERIFY(window_->overview()->headline().contains("cannot run"));
    QVERIFY2(!window_->editor()->fieldError("plan.tp").isEmpty() || !window_->editor()->banner().isEmpty(), "no rule is shown");
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    window_->document().undoStack().setIndex(0);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy() && window_->simulated()->run, kPatience);
    QVERIFY(window_->editor()->fieldError("plan.tp").isEmpty());
  }
  void upAndDownDoubleAndHalve() {
    open("llama3-8b-8xh100.json");
    field("plan.micro_batch")->setFocus();
    QTest::keyClick(field("plan.micro_batch"), Qt::Key_Down);
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
    QTest::keyClick(field("plan.micro_batch"), Qt::Key_Up);
    QCOMPARE(field("plan.micro_batch")->text(), QStringLiteral("2"));
  }
  void choicesAreFieldsToo() {
    open("llama3-8b-8xh100.json");
    auto* box = qobject_cast<QComboBox*>(window_->editor()->fieldWidget("plan.recompute"));
    QVERIFY(box != nullptr);
    box->setFocus();
    QTest::keyClicks(box, "sel");
    QCOMPARE(window_->document().value("plan.recompute"), std::optional<QString>("selective"));
    window_->document().undoStack().undo();
    QCOMPARE(box->currentText(), QStringLiteral("full"));
  }
  void textOfTheScenarioCanBeEdited() {
    open("llama3-8b-8xh100.json");
    QPlainTextEdit* text = window_->editor()->textEditor();
    const QString good = text->toPlainText();
    text->setPlainText("{ no json");
    QTest::keyClick(text, Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(QString::fromStdString(window_->document().text()), good);
    text->setPlainText(QString(good).replace("\"micro_batch\": 2", "\"micro_batch\": 1"));
    QTest::keyClick(text, Qt::Key_Return, Qt::ControlModifier);
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
  }
  void timelineZoomsPansSelects() {
    open("llama3-8b-8xh100.json");
    window_->pages()->setCurrentWidget(window_->timeline());
    QApplication::processEvents();
    TimelineView* view = window_->timeline()->view();
    const double before = view->geometryOfTime().span();
    const QPointF middle(view->viewport()->width() * 0.6, view->viewport()->height() * 0.5);
    turnWheel(view->viewport(), middle, 3);
    QVERIFY(view->geometryOfTime().span() < before * 0.6);
    const double from = view->geometryOfTime().from;
    QTest::mousePress(view->viewport(), Qt::LeftButton, Qt::NoModifier, middle.toPoint());
    QTest::mouseMove(view->viewport(), middle.toPoint() + QPoint(-100, 0));
    QTest::mouseRelease(view->viewport(), Qt::LeftButton, Qt::NoModifier, middle.toPoint() + QPoint(-100, 0));
    QVERIFY(view->geometryOfTime().from > from);
    QTest::keyClick(view, Qt::Key_Home);
    QVERIFY(std::abs(view->geometryOfTime().span() - before) < before * 0.03);
    const auto tasks = find_slices(*view->data(), "backward", 10);
    QVERIFY(!tasks.empty());
    view->select(tasks.back(), true);
    const QPointF place = view->placeOf(tasks.back());
    view->select(std::nullopt, false);
    QTest::mouseClick(view->viewport(), Qt::LeftButton, Qt::NoModifier, place.toPoint());
    QVERIFY(view->selected().has_value());
    QCOMPARE(view->selected()->row, tasks.back().row);
    QVERIFY(window_->timeline()->tables().front()->table().rows.size() > 5);
    const auto selected = view->selected();
    QTest::keyClick(view, Qt::Key_N);
    QCOMPARE(view->selected()->slice, selected->slice + 1);
    QTest::keyClick(view, Qt::Key_Escape);
    QVERIFY(!view->selected());
    // Shift and drag zooms into the stretch.
    QTest::keyClick(view, Qt::Key_Home);
    QTest::mousePress(view->viewport(), Qt::LeftButton, Qt::ShiftModifier, QPoint(600, 200));
    QTest::mouseMove(view->viewport(), QPoint(650, 210));
    QTest::mouseRelease(view->viewport(), Qt::LeftButton, Qt::ShiftModifier, QPoint(650, 210));
    QVERIFY(view->geometryOfTime().span() < before * 0.2);
  }
  void timelineFindsTasksLayersAndThePath() {
    open("llama3-8b-8xh100.json");
    window_->pages()->setCurrentWidget(window_->timeline());
    TimelinePanel* panel = window_->timeline();
    QTest::keyClicks(panel->search(), "all_gather");
    QVERIFY2(panel->found().contains("task"), qPrintable(panel->found()));
    QTest::keyClick(panel->search(), Qt::Key_Return);
    QVERIFY(panel->view()->selected().has_value());
    panel->search()->setText("no such task");
    QVERIFY(panel->found().startsWith("0"));
    QVERIFY(panel->layers()->count() > 3);
    panel->view()->select(std::nullopt, false);
    panel->layers()->setCurrentIndex(2);
    Q_EMIT panel->layers()->activated(2);
    QVERIFY(panel->view()->selected().has_value());
    QVERIFY(panel->pathBox()->isEnabled());
    panel->pathBox()->setChecked(true);
    QApplication::processEvents();
  }
  void memoryShowsTheFullestRankAndTimes() {
    open("llama3-8b-8xh100.json");
    window_->pages()->setCurrentWidget(window_->memory());
    QApplication::processEvents();
    ChartView* chart = window_->memory()->charts().front();
    QVERIFY(chart->chart().series.size() >= 3);
    QVERIFY(chart->chart().mark.has_value());
    QVERIFY(!chart->hits().empty());
    QTest::mouseClick(chart, Qt::LeftButton, Qt::NoModifier, chart->hits()[chart->hits().size() / 3].rect.center().toPoint());
    QVERIFY(chart->chart().selected.has_value());
    QVERIFY(!window_->memory()->kindsTable()->table().rows.empty());
    const auto at = chart->chart().selected;
    QTest::keyClick(chart, Qt::Key_Right);
    QVERIFY(chart->chart().selected != at);
  }
  void aSlowGpuIsMarkedAndRunAgain() {
    open("llama3-8b-8xh100.json");
    const double before = window_->simulated()->run->result.step_time.value();
    window_->pages()->setCurrentWidget(window_->topology());
    QApplication::processEvents();
    TopologyView* view = window_->topology()->view();
    QTest::mouseClick(view, Qt::LeftButton, Qt::NoModifier, view->rectOf({false, 0, 3}).center().toPoint());
    QCOMPARE(view->selected()->index, 3);
    QVERIFY(view->textOf(*view->selected()).contains("computes"));
    window_->topology()->factor()->setValue(0.5);
    QTest::mouseClick(window_->topology()->markButton(), Qt::LeftButton);
    QCOMPARE(window_->document().listSize("cluster.faults"), 1);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->simulated()->run->result.step_time.value() > before * 1.3);
    QTest::keyClick(view, Qt::Key_Right);
    QCOMPARE(view->selected()->index, 4);
    window_->document().undoStack().undo();
    QCOMPARE(window_->document().listSize("cluster.faults"), 0);
  }
  void variantsCompare() {
    open("gpt2-124m-1xh200-eager.json");
    window_->compare()->addCurrent("eager");
    window_->document().set("training.execution", std::string("\"compiled\""), "execution");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QCOMPARE(window_->compare()->variantTable()->table().rows.size(), std::size_t{2});
    QVERIFY(!window_->compare()->tables()[1]->table().rows.empty());
    QCOMPARE(window_->compare()->charts().front()->chart().categories.size(), qsizetype{2});
    window_->compare()->variantTable()->selectRow(0);
    window_->compare()->removeCurrent();
    QCOMPARE(window_->compare()->variants(), std::size_t{0});
  }
  void changesAreTriedAndMade() {
    open("gpt2-124m-1xh200-eager.json");
    window_->pages()->setCurrentWidget(window_->compare());
    window_->compare()->explain();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->compare()->job().running(), kPatience);
    QVERIFY(window_->compare()->changesTable()->table().rows.size() > 2);
    const int steps = window_->document().undoStack().count();
    Q_EMIT window_->compare()->changesTable()->rowOpened(0);
    QCOMPARE(window_->document().undoStack().count(), steps + 1);
  }
  void sweepsRunAndCancel() {
    open("gpt2-124m-1xh200-compiled.json");
    window_->pages()->setCurrentWidget(window_->sweep());
    SweepPanel* sweep = window_->sweep();
    sweep->path(0)->setCurrentText("plan.global_batch");
    retype(sweep->values(0), "1, 2, 3");
    sweep->path(1)->setCurrentText("training.execution");
    retype(sweep->values(1), "eager, compiled, nonsense");
    QTest::mouseClick(sweep->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!sweep->job().running(), kPatience);
    QCOMPARE(sweep->tables().front()->table().rows.size(), std::size_t{9});
    // Two lines with figures; the third execution mode does not exist and says so.
    QCOMPARE(sweep->charts().front()->chart().series.size(), std::size_t{3});
    QCOMPARE(sweep->charts().front()->chart().series[0].points.size(), std::size_t{3});
    QVERIFY(sweep->charts().front()->chart().series[2].points.empty());
    QVERIFY(sweep->tables().front()->table().rows[8].back().text.contains("nonsense"));
    QTest::mouseClick(sweep->bar()->startButton(), Qt::LeftButton);
    QVERIFY(sweep->job().running());
    QTest::mouseClick(sweep->bar()->cancelButton(), Qt::LeftButton);
    QTest::mouseClick(sweep->bar()->cancelButton(), Qt::LeftButton);  // once: keep what there is; twice: let go
    QVERIFY(!sweep->job().running());
    QCOMPARE(sweep->bar()->said(), QStringLiteral("cancelled"));
  }
  void sweepFilesOpen() {
    QVERIFY(window_->openFile(shipped("sweeps/gpt2-micro-batch-and-mode.json")));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->sweep()->job().running(), kPatience);
    QCOMPARE(window_->sweep()->tables().front()->table().rows.size(), std::size_t{18});
  }
  void plansAreShownSortedFilteredAndOpened() {
    open("llama3-8b-8xh100.json");
    window_->pages()->setCurrentWidget(window_->search());
    FoundPlans plans;
    plans.plans = {{.plan = "tp 1, dp 8", .settings = {{"plan.tp", "1"}, {"plan.dp", "8"}}, .gpus = 8, .step_time = 2.0, .memory = 4e10, .headroom = 4e10, .simulated = true},
                   {.plan = "tp 2, dp 4", .settings = {{"plan.tp", "2"}, {"plan.dp", "4"}}, .gpus = 8, .step_time = 1.0, .memory = 6e10, .headroom = 2e10, .simulated = true}};
    plans.fell_out = {{"tp_divides_heads", "tensor parallel 16 does not divide 40 heads", 12}};
    window_->search()->showPlans(plans);
    TableView* table = window_->search()->plansTable();
    table->view()->sortByColumn(columnOf(table->table(), "step time"), Qt::AscendingOrder);
    QCOMPARE(table->sorted()->index(0, 0).data().toString(), QStringLiteral("tp 2, dp 4"));
    QTest::keyClicks(table->filter(), "tp 1");
    QCOMPARE(table->sorted()->rowCount(), 1);
    table->filter()->clear();
    ChartView* scatter = window_->search()->charts().front();
    QCOMPARE(scatter->hits().size(), std::size_t{2});
    QTest::mouseClick(scatter, Qt::LeftButton, Qt::NoModifier, scatter->hits()[1].rect.center().toPoint());
    QCOMPARE(table->currentRow(), 1);
    QTest::keyClick(scatter, Qt::Key_Return);
    QCOMPARE(window_->document().value("plan.tp"), std::optional<QString>("2"));
  }
  void searchRunsAndCancels() {
    open("gpt2-124m-1xh200-compiled.json");
    window_->search()->run();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->search()->job().running(), kPatience);
    QVERIFY(!window_->search()->plansTable()->table().rows.empty());
    const auto rows = window_->search()->plansTable()->table().rows.size();
    window_->search()->run();
    QTest::mouseClick(window_->search()->bar()->cancelButton(), Qt::LeftButton);
    QTest::mouseClick(window_->search()->bar()->cancelButton(), Qt::LeftButton);
    QVERIFY(!window_->search()->job().running());
    QCOMPARE(window_->search()->plansTable()->table().rows.size(), rows);
  }
  void measuredRunsAreCompared() {
    // A run of the shipped records, and one whose model nobody knows.
    auto runs = nlohmann::json::parse(scenario::read_document_text(shipped("records/torchtitan.json.gz").toStdString()));
    nlohmann::json known;
    for (const auto& run : runs) {
      if (run["id"] == "titan_a100_8B_selective_layer_mb1") known = run;
    }
    QVERIFY(known.is_object());
    nlohmann::json unknown = known;
    unknown["id"] = "unknown";
    unknown["model"] = {{"name", "nobody's"}};
    QTemporaryDir folder;
    QFile file(folder.filePath("runs.json"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray::fromStdString(nlohmann::json({known, unknown}).dump()));
    file.close();
    QVERIFY(window_->openFile(file.fileName()));
    QCOMPARE(window_->pages()->currentWidget(), static_cast<QWidget*>(window_->fidelity()));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->fidelity()->job().running(), kPatience);
    QVERIFY2(window_->failureText().isEmpty(), qPrintable(window_->failurePlainText()));
    const Table& table = window_->fidelity()->rowsTable()->table();
    QCOMPARE(table.rows.size(), std::size_t{2});
    for (const auto& row : table.rows) {
      const auto cell = [&](const char* column) { return row[static_cast<std::size_t>(columnOf(table, column))].text; };
      const bool is_known = cell("run") != QLatin1String("unknown");
      QVERIFY2((cell("predicted") == QLatin1String("-")) != is_known && (cell("error") == QLatin1String("-")) != is_known, qPrintable(cell("run") + cell("predicted") + cell("error")));
      QCOMPARE(cell("skipped because").isEmpty(), is_known);
    }
    window_->fidelity()->rowsTable()->selectRow(0);
    QVERIFY(!window_->fidelity()->whyTable()->table().rows.empty());
  }
  void badFilesShowTheErrorAndTheWindowLivesOn() {
    open("llama3-8b-8xh100.json");
    QTemporaryDir folder;
    for (const QByteArray& bytes : {QByteArray("{ \"model\": "), QByteArray("\0\1\2", 3), QByteArray("[]"), QByteArray("{\"traceEvents\": 7}")}) {
      QFile file(folder.filePath("bad.json"));
      QVERIFY(file.open(QIODevice::WriteOnly));
      file.write(bytes);
      file.close();
      window_->openFile(file.fileName());
      QTRY_VERIFY2(window_->failureText().contains("\u2192"), bytes.constData());
    }
    QVERIFY(!window_->openFile(folder.filePath("absent.json")));
    QVERIFY(window_->document().path().endsWith("llama3-8b-8xh100.json"));
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->failureText().isEmpty());
  }
  void aFailingSimulationSaysWhy() {
    open("llama3-8b-8xh100.json");
    window_->document().set("profile", std::string("\"no/such/profile.json\""), "profile");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY2(window_->failureText().contains("no/such/profile.json"), qPrintable(window_->failureText()));
    window_->document().undoStack().undo();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->failureText().isEmpty());
  }
  void filesCanBeDropped() {
    open("llama3-8b-8xh100.json");
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(shipped("models/gpt2-124m.json"))});
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &enter);
    QVERIFY(enter.isAccepted());
    QDropEvent drop(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &drop);
    QCOMPARE(window_->document().value("model.config"), std::optional<QString>("models/gpt2-124m.json"));
    window_->document().undoStack().undo();
    QCOMPARE(window_->document().value("model.config"), std::optional<QString>("models/llama3-8b.json"));
  }
  void everythingIsExported() {
    open("llama3-8b-8xh100.json");
    QTemporaryDir folder;
    window_->exportTo(folder.filePath("report.html"));
    QFile report(folder.filePath("report.html"));
    QVERIFY(report.open(QIODevice::ReadOnly));
    const QByteArray html = report.readAll();
    QVERIFY(html.contains("<svg") && html.contains("MFU") && html.contains("schema_version"));
    QVERIFY(!html.contains("src=\"http") && !html.contains("href=\"http"));
    QVERIFY(html.contains("@media print") && !html.contains("Return opens") && !html.contains("double click"));
    for (QWidget* page : std::initializer_list<QWidget*>{window_->overview(), window_->timeline(), window_->memory(), window_->topology()}) {
      window_->pages()->setCurrentWidget(page);
      QApplication::processEvents();
      window_->exportTo(folder.filePath("page.svg"));
      QFile svg(folder.filePath("page.svg"));
      QVERIFY(svg.open(QIODevice::ReadOnly));
      QXmlStreamReader xml(&svg);
      int elements = 0;
      while (!xml.atEnd()) elements += xml.readNext() == QXmlStreamReader::StartElement ? 1 : 0;
      QVERIFY2(!xml.hasError() && elements > 5, qPrintable(xml.errorString()));
      window_->exportTo(folder.filePath("page.png"));
      QVERIFY(QImage(folder.filePath("page.png")).width() >= 1000);
      window_->exportTo(folder.filePath("page.csv"));
      QVERIFY(QFileInfo(folder.filePath("page.csv")).size() > 50 || page == window_->topology());
    }
    window_->exportTo(folder.filePath("trace.json.gz"));
    QVERIFY(QFileInfo(folder.filePath("trace.json.gz")).size() > 1000);
    QVERIFY_EXCEPTION_THROWN(window_->exportTo("/proc/none/page.png"), EnvironmentError);
    window_->pages()->setCurrentWidget(window_->overview());
    window_->copyTable();
    QVERIFY(QApplication::clipboard()->text().contains("step time"));
  }
  void exportedTracesComeBackAsMeasured() {
    open("gpt2-124m-1xh200-compiled.json");
    QTemporaryDir folder;
    window_->exportTo(folder.filePath("trace.json"));
    const auto lanes = window_->timeline()->view()->data()->lanes.size();
    window_->timeline()->openMeasured(folder.filePath("trace.json"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->timeline()->view()->data()->lanes.size() > lanes || !window_->failureText().isEmpty(), kPatience);
    QVERIFY2(window_->failureText().isEmpty(), qPrintable(window_->failurePlainText()));
    const TimelineData& both = *window_->timeline()->view()->data();
    QVERIFY(both.lanes.size() > lanes && both.lanes.back().measured);
  }
  void unsavedWorkSurvivesClosing() {
    open("llama3-8b-8xh100.json");
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    window_->close();
    window_ = std::make_unique<MainWindow>();
    window_->openFirst();
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
    QVERIFY(window_->document().dirty());
  }
  void closesAtOnceDuringWork() {
    open("llama3-8b-8xh100.json");
    window_->compare()->explain();
    window_->search()->run();
    window_->simulate();
    QTest::qWait(30);
    QVERIFY(window_->search()->job().running());
    QElapsedTimer timer;
    timer.start();
    window_->close();
    window_.reset();
    QVERIFY2(timer.elapsed() < 1000, qPrintable(QString::number(timer.elapsed())));
    // Work that was let go ends by itself; wait, so that the next test has the machine.
    QTRY_VERIFY_WITH_TIMEOUT(Job::threads() == 0, kPatience);
    init();
  }
  void themesAndFontsChange() {
    open("gpt2-124m-1xh200-compiled.json");
    window_->setTheme("dark");
    QApplication::processEvents();
    for (int i = 0; i < window_->pages()->count(); ++i) {
      window_->pages()->setCurrentIndex(i);
      QVERIFY(window_->grab().toImage().pixelColor(3, 3).lightness() < 128);
    }
    window_->setTheme("light");
    for (int i = 0; i < window_->pages()->count(); ++i) {
      window_->pages()->setCurrentIndex(i);
      QVERIFY(window_->grab().toImage().pixelColor(3, 3).lightness() > 128);
    }
    QTableView* figures = window_->overview()->tables().front()->view();
    const int row = figures->rowHeight(0), letters = figures->fontMetrics().height(), field = window_->editor()->fieldWidget("plan.tp")->fontMetrics().height();
    for (int i = 0; i < 4; ++i) QTest::keyClick(window_.get(), Qt::Key_Plus, Qt::ControlModifier);
    QApplication::processEvents();
    // 1.1 four times is 1.46.
    QVERIFY2(figures->fontMetrics().height() > letters * 1.25, qPrintable(QStringLiteral("%1, %2 before").arg(figures->fontMetrics().height()).arg(letters)));
    QVERIFY(window_->editor()->fieldWidget("plan.tp")->fontMetrics().height() > field * 1.25);
    QVERIFY2(figures->rowHeight(0) > row * 1.1, qPrintable(QStringLiteral("%1, %2 before").arg(figures->rowHeight(0)).arg(row)));
    for (int i = 0; i < 4; ++i) QTest::keyClick(window_.get(), Qt::Key_Minus, Qt::ControlModifier);
  }
};

int runWindowTests(int argc, char** argv) {
  WindowTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "window_test.moc"
