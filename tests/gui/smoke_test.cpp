// Every scenario that ships, opened in the window, every view looked at.
#include <QDirIterator>
#include <QElapsedTimer>
#include <QTest>
#include <cstdio>
#include <vector>

#include "gui/app/main_window.h"
#include "sim/core/text_file.h"
#include "sim/scenario/info.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/person.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 60000;

/// Share of the pixels in which two pictures of one size differ.
double differing(const QImage& a, const QImage& b) {
  if (a.size() != b.size()) return 1.0;
  std::int64_t count = 0;
  for (int y = 0; y < a.height(); ++y) {
    for (int x = 0; x < a.width(); ++x) count += a.pixel(x, y) != b.pixel(x, y) ? 1 : 0;
  }
  return static_cast<double>(count) / (static_cast<double>(a.width()) * a.height());
}

}  // namespace

class SmokeTests : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> window_;
  std::vector<QImage> empty_;   // pages of a window that holds nothing yet

  QImage page(int i) {
    window_->pages()->setCurrentIndex(i);
    return window_->pages()->currentWidget()->grab().toImage();
  }

 private Q_SLOTS:
  void initTestCase() {
    forgetUnsaved();
    window_ = shownWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
    for (int i = 0; i < window_->pages()->count(); ++i) empty_.push_back(page(i));
  }
  void cleanupTestCase() {
    window_.reset();
    QTRY_VERIFY_WITH_TIMEOUT(Job::threads() == 0, kPatience);
  }
  void everyScenarioInTheWindow_data() {
    QTest::addColumn<QString>("file");
    QStringList files;
    QDirIterator all(shipped(QString()), {QStringLiteral("*.json")}, QDir::Files, QDirIterator::Subdirectories);
    while (all.hasNext()) {
      const QString path = all.next();
      if (path.contains(QLatin1String("/records/")) || path.contains(QLatin1String("/profiles/")) || path.contains(QLatin1String("/schema/"))) continue;
      if (scenario::kind_of(read_text_file(path.toStdString())) == scenario::FileKind::scenario) files << path;
    }
    files.sort();
    QVERIFY(files.size() >= 8);
    for (const QString& path : files) QTest::newRow(qPrintable(QDir(shipped(QString())).relativeFilePath(path))) << path;
  }
  void everyScenarioInTheWindow() {
    QFETCH(QString, file);
    QVERIFY2(window_->openFile(file), qPrintable(window_->failurePlainText()));
    QCOMPARE(window_->document().path(), file);
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kPatience);
    QVERIFY2(window_->failureText().isEmpty(), qPrintable(window_->failurePlainText()));
    QVERIFY(window_->simulated() && window_->simulated()->run);
    QVERIFY(window_->simulated()->text == window_->document().text());
    QVERIFY(window_->editor()->banner().isEmpty());
    for (int i = 0; i < window_->pages()->count(); ++i) {
      const double share = differing(page(i), empty_[static_cast<std::size_t>(i)]);
      // What a person starts herself (sweep, search, fidelity) stays as it was; the others show the scenario.
      const bool result = window_->pages()->widget(i) != window_->sweep() && window_->pages()->widget(i) != window_->search() && window_->pages()->widget(i) != window_->fidelity();
      QVERIFY2(result ? share > 0.01 : share < 0.01, qPrintable(QStringLiteral("%1: %2 of the empty page's pixels differ").arg(window_->pages()->tabText(i)).arg(share)));
    }
    QVERIFY(window_->overview()->headline().contains("MFU"));
    QVERIFY(window_->timeline()->view()->data()->tasks > 0);
    QVERIFY(!window_->memory()->charts().front()->chart().series.empty());
    QCOMPARE(static_cast<int>(window_->topology()->view()->data().gpus.size()), window_->simulated()->run->result.gpus);
    QCOMPARE(window_->compare()->variantTable()->table().rows.size(), std::size_t{1});
    QTRY_VERIFY_WITH_TIMEOUT(!window_->memory()->listing(), kPatience);
  }
};

int runSmokeTests(int argc, char** argv) {
  SmokeTests tests;
  QElapsedTimer timer;
  timer.start();
  const int failed = QTest::qExec(&tests, argc, argv);
  std::printf("every scenario in the window: %.1f s\n", static_cast<double>(timer.elapsed()) * 1e-3);
  return failed;
}

#include "smoke_test.moc"
