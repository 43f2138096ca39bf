// What is shown says what is so: fronts, marks, states, units, colours.
#include <QHeaderView>
#include <QLineEdit>
#include <QTemporaryDir>
#include <QTest>
#include <array>

#include "gui/app/main_window.h"
#include "gui/models/plan_front.h"
#include "gui/models/result_views.h"
#include "gui/models/theme.h"
#include "gui/models/timeline_geometry.h"
#include "gui/views/timeline_painter.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/with_window.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 60000;

using Matrix = std::array<std::array<double, 3>, 3>;

double linear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

/// CIELAB (D65) of what an eye sees of a colour.
std::array<double, 3> lab(const QColor& color, const Matrix& eye) {
  const double rgb[3] = {linear(color.redF()), linear(color.greenF()), linear(color.blueF())};
  double seen[3], xyz[3];
  for (std::size_t i = 0; i < 3; ++i) seen[i] = std::clamp(eye[i][0] * rgb[0] + eye[i][1] * rgb[1] + eye[i][2] * rgb[2], 0.0, 1.0);
  constexpr double kXyz[3][3] = {{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}};
  constexpr double kWhite[3] = {0.95047, 1.0, 1.08883};
  for (std::size_t i = 0; i < 3; ++i) {
    const double t = (kXyz[i][0] * seen[0] + kXyz[i][1] * seen[1] + kXyz[i][2] * seen[2]) / kWhite[i];
    xyz[i] = t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116.0;
  }
  return {116.0 * xyz[1] - 16.0, 500.0 * (xyz[0] - xyz[1]), 200.0 * (xyz[1] - xyz[2])};
}

}  // namespace

class HonestyTests : public WithWindow {
  Q_OBJECT
 private:
  /// Names of the points of the series that is called a front.
  static QStringList frontOfChart(const Chart& chart) {
    QStringList names;
    for (const ChartSeries& s : chart.series) {
      if (!s.name.contains("front")) continue;
      for (const QString& tip : s.tips) names << tip.section(QLatin1Char('\n'), 0, 0);
    }
    names.sort();
    return names;
  }

