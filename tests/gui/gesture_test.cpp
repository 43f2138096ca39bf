// What the mouse and keys do on each view's own surface: drags, the wheel, letting go of a drag, showing all again.
#include <QTemporaryDir>
#include <QTest>

#include "gui/app/main_window.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/with_window.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 60000;

}  // namespace

class GestureTests : public WithWindow {
  Q_OBJECT
 private:
  /// Every gesture of a chart with axes; it shows all before and after.
  void gesturesOf(ChartView* chart) {
    QApplication::processEvents();
    QVERIFY2(!chart->part() && !chart->hits().empty(), qPrintable(chart->accessibleName()));
    const QRectF plot = chart->frame().plot;
    const ChartRange all = chart->frame().all;
    const auto selected = chart->chart().selected;
    // Marks the middle half: a quarter is cut off on each side, and nothing is selected by it.
    const QPoint a(static_cast<int>(plot.left() + plot.width() * 0.25), static_cast<int>(plot.top() + plot.height() * 0.25)), b(static_cast<int>(plot.left() + plot.width() * 0.75), static_cast<int>(plot.top() + plot.height() * 0.75));
    const QPointF low = chart->frame().valueAt(QPointF(a.x(), b.y())), high = chart->frame().valueAt(QPointF(b.x(), a.y()));
    dragMouse(chart, a, b);
    QVERIFY(chart->part());
    QVERIFY(std::abs(chart->part()->x0 - low.x()) < 1e-9 * std::abs(all.x1 - all.x0) && std::abs(chart->part()->y1 - high.y()) < 1e-9 * std::abs(all.y1 - all.y0));
    QVERIFY(chart->chart().selected == selected);
    QApplication::processEvents();
    for (const ChartHit& h : chart->hits()) QVERIFY(chart->frame().plot.adjusted(-7, -7, 7, 7).contains(h.rect));
    // Zoomed, dragging moves: what was under the pointer stays under it.
    const QPointF under = chart->frame().valueAt(QPointF(a));
    dragMouse(chart, a, a + QPoint(40, 30));
    const QPointF now = chart->frame().valueAt(QPointF(a + QPoint(40, 30)));
    QVERIFY(std::abs(now.x() - under.x()) < 1e-6 * (all.x1 - all.x0) && std::abs(now.y() - under.y()) < 1e-6 * (all.y1 - all.y0));
    // It stops at the end.
    dragMouse(chart, a, a + QPoint(100000, 0));
    QVERIFY(std::abs(chart->part()->x0 - all.x0) < 1e-6 * (all.x1 - all.x0));
    // Escape lets go of a mark half drawn.
    const ChartRange kept = *chart->part();
    dragMouse(chart, a, b, Qt::ShiftModifier, false);
    QTest::keyClick(chart, Qt::Key_Escape);
    QTest::mouseRelease(chart, Qt::LeftButton, Qt::ShiftModifier, b);
    QCOMPARE(*chart->part(), kept);
    QTest::keyClick(chart, Qt::Key_Home);
    QVERIFY(!chart->part() && chart->frame().all == all);
    // The wheel keeps the value under the pointer, and back again is all.
    const QPointF middle = plot.center();
    const QPointF fixed = chart->frame().valueAt(middle);
    turnWheel(chart, middle, 2);
    QVERIFY(chart->part() && std::abs(chart->frame().valueAt(middle).x() - fixed.x()) < 1e-6 * (all.x1 - all.x0));
    turnWheel(chart, middle, -4);
    QVERIFY(!chart->part());
    QTest::keyClick(chart, Qt::Key_Plus);
    QVERIFY(chart->part());
    QTest::keyClick(chart, Qt::Key_Minus);
    QVERIFY(!chart->part());
    // A flat mark is a stretch along the axis.
    dragMouse(chart, QPoint(a.x(), a.y()), QPoint(b.x(), a.y() + 4));
    QVERIFY(chart->part() && chart->part()->y0 == all.y0 && chart->part()->y1 == all.y1);
    QTest::keyClick(chart, Qt::Key_0);
    // A double click where no point is shows all as well.
    turnWheel(chart, middle, 3);
    for (int x = 0; x < 40 && chart->part(); ++x) {
      const QPoint free(static_cast<int>(plot.left()) + 4 + x * 17, static_cast<int>(plot.top()) + 4);
      const auto met = [&](const ChartHit& h) { return h.rect.adjusted(-14, -14, 14, 14).contains(free); };
      if (std::none_of(chart->hits().begin(), chart->hits().end(), met)) QTest::mouseDClick(chart, Qt::LeftButton, Qt::NoModifier, free);
    }
    chart->showAll();
  }

