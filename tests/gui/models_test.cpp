// Values and geometry, without windows.
#include <QAbstractItemModelTester>
#include <QPainter>
#include <QTest>
#include <QXmlStreamReader>
#include <random>

#include "gui/models/chart.h"
#include "gui/models/fields.h"
#include "gui/models/table_model.h"
#include "gui/models/theme.h"
#include "gui/models/timeline_cover.h"
#include "gui/models/timeline_geometry.h"
#include "gui/views/chart_view.h"
#include "gui/views/svg_device.h"
#include "tests/gui/gui_tests.h"

using namespace sgsim::gui;

namespace {

/// Shares of three categories by column, and of all together.
std::vector<Paint> shares(const Row& row, const std::array<Category, 3>& seen, double from, double to, int columns) {
  Paints paints{};
  for (std::size_t k = 0; k < kCategories; ++k) paints[k][3] = 1.0;
  for (std::size_t k = 0; k < 3; ++k) paints[static_cast<std::size_t>(seen[k])][k] = 1.0;
  std::vector<Paint> mixed;
  cover(row, integrate(row, paints), paints, from, to, columns, mixed);
  return mixed;
}

}  // namespace

class ModelTests : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void zoomKeepsTheTimeUnderThePointer() {
    // 0 to 10 s on 1000 pixels: x 250 is 2.5 s. Half the span around it: 2.5 - 0.25 * 5 = 1.25 to 6.25 s.
    TimelineGeometry g{.from = 0.0, .to = 10.0, .width = 1000.0, .height = 100.0, .scroll = 0.0, .total = 10.0, .content = 50.0};
    g.zoom(0.5, 250.0);
    QCOMPARE(g.from, 1.25);
    QCOMPARE(g.to, 6.25);
    QCOMPARE(g.time(250.0), 2.5);
    QCOMPARE(g.x(2.5), 250.0);
  }
  void panStopsAtTheEnds() {
    TimelineGeometry g{.from = 4.0, .to = 6.0, .width = 100.0, .height = 100.0, .scroll = 0.0, .total = 10.0, .content = 300.0};
    g.pan(50.0, 500.0);
    QCOMPARE(g.from, 5.0);
    QCOMPARE(g.scroll, 200.0);  // content 300 less height 100
    g.pan(1e6, -1e6);
    QCOMPARE(g.to, 10.1);       // 1 % past the end
    QCOMPARE(g.scroll, 0.0);
    g.zoom(1e9, 50.0);
    QVERIFY(g.span() <= 10.2 + 1e-9);
  }
  void axisTimesAreRound() {
    TimelineGeometry g{.from = 0.0, .to = 1.0, .width = 1000.0, .height = 10.0, .scroll = 0.0, .total = 1.0, .content = 0.0};
    // At least 150 pixels are 0.15 s apart: the next round step is 0.2 s.
    const auto times = axis_times(g, 150.0);
    QCOMPARE(times.size(), std::size_t{6});
    QVERIFY(std::abs(times[1] - 0.2) < 1e-12);
  }
  void coverageOfAHandMadeRow() {
    // Waits 0 to 1, transfers 1 to 3, idle, computes 4 to 5; columns of 2 s: half wait and half transfer, half transfer, half compute.
    const Row row{.name = "r", .summary = false, .slices = {{0.0, 1.0, 3.0, 0, 0, Category::network}, {4.0, 4.0, 5.0, 1, 0, Category::forward}}};
    const auto mixed = shares(row, {Category::wait, Category::network, Category::forward}, 0.0, 6.0, 3);
    const std::vector<Paint> expected = {{0.5, 0.5, 0.0, 1.0}, {0.0, 0.5, 0.0, 0.5}, {0.0, 0.0, 0.5, 0.5}};
    for (std::size_t c = 0; c < 3; ++c) {
      for (std::size_t k = 0; k < 4; ++k) QVERIFY2(std::abs(mixed[c][k] - expected[c][k]) < 1e-12, qPrintable(QStringLiteral("%1 %2: %3").arg(c).arg(k).arg(mixed[c][k])));
    }
  }
  void coverageOfManyEqualsTaskByTask() {
    std::mt19937 random(3);
    Row row{.name = "r", .summary = false, .slices = {}};
    double t = 0.0;
    for (std::uint32_t i = 0; i < 5003; ++i) {
      const double arrival = t + 1e-4 * static_cast<double>(random() % 3), start = arrival + (i % 4 == 0 ? 2e-4 : 0.0), end = start + 1e-4 * static_cast<double>(1 + random() % 9);
      row.slices.push_back({arrival, start, end, i, 0, static_cast<Category>(random() % 5)});
      t = end;
    }
    const std::array<Category, 3> seen = {Category::forward, Category::network, Category::wait};
    for (const auto& [from, to, columns] : {std::tuple{0.0, t, 7}, std::tuple{0.0, t, 400}, std::tuple{t * 0.3, t * 0.4, 100}, std::tuple{t * 0.5, t * 0.5 + 1e-5, 9}, std::tuple{-0.1, t + 0.1, 33}, std::tuple{t + 1.0, t + 2.0, 2}}) {
      const auto mixed = shares(row, seen, from, to, columns);
      const double width = (to - from) / columns;
      for (int c = 0; c < columns; ++c) {
        const double a = from + c * width, b = a + width;
        Paint expected{};
        const auto add = [&](Category category, double begin, double end) {
          const double share = std::max(0.0, std::min(b, end) - std::max(a, begin)) / width;
          for (std::size_t k = 0; k < 3; ++k) expected[k] += seen[k] == category ? share : 0.0;
          expected[3] += share;
        };
        for (const Slice& s : row.slices) {
          add(s.category, s.start, s.end);
          add(Category::wait, s.arrival, s.start);
        }
        for (std::size_t k = 0; k < 4; ++k) QVERIFY2(std::abs(mixed[static_cast<std::size_t>(c)][k] - expected[k]) < 1e-6, qPrintable(QStringLiteral("column %1 of %2: %3, expected %4").arg(c).arg(columns).arg(mixed[static_cast<std::size_t>(c)][k]).arg(expected[k])));
      }
    }
  }
  void smallTasksCanBeHit() {
    Row row{.name = "r", .summary = false, .slices = {{1.0, 1.0, 1.001, 0, 0, Category::forward}, {5.0, 5.0, 6.0, 1, 0, Category::forward}}};
    QCOMPARE(slice_at(row, 5.5, 0.0), std::optional<std::uint32_t>(1));
    QCOMPARE(slice_at(row, 1.01, 0.1), std::optional<std::uint32_t>(0));
    QVERIFY(!slice_at(row, 3.0, 0.1));
  }
  void tableModelIsAModel() {
    TableModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
    model.setTable({.title = "t", .columns = {"name", "time"}, .numeric = "lr", .rows = {{Cell("a, \"b\""), Cell("2 ms", 0.002)}, {Cell("c"), Cell("1 s", 1.0)}}});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(0, 1).data(TableModel::kSortRole).toDouble(), 0.002);
    QCOMPARE(textOf(model), QStringLiteral("name    time\na, \"b\"  2 ms\nc        1 s\n"));
    // Base units, quotes doubled, lines end as RFC 4180 says.
    QCOMPARE(csvOf(model.table()), QStringLiteral("name,time\r\n\"a, \"\"b\"\"\",0.002\r\nc,1\r\n"));
    model.setTable({});
    QCOMPARE(model.rowCount(), 0);
  }
  void ticksAreRound() {
    const std::vector<double> fifths = round_ticks(0.0, 1.0, 5);
    QCOMPARE(fifths.size(), std::size_t{6});
    for (std::size_t i = 0; i < fifths.size(); ++i) QVERIFY(std::abs(fifths[i] - 0.2 * static_cast<double>(i)) < 1e-12);
    const double gib = 1073741824.0;
    QCOMPARE(round_ticks(0.0, 80.0 * gib, 4, gib), (std::vector<double>{0.0, 20.0 * gib, 40.0 * gib, 60.0 * gib, 80.0 * gib}));
    QCOMPARE(log_ticks(1.0, 10.0), (std::vector<double>{1.0, 2.0, 5.0, 10.0}));
  }
  void textReadsOnItsBackground() {
    for (const Theme& t : {lightTheme(), darkTheme()}) {
      // WCAG 2.1 AA: 4.5 for text.
      for (const QColor& ink : {t.text, t.muted, t.error, t.warning, t.good, t.accent}) {
        QVERIFY2(contrast(ink, t.background) >= 4.5, qPrintable(ink.name()));
        QVERIFY2(contrast(ink, t.surface) >= 4.5, qPrintable(ink.name()));
      }
      for (std::size_t c = 0; c < kCategories; ++c) QVERIFY(contrast(readableOn(t.category(static_cast<Category>(c))), t.category(static_cast<Category>(c))) >= 4.5);
    }
  }
  void chartsFindTheirPoints() {
    Chart chart{.kind = ChartKind::scatter, .title = "t", .series = {{.name = "s", .color = 0, .points = {{1.0, 1.0}, {2.0, 4.0}}, .tips = {}}}, .categories = {}};
    QImage image(400, 300, QImage::Format_RGB32);
    QPainter painter(&image);
    const auto hits = paintChart(painter, QRectF(0, 0, 400, 300), chart, lightTheme(), QFont());
    QCOMPARE(hits.size(), std::size_t{2});
    QVERIFY(hits[0].rect.center().x() < hits[1].rect.center().x());
    QVERIFY(hits[0].rect.center().y() > hits[1].rect.center().y());
    QVERIFY(QRectF(0, 0, 400, 300).contains(hits[1].rect));
  }
  void svgIsWellFormedAndKeepsText() {
    Chart chart{.kind = ChartKind::stackedBars, .title = "a < b & c", .yTitle = "time", .series = {{.name = "s", .color = 0, .points = {{0.0, 2.0}}, .tips = {}}, {.name = "u", .color = 1, .points = {{0.0, 1.0}}, .tips = {}}}, .categories = {"one"}};
    SvgDevice device(QSize(400, 200), "title & more");
    QPainter painter(&device);
    QFont font;
    font.setPixelSize(12);
    paintChart(painter, QRectF(0, 0, 400, 200), chart, lightTheme(), font);
    painter.end();
    QXmlStreamReader xml(device.svg());
    bool text = false;
    int rects = 0;
    while (!xml.atEnd()) {
      xml.readNext();
      if (xml.isCharacters() && xml.text().contains(QLatin1String("a < b & c"))) text = true;
      if (xml.isStartElement() && xml.name() == QLatin1String("rect")) ++rects;
    }
    QVERIFY2(!xml.hasError(), qPrintable(xml.errorString()));
    QVERIFY(text);
    QVERIFY(rects >= 2);
  }
  void everyFieldIsNamedOnce() {
    QStringList paths;
    for (const Section& s : scenarioSections()) {
      for (const Field& f : s.fields) {
        QVERIFY(!f.label.isEmpty());
        paths << f.path;
      }
    }
    QCOMPARE(paths.removeDuplicates(), 0);
  }
};

int runModelTests(int argc, char** argv) {
  ModelTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "models_test.moc"