 private Q_SLOTS:
  void frontsAreWhatNothingBeats() {
    // (1, 5) and (2, 3) beat nobody on both counts; (2, 4) is beaten by (2, 3), (3, 3) too; its equal shares the front.
    QCOMPARE(frontOf({{1, 5}, {2, 4}, {2, 3}, {3, 3}, {4, 1}, {2, 3}}), (std::vector<bool>{true, false, true, false, true, true}));
    QCOMPARE(frontOf({}), std::vector<bool>{});
  }
  void theFrontIsThatOfTheAxesShown() {
    open("llama3-8b-8xh100.json");
    show(window_->search());
    FoundPlans plans;
    // Headroom against time: a (60 free, 4 s), b (40, 2 s), c (20, 1 s) beat nobody. Cost is GPUs x time: a 32, b 16, c 16, d 12:
    // d is cheapest, c is fastest; a and b are beaten by c, which is faster and no dearer. e only has a bound, and beats nobody.
    plans.plans = {{.plan = "a", .settings = {}, .gpus = 8, .step_time = 4.0, .memory = 2e10, .headroom = 6e10, .simulated = true},
                   {.plan = "b", .settings = {}, .gpus = 8, .step_time = 2.0, .memory = 4e10, .headroom = 4e10, .simulated = true},
                   {.plan = "c", .settings = {}, .gpus = 16, .step_time = 1.0, .memory = 6e10, .headroom = 2e10, .simulated = true},
                   {.plan = "d", .settings = {}, .gpus = 4, .step_time = 3.0, .memory = 7e10, .headroom = 1e10, .simulated = true},
                   {.plan = "e", .settings = {}, .gpus = 4, .step_time = 0.5, .memory = 1e10, .headroom = 7e10, .simulated = false, .bound = true}};
    window_->search()->showPlans(plans);
    ChartView* scatter = window_->search()->charts().front();
    QCOMPARE(frontOfChart(scatter->chart()), QStringList({"a", "b", "c"}));
    window_->search()->price()->setValue(3600.0);
    window_->search()->axis()->setCurrentIndex(1);
    QCOMPARE(frontOfChart(scatter->chart()), QStringList({"c", "d"}));
    // The table says the same.
    const Table& table = window_->search()->plansTable()->table();
    QStringList said;
    for (const auto& row : table.rows) {
      if (row[static_cast<std::size_t>(columnOf(table, "front"))].text == QLatin1String("yes")) said << row[0].text;
    }
    QCOMPARE(said, QStringList({"c", "d"}));
  }
  void plansThatDifferLookDifferent() {
    open("llama3-8b-8xh100.json");
    show(window_->search());
    FoundPlans plans;
    for (const char* words : {"tp 2, pp 2 interleaved x2 (stages of 15 to 17 layers), dp 2 fsdp (units of 2 layers, prefetch 2), micro-batch 1 x 64, recompute selective in 3 layers of each chunk",
                              "tp 2, pp 2 interleaved x2 (stages of 15 to 17 layers), dp 2 fsdp (units of 2 layers, prefetch 2), micro-batch 2 x 32, recompute selective in 4 layers of each chunk, offload optimizer"}) {
      plans.plans.push_back({.plan = words, .settings = {}, .gpus = 8, .step_time = 14.67, .memory = 8.3e10, .headroom = 1e9, .simulated = true});
    }
    window_->search()->price()->setValue(2.0);
    window_->search()->showPlans(plans);
    QApplication::processEvents();
    TableView* table = window_->search()->plansTable();
    // Every column is in sight at the usual size, and no text is cut: what needs more goes on in a next line.
    const QHeaderView* header = table->view()->horizontalHeader();
    QVERIFY2(header->length() <= table->view()->viewport()->width(), qPrintable(QStringLiteral("%1 > %2").arg(header->length()).arg(table->view()->viewport()->width())));
    for (int c = 0; c < 3; ++c) {
      for (int r = 0; r < 2; ++r) {
        const QString text = table->sorted()->index(r, c).data().toString();
        const QRect needed = table->fontMetrics().boundingRect(QRect(0, 0, header->sectionSize(c) - 7, 1000), Qt::TextWordWrap, text);
        QVERIFY2(needed.height() <= table->view()->rowHeight(r) && needed.width() <= header->sectionSize(c), qPrintable(text));
      }
    }
    QCOMPARE(table->table().rows[0][1].text, QStringLiteral("1 x 64"));
    QCOMPARE(table->table().rows[1][2].text, QStringLiteral("selective in 4 layers of each chunk, offload optimizer"));
  }
  void brokenRulesStayMarkedBesideWrongValues() {
    open("llama3-8b-8xh100.json");
    retype(field("plan.tp"), "3");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->editor()->fieldError("plan.tp").isEmpty(), kPatience);
    const QString rule = window_->editor()->fieldError("plan.tp");
    // A second and a third value are wrong: all of them are marked, and the rule still is.
    retype(field("cluster.node.nic.bandwidth"), "400");
    retype(field("cluster.node.nic.latency"), "soon");
    QTest::qWait(300);
    QCOMPARE(window_->editor()->fieldError("plan.tp"), rule);
    QVERIFY(window_->editor()->fieldError("cluster.node.nic.bandwidth").contains("expected"));
    QVERIFY(window_->editor()->fieldError("cluster.node.nic.latency").contains("expected"));
    // Mended while the others are still wrong, its mark goes; broken again, it comes back, though nothing can be simulated.
    retype(field("plan.tp"), "2");
    QTRY_VERIFY_WITH_TIMEOUT(window_->editor()->fieldError("plan.tp").isEmpty(), kPatience);
    retype(field("plan.tp"), "5");
    QTRY_VERIFY_WITH_TIMEOUT(window_->editor()->fieldError("plan.tp").contains("5"), kPatience);
    // A profile that is missing is no reason to forget the rule.
    retype(field("cluster.node.nic.bandwidth"), "");
    retype(field("cluster.node.nic.latency"), "");
    window_->document().type("profile", "no/such.json", "profile");
    QTest::qWait(300);
    QVERIFY(window_->editor()->fieldError("plan.tp").contains("5"));
    window_->document().undoStack().setIndex(0);
    QTRY_VERIFY_WITH_TIMEOUT(window_->editor()->fieldError("plan.tp").isEmpty(), kPatience);
    QVERIFY(window_->editor()->banner().isEmpty());
  }
  void rulesAreMarkedWithoutSimulating() {
    open("llama3-8b-8xh100.json");
    for (QAction* action : window_->findChildren<QAction*>()) {
      if (action->text() == QLatin1String("&After every change")) action->setChecked(false);
    }
    retype(field("plan.tp"), "3");
    QTRY_VERIFY_WITH_TIMEOUT(!window_->editor()->fieldError("plan.tp").isEmpty(), kPatience);
    QVERIFY(!window_->busy());
  }
  void aBadFileAtTheStartShowsWhyAndTheSample() {
    const QTemporaryDir folder;
    QFile bad(folder.filePath("bad.json"));
    QVERIFY(bad.open(QIODevice::WriteOnly));
    bad.write("{ \"plan\": ");
    bad.close();
    for (const QString& path : {bad.fileName(), folder.filePath("absent.json"), folder.path() + QLatin1Char('/')}) {
      window_ = shownWindow();
      QVERIFY(!window_->openStart(path));
      QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
      QVERIFY(window_->simulated() && window_->simulated()->run);
      QVERIFY(window_->overview()->headline().contains("MFU"));
      QVERIFY2(window_->editor()->banner().isEmpty(), qPrintable(window_->editor()->banner()));
      // The reason stays when the sample has been simulated, and has the file's name in its heading.
      const QString name = QFileInfo(QDir::cleanPath(path)).fileName();
      QVERIFY2(window_->failurePlainText().startsWith(name + QLatin1String(" was not opened\n")), qPrintable(window_->failurePlainText()));
      QVERIFY(!window_->failurePlainText().contains("schema_version"));
    }
    // What is no scenario by itself goes into the sample.
    window_ = shownWindow();
    QVERIFY(window_->openStart(shipped("models/gpt2-124m.json")));
    QVERIFY(window_->document().value("model.config")->endsWith("gpt2-124m.json"));
    QVERIFY(window_->document().value("schema_version").has_value());
  }
  void theStatusSaysWhatWasCancelled() {
    open("gpt2-124m-1xh200-compiled.json");
    show(window_->search());
    QTest::mouseClick(window_->search()->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->search()->job().running(), kPatience);
    QVERIFY2(window_->statusText().contains("plans are legal"), qPrintable(window_->statusText()));
    // Nothing runs any more: nothing was cancelled.
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QVERIFY2(window_->statusText().startsWith("nothing runs"), qPrintable(window_->statusText()));
    window_->compare()->explain();
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QVERIFY2(window_->statusText() == QLatin1String("cancelled: Trying changes"), qPrintable(window_->statusText()));
    // A search that is asked to stop keeps its plans, and says so.
    QTest::mouseClick(window_->search()->bar()->startButton(), Qt::LeftButton);
    QTest::keyClick(window_.get(), Qt::Key_F5, Qt::ShiftModifier);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->search()->job().running(), kPatience);
    QVERIFY2(window_->statusText().startsWith("The plan search: ") && !window_->statusText().contains("cancelled"), qPrintable(window_->statusText()));
  }
  void pointsThatDoNotFitAreMarked() {
    open("llama3-8b-8xh100.json");
    show(window_->sweep());
    window_->sweep()->path(0)->setCurrentText("plan.recompute");
    retype(window_->sweep()->values(0), "full, none");
    QTest::mouseClick(window_->sweep()->bar()->startButton(), Qt::LeftButton);
    QTRY_VERIFY_WITH_TIMEOUT(!window_->sweep()->job().running(), kPatience);
    const Chart& chart = window_->sweep()->charts().front()->chart();
    QCOMPARE(chart.series.size(), std::size_t{1});
    QCOMPARE(chart.series[0].hollow, (std::vector<bool>{false, true}));
    QCOMPARE(chart.hollowName, QStringLiteral("does not fit in memory"));
    // Painted, the second point is struck out in the theme's red, the first is not.
    const QImage image = window_->sweep()->charts().front()->grab().toImage();
    const auto reds = [&](const QRectF& r) {
      int count = 0;
      for (int x = static_cast<int>(r.left()) - 3; x <= r.right() + 3; ++x) {
        for (int y = static_cast<int>(r.top()) - 3; y <= r.bottom() + 3; ++y) count += image.rect().contains(x, y) && image.pixelColor(x, y).red() > 150 && image.pixelColor(x, y).green() < 90 ? 1 : 0;
      }
      return count;
    };
    const auto& hits = window_->sweep()->charts().front()->hits();
    QCOMPARE(hits.size(), std::size_t{2});
    QVERIFY(reds(hits[0].rect) == 0 && reds(hits[1].rect) > 4);
  }
  /// Eyes of Machado, Oliveira and Fernandes 2009 (severity 1). Colours differ by 12 in CIELAB or have other strokes; of one rank's
  /// streams and of the strip above them alike.
  void categoriesAreToldApartByEveryEye() {
    const std::vector<std::pair<const char*, Matrix>> eyes = {{"all", {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}},
                                                              {"no red", {{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}}},
                                                              {"no green", {{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}}},
                                                              {"no blue", {{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}}}};
    for (const Theme& theme : {lightTheme(), darkTheme()}) {
      for (const auto& [name, eye] : eyes) {
        for (std::size_t a = 0; a < kCategories; ++a) {
          for (std::size_t b = a + 1; b < kCategories; ++b) {
            const auto ca = static_cast<Category>(a), cb = static_cast<Category>(b);
            if (hatchOf(ca) != hatchOf(cb)) continue;
            const auto x = lab(theme.category(ca), eye), y = lab(theme.category(cb), eye);
            const double apart = std::hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
            QVERIFY2(apart >= 12.0, qPrintable(QStringLiteral("%1 and %2 are %3 apart to an eye with %4, dark %5").arg(QString::fromStdString(std::string(label(ca))), QString::fromStdString(std::string(label(cb)))).arg(apart).arg(QLatin1String(name)).arg(theme.dark)));
          }
        }
        // Strokes are seen on their colour.
        for (const Category c : {Category::exposed, Category::bubble, Category::starved}) QVERIFY(contrast(theme.category(c), theme.hatchInk(c)) >= 4.5);
      }
    }
  }
  void theStripOfAllStreamsIsHatchedAndNamed() {
    TimelineData data;
    data.end = 4.0;
    data.names = {"computation", "exposed communication"};
    data.lanes.push_back({.title = "rank 0", .subtitle = "", .rank = 0, .measured = false, .rows = {{.name = "summary", .summary = true, .slices = {{0, 0, 2, kNoTask, 0, Category::computing}, {2, 2, 4, kNoTask, 1, Category::exposed}}}}});
    const auto places = place_rows(data, {false}, 1.0);
    TimelineGeometry g{.from = 0.0, .to = 4.0, .width = 400.0, .height = 60.0, .scroll = 0.0, .total = 4.0, .content = 60.0};
    const Theme theme = lightTheme();
    QFont tiny;
    tiny.setPixelSize(40);  // no room for words in a strip
    QImage image;
    TimelinePainter().paint(image, data, places, g, theme, tiny, 1.0);
    const int y = static_cast<int>(places[1].y + 5);
    int computing = 0, exposed = 0, ink = 0;
    for (int x = 2; x < 198; ++x) computing += image.pixelColor(x, y) == theme.category(Category::computing) ? 1 : 0;
    for (int x = 202; x < 398; ++x) {
      exposed += image.pixelColor(x, y) == theme.category(Category::exposed) ? 1 : 0;
      ink += image.pixelColor(x, y) == theme.hatchInk(Category::exposed) ? 1 : 0;
    }
    QCOMPARE(computing, 196);
    QCOMPARE(exposed + ink, 196);
    QVERIFY(ink > 40 && ink < 80);  // 2 of 7 pixels
  }
  void memoryHasOneMeasureInTableAndChart() {
    open("llama3-8b-8xh100.json");
    show(window_->compare());
    window_->compare()->addCurrent("kept");
    const Table& table = window_->compare()->variantTable()->table();
    const int column = columnOf(table, "memory, reserved");
    QVERIFY(column > 0);
    const Chart& bars = window_->compare()->charts()[1]->chart();
    QVERIFY(bars.title.contains("reserved") && bars.yTitle.contains("reserved"));
    double sum = 0.0;
    for (const ChartSeries& s : bars.series) sum += s.points[0].y();
    QVERIFY2(std::abs(sum / table.rows[0][static_cast<std::size_t>(column)].sort.toDouble() - 1.0) < 1e-9, qPrintable(QString::number(sum)));
    QCOMPARE(sum, window_->simulated()->run->result.reserved_memory.value());
  }
  void intervalsShowBothEnds() {
    open("llama3-8b-8xh100.json");
    const auto& r = window_->simulated()->run->result;
    const QString head = window_->overview()->headline();
    QVERIFY2(head.contains(timeText(r.interval.low.value())) && head.contains(timeText(r.interval.high.value())) && !head.contains(QChar(0x00B1)), qPrintable(head));
    const QTemporaryDir folder;
    window_->exportTo(folder.filePath("r.html"));
    QFile file(folder.filePath("r.html"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QByteArray html = file.readAll();
    QVERIFY(!html.contains("plusmn") && html.contains(timeText(r.interval.high.value()).toUtf8()));
  }
  void tablesOfTheOverviewCutNothing() {
    open("llama3-8b-8xh100.json");
    show(window_->overview());
    for (TableView* table : window_->overview()->tables()) {
      if (!table->isVisible()) continue;
      const QHeaderView* header = table->view()->horizontalHeader();
      QVERIFY2(header->length() <= table->view()->viewport()->width() + 1, qPrintable(table->table().title));
      for (int c = 0; c < header->count(); ++c) {
        for (int r = 0; r < table->sorted()->rowCount(); ++r) {
          const QString text = table->sorted()->index(r, c).data().toString();
          // One word is elided, whole when hovered.
          if (!text.contains(QLatin1Char(' ')) || table->fontMetrics().horizontalAdvance(text) <= header->sectionSize(c) - 7) continue;
          const QRect needed = table->fontMetrics().boundingRect(QRect(0, 0, std::max(1, header->sectionSize(c) - 7), 1000), Qt::TextWordWrap, text);
          QVERIFY2(needed.height() <= table->view()->rowHeight(r), qPrintable(text));
        }
      }
    }
  }
};

int runHonestyTests(int argc, char** argv) {
  HonestyTests tests;
  return QTest::qExec(&tests, argc, argv);
}

#include "honesty_test.moc"
