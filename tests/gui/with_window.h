#pragma once

#include <QApplication>
#include <QDir>
#include <QTest>

#include "tests/gui/person.h"

/// Tests that each begin with a window of their own, without work that earlier ones left.
class WithWindow : public QObject {
  Q_OBJECT
 protected:
  std::unique_ptr<sgsim::gui::MainWindow> window_;

  /// A scenario that ships, by name, or any by its path; simulated.
  void open(const QString& file) {
    QVERIFY(window_->openFile(QDir::isAbsolutePath(file) ? file : shipped(file)));
    window_->simulate();
    QTRY_VERIFY_WITH_TIMEOUT(!window_->busy(), kSoon);
    QVERIFY(window_->simulated() && window_->simulated()->run);
  }
  void show(QWidget* page) {
    window_->pages()->setCurrentWidget(page);
    QApplication::processEvents();
  }
  QLineEdit* field(const QString& path) { return qobject_cast<QLineEdit*>(window_->editor()->fieldWidget(path)); }

 protected Q_SLOTS:  // around each test
  void init() {
    forgetUnsaved();
    window_ = shownWindow();
    QVERIFY(QTest::qWaitForWindowExposed(window_.get()));
  }
  void cleanup() {
    window_.reset();
    QTRY_VERIFY_WITH_TIMEOUT(sgsim::gui::Job::threads() == 0, kSoon);
  }

 private:
  static constexpr int kSoon = 60000;  // milliseconds
};
