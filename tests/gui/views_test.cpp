// Each view as a person uses it, and what it does with bad input.
#include <QAccessible>
#include <QCheckBox>
#include <QDropEvent>
#include <QMimeData>
#include <QClipboard>
#include <QHelpEvent>
#include <QLineEdit>
#include <QMenuBar>
#include <QPushButton>
#include <QStyleOptionButton>
#include <QTabBar>
#include <QTemporaryDir>
#include <QTest>
#include <QToolTip>
#include <set>

#include "gui/app/main_window.h"
#include "gui/models/theme.h"
#include "gui/session/autosave.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/with_window.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 60000;

double sumOf(const Table& table, std::size_t column) {
  double sum = 0.0;
  for (const auto& row : table.rows) sum += row[column].sort.toDouble();
  return sum;
}

}  // namespace

class ViewTests : public WithWindow {
  Q_OBJECT
 private:
  QTemporaryDir folder_;

  /// Two pipeline stages, eight micro-batches.
  void openPipeline() {
    open("llama3-8b-8xh100.json");
    window_->document().type("plan.pp", "2", "pp");
    window_->document().type("plan.global_batch", "64", "batch");
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->simulated()->run);
  }
  void drop(const QString& path) {
    QMimeData data;
    data.setUrls({QUrl::fromLocalFile(path)});
    QDragEnterEvent enter(QPoint(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &enter);
    QDropEvent dropped(QPointF(10, 10), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
    QApplication::sendEvent(window_.get(), &dropped);
  }
  QString write(const QString& name, const QByteArray& bytes) {
    QFile file(folder_.filePath(name));
    if (file.open(QIODevice::WriteOnly)) file.write(bytes);
    return file.fileName();
  }

 private Q_SLOTS:
  // ---- editor
  void editorOffersWhatThereIs() {
    open("llama3-8b-8xh100.json");
    auto* field = qobject_cast<QLineEdit*>(window_->editor()->fieldWidget("model.config"));
    QCOMPARE(field->cursorPosition(), 0);
    field->setFocus();
    QTest::keyClick(field, Qt::Key_Down);
    QVERIFY(field->completer()->popup()->isVisible());
    QVERIFY(field->completer()->completionCount() >= 8);
    field->completer()->popup()->hide();
  }
  void editorShortcutsUndoAndRedo() {
    open("llama3-8b-8xh100.json");
    auto* field = qobject_cast<QLineEdit*>(window_->editor()->fieldWidget("plan.micro_batch"));
    retype(field, "1");
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
    window_->document().undoStack().undo();
    QCOMPARE(field->text(), QStringLiteral("2"));
    window_->document().undoStack().redo();
    QCOMPARE(field->text(), QStringLiteral("1"));
  }

  void capturedGraphsCanBeDropped() {
    open("llama3-8b-8xh100.json");
    ScenarioDocument captured;
    captured.load(shipped("llama-1b-captured-1xh200.json"));
    const QString graph = QDir(captured.folder()).absoluteFilePath(*captured.value("model.graph"));
    drop(graph);
    QVERIFY2(window_->document().has("model.graph") && !window_->document().has("model.config"), qPrintable(window_->failureText()));
    QVERIFY(!window_->editor()->fieldWidget("model.sequence")->isEnabled());
    window_->document().undoStack().undo();
    QCOMPARE(window_->document().value("model.config"), std::optional<QString>("models/llama3-8b.json"));
    // A folder, and a file that is none.
    for (const QString& bad : {folder_.path(), write("notes.txt", "hello")}) {
      drop(bad);
      QVERIFY2(window_->failureText().contains("was not opened"), qPrintable(bad));
    }
    QCOMPARE(window_->document().value("model.config"), std::optional<QString>("models/llama3-8b.json"));
  }

  // ---- overview
  void overviewChartsTablesAndCopies() {
    open("llama3-8b-8xh100.json");
    show(window_->overview());
    ChartView* bars = window_->overview()->charts().front();
    QVERIFY(!bars->hits().empty());
    QTest::mouseClick(bars, Qt::LeftButton, Qt::NoModifier, bars->hits().front().rect.center().toPoint());
    QCOMPARE(bars->chart().selected, std::optional(std::pair(bars->hits().front().series, bars->hits().front().point)));
    TableView* kernels = window_->overview()->tables()[2];
    const int all = kernels->sorted()->rowCount();
    QTest::keyClicks(kernels->filter(), "attention");
    QVERIFY(kernels->sorted()->rowCount() > 0 && kernels->sorted()->rowCount() < all);
    kernels->filter()->clear();
    kernels->view()->setCurrentIndex(kernels->sorted()->index(0, 1));
    kernels->view()->setFocus();
    QTest::keyClick(kernels->view(), Qt::Key_Up, Qt::AltModifier);
    QVERIFY(kernels->sorted()->index(0, 1).data(TableModel::kSortRole).toDouble() <= kernels->sorted()->index(all - 1, 1).data(TableModel::kSortRole).toDouble());
    QTest::keyClick(kernels->view(), Qt::Key_Down, Qt::AltModifier);
    QVERIFY(kernels->sorted()->index(0, 1).data(TableModel::kSortRole).toDouble() > kernels->sorted()->index(all - 1, 1).data(TableModel::kSortRole).toDouble());
    QTest::keyClick(kernels->view(), Qt::Key_C, Qt::ControlModifier);
    QCOMPARE(QApplication::clipboard()->text().count(QLatin1Char('\n')), all + 1);
  }
  void overviewOfABrokenPlanSaysTheRule() {
    open("llama3-8b-8xh100.json");
    window_->document().type("plan.tp", "3", "tp");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->overview()->headline().contains("cannot run"));
    QVERIFY(window_->overview()->tables().front()->isHidden());
    window_->document().undoStack().undo();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(!window_->overview()->tables().front()->isHidden());
  }

  // ---- timeline
  void timelineShadesWhatIsLost() {
    openPipeline();
    std::set<Category> seen;
    for (const Lane& lane : window_->timeline()->view()->data()->lanes) {
      for (const Slice& s : lane.rows.front().slices) seen.insert(s.category);
    }
    QVERIFY(seen.count(Category::computing) == 1 && seen.count(Category::exposed) == 1 && seen.count(Category::bubble) == 1);
  }
  void timelineRefusesAndCancelsTraces() {
    open("gpt2-124m-1xh200-compiled.json");
    const auto lanes = window_->timeline()->view()->data()->lanes.size();
    window_->timeline()->openMeasured(write("bad.json", "{\"traceEvents\": [{\"ph\": \"X\", \"ts\": \"never\"}]}"));
    QTRY_VERIFY_WITH_TIMEOUT(window_->failureText().contains("The trace was not read"), kPatience);
    QCOMPARE(window_->timeline()->view()->data()->lanes.size(), lanes);
    window_->exportTo(folder_.filePath("trace.json"));
    window_->timeline()->openMeasured(folder_.filePath("trace.json"));
    window_->timeline()->stop();
    QTest::qWait(300);
    QCOMPARE(window_->timeline()->view()->data()->lanes.size(), lanes);
  }

  // ---- memory
  void memoryListsItemsWithLayerAndMicroBatch() {
    open("llama3-8b-8xh100.json");
    MemoryPanel* memory = window_->memory();
    show(memory);
    QTRY_VERIFY_WITH_TIMEOUT(!memory->listing() && memory->itemsTable()->table().columns.size() == 5, kPatience);
    std::set<QString> layers;
    for (const auto& row : memory->itemsTable()->table().rows) {
      if (row[0].text == QLatin1String("saved activations")) layers.insert(row[1].text + QLatin1Char('/') + row[2].text);
    }
    QVERIFY2(layers.count(QStringLiteral("layer 31/0")) == 1 && layers.size() > 20, qPrintable(QString::number(layers.size())));
    // Items add up to what the kinds say, but for the runtime.
    const Table& kinds = memory->kindsTable()->table();
    double wanted = 0.0;
    for (const auto& row : kinds.rows) wanted += row[0].text == QLatin1String("all") || row[0].text == QLatin1String("runtime") ? 0.0 : row[1].sort.toDouble();
    QVERIFY(std::abs(sumOf(memory->itemsTable()->table(), 4) / wanted - 1.0) < 1e-6);
    const QString peak = kinds.title;
    QVERIFY(peak.contains("peak"));
    ChartView* chart = memory->charts().front();
    QTest::mouseClick(chart, Qt::LeftButton, Qt::NoModifier, chart->hits().front().rect.center().toPoint());
    QVERIFY(memory->kindsTable()->table().title != peak);
    QVERIFY(memory->itemsTable()->table().rows.size() != layers.size());
    QTest::mouseClick(memory->peakButton(), Qt::LeftButton);
    QCOMPARE(memory->kindsTable()->table().title, peak);
    QTest::keyClicks(memory->itemsTable()->filter(), "layer 31");
    QVERIFY(memory->itemsTable()->sorted()->rowCount() > 0);
  }
  void memoryOfPipelineStages() {
    openPipeline();
    window_->document().setAll({{"plan.tp", std::string("2")}, {"plan.sequence_parallel", std::string("true")}, {"training.execution", std::string("\"eager\"")}}, "tp");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(window_->simulated()->run);
    MemoryPanel* memory = window_->memory();
    show(memory);
    QTRY_VERIFY_WITH_TIMEOUT(!memory->listing(), kPatience);
    ChartView* chart = memory->charts().front();
    for (const std::size_t part : {1, 2, 3, 5, 7}) {
      chart->selectPoint(0, static_cast<int>(chart->chart().series[0].points.size() * part / 8));
      double wanted = 0.0;
      for (const auto& row : memory->kindsTable()->table().rows) wanted += row[0].text == QLatin1String("all") || row[0].text == QLatin1String("runtime") ? 0.0 : row[1].sort.toDouble();
      QVERIFY2(std::abs(sumOf(memory->itemsTable()->table(), 4) / wanted - 1.0) < 1e-6, qPrintable(memory->itemsTable()->table().title));
    }
    QTest::mouseClick(memory->peakButton(), Qt::LeftButton);
    std::set<QString> micro_batches;
    for (const auto& row : memory->itemsTable()->table().rows) {
      if (!row[2].text.isEmpty()) micro_batches.insert(row[2].text);
    }
    QVERIFY(micro_batches.size() > 1);  // several in flight
    QVERIFY(memory->classes()->count() > 1);
    memory->classes()->setCurrentIndex(memory->classes()->count() - 1);
    QTRY_VERIFY_WITH_TIMEOUT(!memory->listing(), kPatience);
    QVERIFY(!memory->itemsTable()->table().rows.empty());
    window_->document().type("plan.tp", "3", "tp");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(memory->charts().front()->chart().series.empty() && memory->charts().front()->chart().empty.contains("cannot run"));
  }

  // ---- topology
  void topologyShowsBytesOnLinks() {
    open("mixtral-8x7b-16xh100.json");
    show(window_->topology());
    TopologyView* view = window_->topology()->view();
    const TopologyData& data = view->data();
    QVERIFY(data.gpus.front().nvlink.bytes > 0.0 && data.nics.front().up.bytes > 0.0);
    const double step = window_->simulated()->run->result.step_time.value();
    QVERIFY(std::abs(data.nics.front().up.share - data.nics.front().up.bytes / data.cluster.node.nic.bandwidth.value() / step) < 1e-9);
    QVERIFY(data.nics.front().up.share < 1.0 && view->linkScale() >= data.nics.front().share());
    QVERIFY(view->textOf({true, 0, 0}).contains("sends") && view->textOf({true, 0, 0}).contains("GB"));
    QVERIFY(view->textAt(view->rectOf({false, 1, 2}).center()).contains("GPU 2 of node 1"));
    QVERIFY(view->textAt(view->rectOf({false, 0, 0, true}).center()).contains("up to the spine"));
    QVERIFY(view->textAt(QPointF(1, 1)).isEmpty());
    // Hovering shows the same.
    const QPoint at = view->rectOf({true, 1, 3}).center().toPoint();
    QHelpEvent hover(QEvent::ToolTip, at, view->mapToGlobal(at));
    QApplication::sendEvent(view, &hover);
    QVERIFY(QToolTip::text().contains("Port 3 of node 1"));
    QToolTip::hideText();
    view->setFocus();
    view->select(std::nullopt);
    for (const bool leaf : {false, false, true}) {
      QTest::keyClick(view, Qt::Key_N);
      if (leaf) QVERIFY(view->selected()->leaf);
      if (view->selected()->leaf) break;
    }
    QVERIFY(view->selected()->leaf);
    QVERIFY(!window_->topology()->markButton()->isEnabled());
    QTest::keyClick(view, Qt::Key_Escape);
    QVERIFY(!view->selected());
  }
  void topologyOfAWrongClusterSaysSo() {
    open("llama3-8b-8xh100.json");
    show(window_->topology());
    window_->document().type("cluster.nodes", "many", "nodes");
    QVERIFY(window_->topology()->view()->data().gpus.empty());
    QVERIFY(!window_->grab().isNull());
    window_->document().undoStack().undo();
    QCOMPARE(window_->topology()->view()->data().gpus.size(), std::size_t{8});
  }

  // ---- compare
  void compareKeepsOpensAndRemoves() {
    open("gpt2-124m-1xh200-eager.json");
    show(window_->compare());
    QTest::keyClick(window_.get(), Qt::Key_D, Qt::ControlModifier);
    QCOMPARE(window_->compare()->variants(), std::size_t{1});
    const QString before = QString::fromStdString(window_->document().text());
    window_->document().set("training.execution", std::string("\"compiled\""), "execution");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    window_->compare()->variantTable()->selectRow(1);
    QVERIFY(window_->compare()->tables()[1]->table().title.contains("against"));
    for (int page = 0; page < window_->compare()->pages()->count(); ++page) {
      window_->compare()->pages()->setCurrentIndex(page);
      QVERIFY(!window_->grab().isNull());
    }
    window_->compare()->variantTable()->selectRow(0);
    QTest::mouseClick(window_->compare()->findChild<QPushButton*>("openVariant"), Qt::LeftButton);
    QCOMPARE(QString::fromStdString(window_->document().text()), before);
    window_->document().undoStack().undo();
    QCOMPARE(window_->document().value("training.execution"), std::optional<QString>("compiled"));
    window_->compare()->variantTable()->selectRow(0);
    QTest::mouseClick(window_->compare()->findChild<QPushButton*>("remove"), Qt::LeftButton);
    QCOMPARE(window_->compare()->variants(), std::size_t{0});
  }
  void compareCancelsAndRefuses() {
    open("llama3-8b-8xh100.json");
    window_->compare()->explain();
    window_->compare()->cancel();
    QVERIFY(!window_->compare()->job().running());
    window_->document().set("engine.name", std::string("\"simgrid\""), "engine");
    window_->compare()->explain();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->compare()->job().running(), kPatience);
    QVERIFY2(window_->failureText().contains("Trying changes failed"), qPrintable(window_->failureText()));
  }

  // ---- sweep
  void sweepStoppedKeepsItsPoints() {
    open("llama3-8b-8xh100.json");
    SweepPanel* sweep = window_->sweep();
    show(sweep);
    sweep->path(0)->setCurrentText("model.sequence");
    QStringList values;
    for (int i = 1; i <= 400; ++i) values << QString::number(i * 16);
    sweep->values(0)->setText(values.join(QStringLiteral(", ")));
    QTest::mouseClick(sweep->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(sweep->job().fraction() > 0.01, kPatience);
    QTest::mouseClick(sweep->bar()->cancelButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!sweep->job().running(), kPatience);
    const auto points = sweep->tables().front()->table().rows.size();
    QVERIFY2(points > 0 && points < 400, qPrintable(QString::number(points)));
    QVERIFY2(sweep->bar()->said().startsWith("stopped after"), qPrintable(sweep->bar()->said()));
    const int steps = window_->document().undoStack().count();
    Q_EMIT sweep->tables().front()->rowOpened(0);
    QCOMPARE(window_->document().undoStack().count(), steps + 1);
    sweep->figure()->setCurrentIndex(2);
    QVERIFY(sweep->charts().front()->chart().yText(0.5).contains("%"));
  }
  void sweepRefusesBadInput() {
    open("llama3-8b-8xh100.json");
    SweepPanel* sweep = window_->sweep();
    sweep->values(0)->clear();
    QTest::mouseClick(sweep->bar()->startButton(), Qt::LeftButton);
    QVERIFY(sweep->bar()->said().contains("at least one value"));
    QVERIFY(!window_->openFile(write("sweep.json", R"({"schema_version": 1, "scenario": "none.json", "axes": 7})")));
    QVERIFY(window_->failureText().contains("sweep.json"));
  }

  // ---- plan search
  void searchStoppedKeepsItsPlans() {
    open("llama3-8b-8xh100.json");
    SearchPanel* search = window_->search();
    show(search);
    QTest::keyClicks(search->nodes(), "1, 2, 4, 8");
    window_->document().type("plan.global_batch", "512", "batch");
    QTest::mouseClick(search->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(search->job().fraction() > 0.2, kPatience);
    QTest::mouseClick(search->bar()->cancelButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!search->job().running(), kPatience);
    QVERIFY(!search->plansTable()->table().rows.empty());
    QVERIFY2(search->plansTable()->table().title.contains("PARTIAL"), qPrintable(search->plansTable()->table().title));
    QVERIFY2(search->bar()->said().startsWith("stopped early"), qPrintable(search->bar()->said()));
    QVERIFY(!search->charts().front()->chart().series.empty());
    // Stopped at once, the next search leaves the table as it was, or has plans of its own; it is never emptied.
    QTest::mouseClick(search->bar()->startButton(), Qt::LeftButton);
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!search->job().running(), kPatience);
    QVERIFY(!search->plansTable()->table().rows.empty());
    QVERIFY(search->openButton()->isEnabled() == (search->plansTable()->currentRow() >= 0));
    search->plansTable()->selectRow(0);
    const int steps = window_->document().undoStack().count();
    QTest::mouseClick(search->openButton(), Qt::LeftButton);
    QCOMPARE(window_->document().undoStack().count(), steps + 1);
  }
  void searchHasATimeLimit() {
    open("llama3-8b-8xh100.json");
    SearchPanel* search = window_->search();
    QTest::keyClicks(search->nodes(), "1, 2, 4, 8, 16, 32");
    window_->document().type("plan.global_batch", "2048", "batch");
    search->budget()->setValue(1.0);
    search->run();
    QTRY_VERIFY_WITH_TIMEOUT(!search->job().running(), kPatience);
    QVERIFY2(search->bar()->said().startsWith("stopped"), qPrintable(search->bar()->said()));
  }
  void searchObjectivesAskForWhatTheyNeed() {
    open("gpt2-124m-1xh200-compiled.json");
    SearchPanel* search = window_->search();
    show(search);
    QVERIFY(!search->failures()->isVisible());
    search->objective()->setCurrentText("goodput");
    QVERIFY(search->failures()->isVisible());
    search->run();
    QTRY_VERIFY_WITH_TIMEOUT(!search->job().running(), kPatience);
    QVERIFY2(window_->failureText().contains("mean time between failures"), qPrintable(window_->failureText()));
    search->failures()->setValue(50000);
    for (QDoubleSpinBox* box : search->findChildren<QDoubleSpinBox*>()) {
      if (box->value() < 0.0) box->setValue(60.0);  // checkpoint and restart
    }
    search->run();
    QTRY_VERIFY_WITH_TIMEOUT(!search->job().running(), kPatience);
    const Table& plans = search->plansTable()->table();
    QVERIFY(!plans.rows.empty());
    const double useful = plans.rows[0][static_cast<std::size_t>(columnOf(plans, "useful time"))].sort.toDouble();
    QVERIFY(useful > 0.9 && useful < 1.0);
    QCOMPARE(columnOf(plans, "cost of a sample"), -1);  // without a price there is nothing to say
    // Cost: of what was found, without another search.
    search->axis()->setCurrentIndex(1);
    QVERIFY(search->charts().front()->chart().series.empty() && search->charts().front()->chart().empty.contains("price"));
    search->price()->setValue(3.6);  // 0.001 a second
    const Table& priced = search->plansTable()->table();
    const auto cost = static_cast<std::size_t>(columnOf(priced, "cost of a sample")), rate = static_cast<std::size_t>(columnOf(priced, "samples/s"));
    QVERIFY(std::abs(priced.rows[0][cost].sort.toDouble() - 0.001 / priced.rows[0][rate].sort.toDouble()) < 1e-9);
    QVERIFY(!search->charts().front()->chart().series.empty());
    QVERIFY(search->fellOutTable()->table().rows.size() > 1);
  }

  // ---- fidelity
  void fidelityRefusesBadRecordsAndStops() {
    window_->openFile(shipped("llama3-8b-8xh100.json"));
    window_->fidelity()->openFiles({write("records.json", R"({"id": "a", "measured": "fast"})")});
    QTRY_VERIFY_WITH_TIMEOUT(!window_->fidelity()->job().running(), kPatience);
    QVERIFY2(window_->failureText().contains("records.json"), qPrintable(window_->failureText()));
    show(window_->fidelity());
    window_->fidelity()->openShipped();
    QTRY_VERIFY_WITH_TIMEOUT(window_->fidelity()->job().fraction() > 0.0, kPatience);
    QTest::mouseClick(window_->fidelity()->bar()->cancelButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->fidelity()->job().running(), kPatience);
    QVERIFY2(window_->fidelity()->bar()->said().startsWith("stopped after"), qPrintable(window_->fidelity()->bar()->said()));
    QVERIFY(!window_->fidelity()->rowsTable()->table().rows.empty());
    ChartView* scatter = window_->fidelity()->charts().front();
    QApplication::processEvents();
    if (!scatter->hits().empty()) {
      QTest::mouseClick(scatter, Qt::LeftButton, Qt::NoModifier, scatter->hits().front().rect.center().toPoint());
      QVERIFY(window_->fidelity()->rowsTable()->currentRow() >= 0);
      QVERIFY(window_->fidelity()->whyTable()->table().rows.size() > 5);
    }
  }

  // ---- for everyone
  void everythingHasAName() {
    open("llama3-8b-8xh100.json");
    QStringList nameless;
    for (QWidget* w : window_->findChildren<QWidget*>()) {
      if (w->inherits("QTableCornerButton")) continue;  // switched off
      const bool inside = w->objectName().startsWith(QLatin1String("qt_")) || qobject_cast<QAbstractSpinBox*>(w->parentWidget()) || qobject_cast<QComboBox*>(w->parentWidget());
      if (inside || (w->focusPolicy() == Qt::NoFocus && !qobject_cast<QAbstractButton*>(w))) continue;
      QAccessibleInterface* said = QAccessible::queryAccessibleInterface(w);
      if (said == nullptr || said->text(QAccessible::Name).trimmed().isEmpty()) nameless << QStringLiteral("%1 '%2' in %3").arg(QLatin1String(w->metaObject()->className()), w->objectName(), QLatin1String(w->parentWidget()->metaObject()->className()));
    }
    QVERIFY2(nameless.isEmpty(), qPrintable(nameless.join(QStringLiteral("; "))));
  }
  void accessKeysAreUnique() {
    open("llama3-8b-8xh100.json");
    for (int i = 0; i < window_->pages()->count(); ++i) {
      window_->pages()->setCurrentIndex(i);
      QApplication::processEvents();
      QStringList texts;
      for (const QAction* menu : window_->menuBar()->actions()) texts << menu->text();
      for (const QTabBar* tabs : window_->findChildren<QTabBar*>()) {
        for (int t = 0; tabs->isVisible() && t < tabs->count(); ++t) texts << tabs->tabText(t);
      }
      for (const QAbstractButton* button : window_->findChildren<QAbstractButton*>()) {
        if (button->isVisible()) texts << button->text();
      }
      QMap<QKeySequence, QString> taken;
      for (const QString& text : texts) {
        const QKeySequence key = QKeySequence::mnemonic(text);
        if (key.isEmpty()) continue;
        QVERIFY2(!taken.contains(key), qPrintable(QStringLiteral("%1: '%2' and '%3'").arg(key.toString(), taken.value(key), text)));
        taken.insert(key, text);
      }
      QVERIFY(taken.size() >= 13);
    }
  }
  void everyControlIsReachedByTab() {
    open("llama3-8b-8xh100.json");
    for (int i = 0; i < window_->pages()->count(); ++i) {
      window_->pages()->setCurrentIndex(i);
      QApplication::processEvents();
      std::set<QWidget*> wanted, reached;
      for (QWidget* w : window_->pages()->currentWidget()->findChildren<QWidget*>()) {
        if (w->isVisible() && w->isEnabled() && (w->focusPolicy() & Qt::TabFocus) != 0 && w->focusProxy() == nullptr && !w->objectName().startsWith(QLatin1String("qt_"))) wanted.insert(w);
      }
      QWidget* at = window_.get();
      for (int step = 0; step < 2000; ++step) {
        at = at->nextInFocusChain();
        reached.insert(at);
      }
      for (QWidget* w : wanted) QVERIFY2(reached.count(w) == 1, qPrintable(QStringLiteral("%1 '%2'").arg(QLatin1String(w->metaObject()->className()), w->accessibleName())));
    }
  }
  void marksAreSeenInBothThemes() {
    for (const bool dark : {false, true}) {
      const Theme theme = dark ? darkTheme() : lightTheme();
      QCheckBox box(QStringLiteral("x"));
      box.setPalette(paletteOf(theme));
      box.setChecked(true);
      box.resize(box.sizeHint());
      QImage image(box.size(), QImage::Format_RGB32);
      box.render(&image);
      QStyleOptionButton option;
      option.initFrom(&box);
      const QRect mark = box.style()->subElementRect(QStyle::SE_CheckBoxIndicator, &option, &box);
      double edge = 1.0, tick = 1.0;
      for (int x = mark.left(); x <= mark.right(); ++x) {
        for (int y = mark.top(); y <= mark.bottom(); ++y) {
          const bool inside = mark.adjusted(4, 4, -4, -4).contains(x, y);
          double& best = inside ? tick : edge;
          best = std::max(best, contrast(image.pixelColor(x, y), inside ? theme.background : theme.surface));
        }
      }
      QVERIFY2(edge >= 3.0 && tick >= 4.5, qPrintable(QStringLiteral("dark %1: edge %2, tick %3").arg(dark).arg(edge).arg(tick)));
    }
  }
  void largeFontsClipNothing() {
    open("llama3-8b-8xh100.json");
    const QFont kept = QApplication::font();
    for (int i = 0; i < 5; ++i) QTest::keyClick(window_.get(), Qt::Key_Plus, Qt::ControlModifier);
    QApplication::processEvents();
    QVERIFY(QApplication::font().pointSizeF() > kept.pointSizeF() * 1.5);
    for (QLabel* label : window_->editor()->findChildren<QLabel*>()) {
      if (!label->isVisible() || label->wordWrap()) continue;
      QVERIFY2(label->width() >= label->fontMetrics().horizontalAdvance(label->text()), qPrintable(label->text()));
    }
    // Every page fits the window: bars go on in a next line.
    for (int i = 0; i < window_->pages()->count(); ++i) {
      window_->pages()->setCurrentIndex(i);
      QApplication::processEvents();
      QVERIFY2(window_->minimumSizeHint().width() <= 1600, qPrintable(QStringLiteral("page %1 asks for %2").arg(i).arg(window_->minimumSizeHint().width())));
      for (QWidget* w : window_->pages()->currentWidget()->findChildren<QWidget*>(QString(), Qt::FindDirectChildrenOnly)) {
        if (w->isVisible()) QVERIFY2(w->geometry().right() <= window_->pages()->currentWidget()->width(), qPrintable(w->accessibleName()));
      }
    }
    QApplication::setFont(kept);
  }
};

int runViewTests(int argc, char** argv) {
  ViewTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "views_test.moc"
