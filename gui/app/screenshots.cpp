#include "gui/app/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTemporaryFile>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>

#include "gui/app/main_window.h"
#include "gui/models/theme.h"
#include "sim/scenario/read.h"

namespace sgsim::gui {
namespace {

constexpr int kPatience = 120'000;  // ms for one piece of work
constexpr double kSearch = 60.0;    // s that the plan search may take: a picture of it is marked partial if it needs more

bool waitUntil(const std::function<bool()>& done) {
  QElapsedTimer timer;
  timer.start();
  while (!done()) {
    if (timer.elapsed() > kPatience) return false;
    QApplication::processEvents(QEventLoop::AllEvents | QEventLoop::WaitForMoreEvents, 50);
  }
  return true;
}

/// A walk through the window that takes pictures: each in the theme that the window came with and in the other one, of the same state.
class Walk {
 public:
  Walk(MainWindow& window, QString folder) : window_(window), folder_(std::move(folder)), dark_(themeOf(QApplication::palette()).dark) {}

  int run() {
    simulate();
    if (!window_.simulated() || !window_.simulated()->run) {
      take(window_.overview(), QStringLiteral("error"));
      return good_ ? 0 : 1;
    }
    empty();
    simulated();
    compared();
    const std::string opened = window_.document().text();
    swept();
    searched();
    measured();
    report();
    window_.document().replaceText(opened, QObject::tr("as opened"));
    wrong();
    return good_ ? 0 : 1;
  }

 private:
  void wait(const char* what, const std::function<bool()>& done) {
    if (waitUntil(done)) return;
    std::fprintf(stderr, "gave up waiting for %s\n", what);
    good_ = false;
  }
  void simulate() {
    window_.simulate();
    wait("the simulation", [&] { return !window_.busy(); });
  }
  void write(const QString& name) {
    for (int i = 0; i < 3; ++i) QApplication::processEvents(QEventLoop::AllEvents, 50);
    const QString path = folder_ + QLatin1Char('/') + name + QStringLiteral(".png");
    const bool written = window_.grab().save(path);
    std::printf("%s%s\n", qPrintable(path), written ? "" : " was not written");
    good_ = good_ && written;
  }
  void take(QWidget* page, const QString& name) {
    wait("the simulation", [&] { return !window_.busy(); });
    window_.pages()->setCurrentWidget(page);
    QApplication::processEvents();
    wait("what is live", [&] { return !window_.memory()->listing(); });
    write(name);
    window_.setTheme(dark_ ? QStringLiteral("light") : QStringLiteral("dark"));
    write(name + (dark_ ? QStringLiteral("-light") : QStringLiteral("-dark")));
    window_.setTheme(dark_ ? QStringLiteral("dark") : QStringLiteral("light"));
  }