 private Q_SLOTS:
  void editorNumbersAreDraggedByTheirLabel() {
    open("llama3-8b-8xh100.json");
    auto* label = window_->editor()->findChild<QLabel*>("label of plan.micro_batch");
    QVERIFY(label != nullptr);
    dragMouse(label, QPoint(5, 5), QPoint(72, 5));  // two steps of 30 pixels
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("8"));
    QCOMPARE(window_->document().undoStack().count(), 1);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("2"));
    dragMouse(label, QPoint(72, 5), QPoint(40, 5));
    QCOMPARE(window_->document().value("plan.micro_batch"), std::optional<QString>("1"));
  }
  void memoryZoomsAndMoves() {
    open("llama3-8b-8xh100.json");
    show(window_->memory());
    ChartView* chart = window_->memory()->charts().front();
    gesturesOf(chart);
    // Another time of the same curve leaves the part that is shown.
    turnWheel(chart, chart->frame().plot.center(), 3);
    const auto part = chart->part();
    QVERIFY(part);
    QTest::mouseClick(chart, Qt::LeftButton, Qt::NoModifier, chart->frame().plot.center().toPoint() + QPoint(0, static_cast<int>(chart->frame().plot.height() / 2) - 6));
    QVERIFY(chart->chart().cursor.has_value() && chart->part() == part);
    // Another scenario shows all of its own.
    window_->document().type("plan.micro_batch", "1", "micro-batch");
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY(!chart->part());
  }
  void topologyZoomsAndMoves() {
    open("llama3-70b-1024xa100.json");
    show(window_->topology());
    TopologyView* view = window_->topology()->view();
    const QRectF gpu = view->rectOf({false, 100, 3});
    QVERIFY(gpu.width() < 40.0);
    // Marking a part shows it larger, its middle in the middle; the mark selects nothing.
    dragMouse(view, gpu.center().toPoint() - QPoint(40, 30), gpu.center().toPoint() + QPoint(40, 30));
    QVERIFY(view->zoomed() > 4.0 && !view->selected());
    const QRectF larger = view->rectOf({false, 100, 3});
    QVERIFY(larger.width() > 4.0 * gpu.width() && QRectF(view->rect()).contains(larger.center()));
    // Zoomed, dragging moves by just as much.
    dragMouse(view, QPoint(300, 300), QPoint(340, 320));
    QVERIFY(std::abs(view->rectOf({false, 100, 3}).left() - larger.left() - 40.0) < 0.5 && std::abs(view->rectOf({false, 100, 3}).top() - larger.top() - 20.0) < 0.5);
    // A click still meets what is seen there.
    QTest::mouseClick(view, Qt::LeftButton, Qt::NoModifier, view->rectOf({false, 100, 3}).center().toPoint());
    QCOMPARE(view->selected(), std::optional(TopologyPlace{false, 100, 3}));
    // Keys keep the selected place in sight.
    for (int i = 0; i < 30; ++i) QTest::keyClick(view, Qt::Key_Down);
    QVERIFY(QRectF(view->rect()).contains(view->rectOf(*view->selected()).center()));
    const double before = view->zoomed();
    dragMouse(view, QPoint(200, 200), QPoint(260, 260), Qt::ShiftModifier, false);
    QTest::keyClick(view, Qt::Key_Escape);
    QTest::mouseRelease(view, Qt::LeftButton, Qt::ShiftModifier, QPoint(260, 260));
    QCOMPARE(view->zoomed(), before);
    QVERIFY(view->selected());
    QTest::keyClick(view, Qt::Key_Home);
    QCOMPARE(view->rectOf({false, 100, 3}), gpu);
    // The wheel keeps what is under the pointer, and ends at all.
    turnWheel(view, gpu.center(), 6);
    QVERIFY(view->zoomed() > 3.0 && view->rectOf({false, 100, 3}).contains(gpu.center()));
    turnWheel(view, gpu.center(), -40);
    QCOMPARE(view->zoomed(), 1.0);
    QCOMPARE(view->origin(), QPointF(0, 0));
    QTest::keyClick(view, Qt::Key_Plus);
    QVERIFY(view->zoomed() > 1.0);
  }
  void compareZoomsItsCurvesAndTimelines() {
    open("gpt2-124m-1xh200-eager.json");
    show(window_->compare());
    QTest::keyClick(window_.get(), Qt::Key_D, Qt::ControlModifier);
    window_->document().set("training.execution", std::string("\"compiled\""), "execution");
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    window_->compare()->pages()->setCurrentIndex(3);
    gesturesOf(window_->compare()->charts()[2]);
    window_->compare()->pages()->setCurrentIndex(2);
    QApplication::processEvents();
    auto* lanes = window_->compare()->findChild<TimelineView*>();
    QVERIFY(lanes != nullptr && lanes->data() != nullptr);
    turnWheel(lanes->viewport(), QPointF(600, 100), 4);
    const double from = lanes->geometryOfTime().from;
    dragMouse(lanes->viewport(), QPoint(600, 100), QPoint(500, 100));
    QVERIFY(lanes->geometryOfTime().from > from);
    QTest::keyClick(lanes, Qt::Key_Home);
    // Bars have no axis to zoom along: a drag over them does nothing, a click selects.
    window_->compare()->pages()->setCurrentIndex(0);
    QApplication::processEvents();
    ChartView* bars = window_->compare()->charts()[0];
    dragMouse(bars, QPoint(200, 60), QPoint(400, 100));
    QVERIFY(!bars->part() && !bars->chart().selected);
    QTest::mouseClick(bars, Qt::LeftButton, Qt::NoModifier, bars->hits().front().rect.center().toPoint());
    QVERIFY(bars->chart().selected);
  }
  void sweepZooms() {
    open("gpt2-124m-1xh200-compiled.json");
    show(window_->sweep());
    window_->sweep()->path(0)->setCurrentText("plan.global_batch");
    retype(window_->sweep()->values(0), "1, 2, 3, 4, 5, 6");
    QTest::mouseClick(window_->sweep()->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->sweep()->job().running(), kPatience);
    gesturesOf(window_->sweep()->charts().front());
    // Undo takes back what opening a point did.
    const std::string before = window_->document().text();
    Q_EMIT window_->sweep()->tables().front()->rowOpened(3);
    QVERIFY(window_->document().text() != before);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window_->document().text(), before);
  }
  void searchZooms() {
    open("gpt2-124m-1xh200-compiled.json");
    show(window_->search());
    QTest::mouseClick(window_->search()->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->search()->job().running(), kPatience);
    ChartView* scatter = window_->search()->charts().front();
    gesturesOf(scatter);
    // Selecting a plan in the table leaves the part that is shown.
    turnWheel(scatter, scatter->frame().plot.center(), 2);
    const auto part = scatter->part();
    window_->search()->plansTable()->selectRow(1);
    QVERIFY(part && scatter->part() == part);
    // Another axis is another plane.
    window_->search()->price()->setValue(2.0);
    window_->search()->axis()->setCurrentIndex(1);
    QVERIFY(!scatter->part());
    const std::string before = window_->document().text();
    QTest::mouseClick(window_->search()->openButton(), Qt::LeftButton);
    QTest::keyClick(window_.get(), Qt::Key_Z, Qt::ControlModifier);
    QCOMPARE(window_->document().text(), before);
  }
  void fidelityZooms() {
    QVERIFY(window_->openFile(shipped("records/h200.json.gz")));
    QTRY_VERIFY_WITH_TIMEOUT(!window_->fidelity()->job().running(), kPatience);
    ChartView* scatter = window_->fidelity()->charts().front();
    gesturesOf(scatter);
    QTest::mouseClick(scatter, Qt::LeftButton, Qt::NoModifier, scatter->hits().front().rect.center().toPoint());
    QVERIFY(window_->fidelity()->rowsTable()->currentRow() >= 0);
  }
};

int runGestureTests(int argc, char** argv) {
  GestureTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "gesture_test.moc"
