#include "gui/app/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QElapsedTimer>
#include <QEventLoop>
#include <cstdio>
#include <functional>

#include "gui/app/main_window.h"
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

bool picture(MainWindow& window, const QString& folder, const QString& name) {
  for (int i = 0; i < 3; ++i) QApplication::processEvents(QEventLoop::AllEvents, 50);
  const QString path = folder + QLatin1Char('/') + name + QStringLiteral(".png");
  const bool written = window.grab().save(path);
  std::printf("%s%s\n", qPrintable(path), written ? "" : " was not written");
  return written;
}

}  // namespace

int takeScreenshots(MainWindow& window, const QString& folder) {
  QDir().mkpath(folder);
  bool good = true;
  const auto wait = [&](const char* what, const std::function<bool()>& done) {
    if (waitUntil(done)) return;
    std::fprintf(stderr, "gave up waiting for %s\n", what);
    good = false;
  };
  window.simulate();
  wait("the simulation", [&] { return !window.busy(); });
  if (!window.simulated() || !window.simulated()->run) {
    good = picture(window, folder, QStringLiteral("error")) && good;
    return good ? 0 : 1;
  }
  const auto page = [&](QWidget* panel, const QString& name) {
    wait("the simulation", [&] { return !window.busy(); });
    window.pages()->setCurrentWidget(panel);
    good = picture(window, folder, name) && good;
  };
  page(window.overview(), QStringLiteral("overview"));
  window.pages()->setCurrentWidget(window.timeline());
  QApplication::processEvents();
  page(window.timeline(), QStringLiteral("timeline"));
  TimelineView* view = window.timeline()->view();
  if (const auto found = find_slices(*view->data(), "backward", 200); !found.empty()) {
    const Slice& task = view->data()->at(found[found.size() / 2]);
    view->select(found[found.size() / 2], true);
    const double room = 4.0 * (task.end - task.start);
    view->zoomTo(task.start - room, task.end + room);
    page(window.timeline(), QStringLiteral("timeline-task"));
    view->select(std::nullopt, false);
    view->fitAll();
  }
  if (window.timeline()->pathBox()->isEnabled()) {
    window.timeline()->pathBox()->setChecked(true);
    page(window.timeline(), QStringLiteral("timeline-critical-path"));
    window.timeline()->pathBox()->setChecked(false);
  }
  window.pages()->setCurrentWidget(window.memory());
  wait("what is live", [&] { return !window.memory()->listing(); });
  page(window.memory(), QStringLiteral("memory"));
  window.topology()->view()->select(TopologyPlace{false, 0, 0});
  page(window.topology(), QStringLiteral("topology"));
  // Compare: the same with twice the recomputation's opposite, whatever that does.
  window.compare()->addCurrent(QObject::tr("as opened"));
  window.document().set(QStringLiteral("plan.recompute"), window.document().value(QStringLiteral("plan.recompute")).value_or(QStringLiteral("none")) == QLatin1String("full") ? std::string("\"selective\"") : std::string("\"full\""), QObject::tr("change recompute"));
  window.simulate();
  wait("the second simulation", [&] { return !window.busy(); });
  window.compare()->explain();
  wait("the changes", [&] { return !window.compare()->job().running(); });
  window.compare()->pages()->setCurrentIndex(0);
  page(window.compare(), QStringLiteral("compare"));
  window.compare()->pages()->setCurrentIndex(2);
  page(window.compare(), QStringLiteral("compare-timelines"));
  window.compare()->pages()->setCurrentWidget(window.compare()->changesTable());
  page(window.compare(), QStringLiteral("what-would-help"));
  page(window.sweep(), QStringLiteral("sweep-empty"));
  page(window.search(), QStringLiteral("plan-search-empty"));
  window.sweep()->path(0)->setCurrentText(QStringLiteral("cluster.nodes"));
  window.sweep()->values(0)->setText(QStringLiteral("1, 2, 4, 8"));
  window.sweep()->path(1)->setCurrentText(QStringLiteral("plan.recompute"));
  window.sweep()->values(1)->setText(QStringLiteral("none, full"));
  window.document().set(QStringLiteral("plan.dp"), std::string("\"fill\""), QObject::tr("change data parallel"));
  const auto batch = window.document().value(QStringLiteral("plan.global_batch"));
  window.document().set(QStringLiteral("plan.global_batch"), std::to_string(std::max<qlonglong>(128, batch.value_or(QString()).toLongLong())), QObject::tr("change global batch"));
  window.sweep()->run();
  wait("the sweep", [&] { return !window.sweep()->job().running(); });
  page(window.sweep(), QStringLiteral("sweep"));
  window.search()->budget()->setValue(kSearch);
  window.search()->run();
  wait("the plan search", [&] { return !window.search()->job().running(); });
  if (!window.search()->plansTable()->table().rows.empty()) window.search()->plansTable()->selectRow(0);
  page(window.search(), QStringLiteral("plan-search"));
  window.search()->axis()->setCurrentIndex(1);
  page(window.search(), QStringLiteral("plan-search-no-price"));
  window.search()->price()->setValue(2.0);
  page(window.search(), QStringLiteral("plan-search-cost"));
  window.search()->axis()->setCurrentIndex(0);
  page(window.fidelity(), QStringLiteral("fidelity-empty"));
  const QString records = QString::fromStdString(scenario::data_folder()) + QStringLiteral("/records");
  QStringList files;
  for (const char* name : {"h200.json.gz", "megatron_sc21.json.gz", "torchtitan.json.gz"}) {
    if (QFileInfo::exists(records + QLatin1Char('/') + QLatin1String(name))) files << records + QLatin1Char('/') + QLatin1String(name);
  }
  if (const QString own = qEnvironmentVariable("SGSIM_PLANNER_RECORDS"); !own.isEmpty()) files = own.split(QLatin1Char(':'));
  if (!files.isEmpty()) {
    window.fidelity()->openFiles(files);
    wait("the comparison", [&] { return !window.fidelity()->job().running(); });
    if (!window.fidelity()->rowsTable()->table().rows.empty()) window.fidelity()->rowsTable()->selectRow(0);
    page(window.fidelity(), QStringLiteral("fidelity"));
  }
  try {
    window.pages()->setCurrentWidget(window.timeline());
    QApplication::processEvents();
    window.exportTo(folder + QStringLiteral("/report.html"));
    std::printf("%s/report.html\n", qPrintable(folder));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    good = false;
  }
  window.setTheme(QStringLiteral("dark"));
  for (const auto& [panel, name] : std::initializer_list<std::pair<QWidget*, const char*>>{{window.overview(), "overview"}, {window.timeline(), "timeline"}, {window.memory(), "memory"}, {window.topology(), "topology"}, {window.search(), "plan-search"}}) {
    window.pages()->setCurrentWidget(panel);
    wait("what is live", [&] { return !window.memory()->listing(); });
    page(panel, QStringLiteral("%1-dark").arg(QLatin1String(name)));
  }
  window.setTheme(QStringLiteral("light"));
  window.document().type(QStringLiteral("plan.tp"), QStringLiteral("3"), QObject::tr("change tensor parallel"));
  window.simulate();
  wait("the refused plan", [&] { return !window.busy(); });
  page(window.overview(), QStringLiteral("illegal-plan"));
  page(window.timeline(), QStringLiteral("timeline-refused"));
  page(window.memory(), QStringLiteral("memory-refused"));
  window.document().type(QStringLiteral("cluster.node.nic.bandwidth"), QStringLiteral("400"), QObject::tr("change port bandwidth"));
  page(window.overview(), QStringLiteral("wrong-value"));
  window.document().undoStack().undo();
  window.document().undoStack().undo();
  window.document().type(QStringLiteral("profile"), QStringLiteral("no/such/profile.json"), QObject::tr("change profile"));
  window.simulate();
  wait("the failing simulation", [&] { return !window.busy(); });
  page(window.overview(), QStringLiteral("failure"));
  window.document().undoStack().undo();
  return good ? 0 : 1;
}

}  // namespace sgsim::gui
