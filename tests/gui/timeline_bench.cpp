// Frame times of the timeline: 1,000,000 tasks, pan and zoom, 1920x1080, offscreen raster. Prints the median and the slowest
// frame of each part, and what opening takes (from recorded tasks to the first frame). Exit code 1 above 16 ms or 2 s of the
// thread's processor time: painting is one thread's work, and other programs on the machine are not the timeline's doing.
#include <QApplication>
#include <QElapsedTimer>
#include <QImage>
#include <QScrollBar>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <vector>

#include "gui/views/timeline_view.h"

namespace {

using sgsim::gui::TimelineView;

constexpr int kRanks = 32, kStreams = 4;
constexpr int kTasks = 1'000'000;
constexpr double kMostFrame = 16.0, kMostOpen = 2000.0;  // ms

/// 32 ranks of 4 streams; tasks of log-normal length (sigma 1.2), a third of the streams communicate and sometimes wait.
sgsim::scenario::Run synthetic_run() {
  using namespace sgsim;
  scenario::Run run;
  auto& s = run.simulation;
  std::mt19937 random(7);
  std::lognormal_distribution<double> length(0.0, 1.2);
  lower::Program program;
  program.name = "stage 0";
  program.streams = {"compute", "tp", "dp", "pp"};
  for (int i = 0; i < 200; ++i) program.names.push_back("kernel of layer " + std::to_string(i));
  for (std::uint8_t phase = 0; phase < 3; ++phase) {
    for (std::uint32_t n = 0; n < 60; ++n) program.segments.push_back({.name = NameId{n}, .first_kernel = 0, .kernel_count = 0, .phase = phase, .recompute = {}});
  }
  program.comms.push_back({.slot = 0, .name = NameId{180}, .transfer = {}, .payload = {}});
  constexpr int kPerStream = kTasks / kRanks / kStreams;
  for (int i = 0; i < kPerStream; ++i) {
    for (std::uint16_t stream = 0; stream < kStreams; ++stream) {
      lower::Task task;
      task.stream = stream;
      task.kind = stream == 0 ? lower::TaskKind::compute : lower::TaskKind::collective;
      task.segment = static_cast<std::uint32_t>(random() % 180);
      program.tasks.push_back(task);
    }
  }
  s.workload.programs.push_back(std::move(program));
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    s.workload.ranks.push_back({.program = ProgramId{0}, .gpu = GpuId{rank}, .groups = {}});
    s.timeline.multiplicity.push_back(1);
    s.timeline.representative.push_back(RankId{rank});
    double at[kStreams] = {};
    for (std::uint32_t t = 0; t < static_cast<std::uint32_t>(kPerStream * kStreams); ++t) {
      const auto stream = static_cast<std::uint16_t>(t % kStreams);
      const double arrival = at[stream], wait = stream != 0 && random() % 3 == 0 ? 2e-5 : 0.0;
      const double end = arrival + wait + 1e-4 * length(random);
      s.timeline.spans.push_back({.rank = rank, .task = t, .stream = stream, .arrival = Seconds(arrival), .start = Seconds(arrival + wait), .end = Seconds(end)});
      at[stream] = end + (random() % 4 == 0 ? 3e-5 : 0.0);
    }
  }
  for (const auto& span : s.timeline.spans) s.timeline.step_time = std::max(s.timeline.step_time, span.end);
  return run;
}

double worst_of_all = 0.0;

/// Processor time of this thread, ms.
double processor_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

template <class Move>
void measure(const char* what, TimelineView& view, QImage& image, int frames, Move move) {
  std::vector<double> ms, wall;
  for (int i = 0; i < frames; ++i) {
    move(i);
    QElapsedTimer timer;
    timer.start();
    const double before = processor_ms();
    view.render(&image);
    ms.push_back(processor_ms() - before);
    wall.push_back(static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  }
  std::sort(ms.begin(), ms.end());
  std::sort(wall.begin(), wall.end());
  const double p99 = ms[ms.size() * 99 / 100];
  worst_of_all = std::max(worst_of_all, p99);
  std::printf("%-34s %4d frames  median %6.2f ms  99 %% %6.2f ms  slowest %6.2f ms  (wall median %6.2f ms)\n", what, frames, ms[ms.size() / 2], p99, ms.back(), wall[wall.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  QApplication app(argc, argv);
  const sgsim::scenario::Run run = synthetic_run();
  TimelineView view;
  view.resize(1920, 1080);
  QImage image(1920, 1080, QImage::Format_RGB32);
  QElapsedTimer timer;
  timer.start();
  const double opened = processor_ms();
  auto data = std::make_shared<sgsim::gui::TimelineData>(sgsim::gui::timeline_of(run));
  view.setData(data);
  view.show();
  view.render(&image);
  const double open = processor_ms() - opened;
  std::printf("%llu tasks in %zu lanes; opening %.0f ms (wall %.0f ms)\n", static_cast<unsigned long long>(data->tasks), data->lanes.size(), open, static_cast<double>(timer.nsecsElapsed()) * 1e-6);
  if (argc > 1) image.save(QString::fromLocal8Bit(argv[1]));
  measure("everything, unmoved", view, image, 60, [](int) {});
  measure("everything, moved a little", view, image, 120, [&](int i) { view.zoomTo(data->end * (0.00001 * i), data->end); });
  measure("scroll through all lanes", view, image, 120, [&](int i) { view.verticalScrollBar()->setValue(view.verticalScrollBar()->maximum() * i / 120); });
  view.verticalScrollBar()->setValue(0);
  measure("zoom in, 10^5 times", view, image, 240, [&](int) { view.zoomBy(0.953); });
  measure("zoom out again", view, image, 240, [&](int) { view.zoomBy(1.0 / 0.953); });
  for (const double part : {0.3, 0.03, 0.003, 0.0003}) {
    const double span = data->end * part;
    char name[64];
    std::snprintf(name, sizeof name, "pan, %g %% of the step in view", part * 100.0);
    measure(name, view, image, 120, [&](int i) { view.zoomTo((data->end - span) * i / 120.0, (data->end - span) * i / 120.0 + span); });
  }
  const bool good = worst_of_all <= kMostFrame && open <= kMostOpen;
  std::printf("largest 99 %% %.2f ms (at most %.0f), opening %.0f ms (at most %.0f): %s\n", worst_of_all, kMostFrame, open, kMostOpen, good ? "good" : "TOO SLOW");
  return good ? 0 : 1;
}
