// Every scenario that ships, opened in the window, every view looked at.
#include <QDirIterator>
#include <QElapsedTimer>
#include <QTest>
#include <cstdio>
#include <set>

#include "gui/app/main_window.h"
#include "sim/core/text_file.h"
#include "sim/scenario/info.h"
#include "tests/gui/gui_tests.h"
#include "tests/gui/person.h"

using namespace sgsim::gui;
using namespace sgsim;

namespace {

constexpr int kPatience = 60000;

/// How many colours a picture has, up to 64: an empty page has a few.
std::size_t colors(const QImage& image) {
  std::set<QRgb> seen;
  for (int y = 0; y < image.height() && seen.size() < 64; y += 3) {
    for (int x = 0; x < image.width() && seen.size() < 64; x += 3) seen.insert(image.pixel(x, y));
  }
  return seen.size();
}

}  // namespace

class SmokeTests : public QObject {
  Q_OBJECT
 private:
  std::unique_ptr<MainWindow> window_;

 private Q_SLOTS:
  void initTestCase() {
    forgetUnsaved();
    window_ = shownWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
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
      window_->pages()->setCurrentIndex(i);
      const QImage page = window_->pages()->currentWidget()->grab().toImage();
      QVERIFY2(colors(page) > 8, qPrintable(window_->pages()->tabText(i)));
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