  /// Pages on which a person starts something, before she did.
  void empty() {
    take(window_.sweep(), QStringLiteral("sweep-empty"));
    take(window_.search(), QStringLiteral("plan-search-empty"));
    take(window_.fidelity(), QStringLiteral("fidelity-empty"));
  }
  void simulated() {
    take(window_.overview(), QStringLiteral("overview"));
    take(window_.timeline(), QStringLiteral("timeline"));
    TimelineView* view = window_.timeline()->view();
    if (const auto found = find_slices(*view->data(), "backward", 200); !found.empty()) {
      const Slice& task = view->data()->at(found[found.size() / 2]);
      view->select(found[found.size() / 2], true);
      const double room = 4.0 * (task.end - task.start);
      view->zoomTo(task.start - room, task.end + room);
      take(window_.timeline(), QStringLiteral("timeline-task"));
      view->select(std::nullopt, false);
      view->fitAll();
    }
    if (window_.timeline()->pathBox()->isEnabled()) {
      window_.timeline()->pathBox()->setChecked(true);
      take(window_.timeline(), QStringLiteral("timeline-critical-path"));
      window_.timeline()->pathBox()->setChecked(false);
    }
    take(window_.memory(), QStringLiteral("memory"));
    window_.topology()->view()->select(TopologyPlace{false, 0, 0});
    take(window_.topology(), QStringLiteral("topology"));
    take(window_.compare(), QStringLiteral("compare-one"));
  }
  /// Beside the scenario, the same with the opposite of its recomputation, whatever that does.
  void compared() {
    ComparePanel* compare = window_.compare();
    compare->addCurrent(QObject::tr("as opened"));
    const bool full = window_.document().value(QStringLiteral("plan.recompute")) == std::optional<QString>(QStringLiteral("full"));
    window_.document().set(QStringLiteral("plan.recompute"), full ? std::string("\"selective\"") : std::string("\"full\""), QObject::tr("change recompute"));
    simulate();
    compare->explain();
    wait("the changes", [&] { return !compare->job().running(); });
    const char* names[] = {"compare", "compare-difference", "compare-timelines", "compare-memory", "what-would-help"};
    for (int i = 0; i < 5 && i < compare->pages()->count(); ++i) {
      compare->pages()->setCurrentIndex(i);
      take(compare, QLatin1String(names[i]));
    }
    take(window_.overview(), QStringLiteral("overview-does-not-fit"));
    window_.document().undoStack().undo();
    simulate();
  }
  void swept() {
    SweepPanel* sweep = window_.sweep();
    sweep->path(0)->setCurrentText(QStringLiteral("cluster.nodes"));
    sweep->values(0)->setText(QStringLiteral("1, 2, 4, 8"));
    sweep->path(1)->setCurrentText(QStringLiteral("plan.recompute"));
    sweep->values(1)->setText(QStringLiteral("none, full"));
    window_.document().set(QStringLiteral("plan.dp"), std::string("\"fill\""), QObject::tr("change data parallel"));
    const auto batch = window_.document().value(QStringLiteral("plan.global_batch"));
    window_.document().set(QStringLiteral("plan.global_batch"), std::to_string(std::max<qlonglong>(128, batch.value_or(QString()).toLongLong())), QObject::tr("change global batch"));
    simulate();
    sweep->run();
    wait("the sweep", [&] { return !sweep->job().running(); });
    take(sweep, QStringLiteral("sweep"));
  }
  void searched() {
    SearchPanel* search = window_.search();
    search->budget()->setValue(kSearch);
    search->run();
    wait("the plan search to be under way", [&] { return !search->job().running() || search->job().fraction() > 0.1; });
    if (search->job().running()) take(search, QStringLiteral("plan-search-running"));
    wait("the plan search", [&] { return !search->job().running(); });
    if (!search->plansTable()->table().rows.empty()) search->plansTable()->selectRow(0);
    take(search, QStringLiteral("plan-search"));
    search->axis()->setCurrentIndex(1);
    take(search, QStringLiteral("plan-search-no-price"));
    // On one number of GPUs what is fastest is cheapest: cost is a choice where their number is one.
    search->price()->setValue(2.0);
    search->nodes()->setText(QStringLiteral("1, 2, 4"));
    search->run();
    wait("the search on more nodes", [&] { return !search->job().running(); });
    take(search, QStringLiteral("plan-search-cost"));
  }
  void measured() {
    const QString records = QString::fromStdString(scenario::data_folder()) + QStringLiteral("/records");
    QStringList files;
    for (const char* name : {"h200.json.gz", "megatron_sc21.json.gz", "torchtitan.json.gz"}) {
      if (QFileInfo::exists(records + QLatin1Char('/') + QLatin1String(name))) files << records + QLatin1Char('/') + QLatin1String(name);
    }
    if (const QString own = qEnvironmentVariable("SGSIM_PLANNER_RECORDS"); !own.isEmpty()) files = own.split(QLatin1Char(':'));
    if (files.isEmpty()) return;
    FidelityPanel* fidelity = window_.fidelity();
    fidelity->openFiles(files);
    wait("the comparison", [&] { return !fidelity->job().running(); });
    if (!fidelity->rowsTable()->table().rows.empty()) fidelity->rowsTable()->selectRow(0);
    take(fidelity, QStringLiteral("fidelity"));
  }
  void report() {
    try {
      window_.pages()->setCurrentWidget(window_.timeline());
      QApplication::processEvents();
      window_.exportTo(folder_ + QStringLiteral("/report.html"));
      std::printf("%s/report.html\n", qPrintable(folder_));
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      good_ = false;
    }
  }
  /// A plan that breaks rules, beside that a wrong value, and a failure.
  void wrong() {
    window_.document().type(QStringLiteral("plan.tp"), QStringLiteral("3"), QObject::tr("change tensor parallel"));
    simulate();
    take(window_.overview(), QStringLiteral("illegal-plan"));
    take(window_.timeline(), QStringLiteral("timeline-refused"));
    take(window_.memory(), QStringLiteral("memory-refused"));
    window_.document().type(QStringLiteral("cluster.node.nic.bandwidth"), QStringLiteral("400"), QObject::tr("change port bandwidth"));
    take(window_.topology(), QStringLiteral("topology-wrong-value"));
    take(window_.overview(), QStringLiteral("wrong-value"));
    window_.document().undoStack().undo();
    window_.document().undoStack().undo();
    simulate();
    window_.document().type(QStringLiteral("profile"), QStringLiteral("no/such/profile.json"), QObject::tr("change profile"));
    simulate();
    take(window_.overview(), QStringLiteral("failure"));
    window_.document().undoStack().undo();
    simulate();
    window_.openFile(QStringLiteral("/home/me/no-such-file.json"));
    take(window_.overview(), QStringLiteral("bad-file"));
  }

  MainWindow& window_;
  QString folder_;
  bool dark_, good_ = true;
};

}  // namespace

QString whyNotInto(const QString& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder.toStdString(), error);
  if (error) return QString::fromStdString(error.message());
  QTemporaryFile probe(folder + QStringLiteral("/probe-XXXXXX"));
  return probe.open() ? QString() : probe.errorString();
}

int takeScreenshots(MainWindow& window, const QString& folder) { return Walk(window, folder).run(); }

}  // namespace sgsim::gui
