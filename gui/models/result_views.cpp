#include "gui/models/result_views.h"

#include <algorithm>
#include <map>

#include "gui/models/cells.h"
#include "gui/models/theme.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/report.h"
#include "sim/scenario/text_table.h"
#include "sim/scenario/variants.h"

namespace sgsim::gui {
namespace {

struct Part {
  const char* name;
  Seconds scenario::Result::*time;
  int color;
};
constexpr int as(Category category) { return Theme::kOfCategory + static_cast<int>(category); }
// Colours and strokes of the timeline's strip of all streams.
constexpr Part kParts[] = {{"computation", &scenario::Result::compute, as(Category::computing)}, {"exposed communication", &scenario::Result::exposed_comm, as(Category::exposed)},
                           {"bubble", &scenario::Result::bubble, as(Category::bubble)},          {"host-bound", &scenario::Result::host_bound, as(Category::starved)},
                           {"other idle", &scenario::Result::other_idle, 7}};
constexpr int kMemoryColors[lower::kMemoryClasses] = {0, 4, 2, 1, 3, 5, 6};

}  // namespace

QString intervalText(const scenario::Result& r) { return QObject::tr("90 %: %1 to %2").arg(timeText(r.interval.low.value()), timeText(r.interval.high.value())); }

Table figuresTable(const scenario::Result& r) {
  Table t = tableOf(QObject::tr("Prediction"), {QObject::tr("figure"), QObject::tr("value"), QObject::tr("about it")}, QStringLiteral("lrl"));
  t.rows.push_back({QObject::tr("step time"), timeCell(r.step_time), QObject::tr("90 % interval %1 to %2").arg(timeText(r.interval.low.value()), timeText(r.interval.high.value()))});
  if (r.tokens_per_second > 0) t.rows.push_back({QObject::tr("throughput"), {QObject::tr("%1 tokens/s").arg(numberText(r.tokens_per_second)), r.tokens_per_second}, QObject::tr("%1 tokens/s a GPU").arg(numberText(r.tokens_per_second / std::max(1, r.gpus)))});
  t.rows.push_back({QObject::tr("samples"), {QObject::tr("%1 /s").arg(numberText(r.samples_per_second)), r.samples_per_second}, QString()});
  t.rows.push_back({QObject::tr("MFU"), shareCell(r.mfu), qstr(scenario::mfu_formula(r))});
  t.rows.push_back({QObject::tr("HFU"), shareCell(r.hfu), QObject::tr("the same with recomputation counted")});
  t.rows.push_back({QObject::tr("memory, reserved"), bytesCell(r.reserved_memory), r.fits ? QObject::tr("of %1: fits, %2 free").arg(bytesText(r.capacity.value()), bytesText((r.capacity - r.reserved_memory).value()))
                                                                                     : QObject::tr("of %1: DOES NOT FIT, %2 too much").arg(bytesText(r.capacity.value()), bytesText((r.reserved_memory - r.capacity).value()))});
  t.rows.push_back({QObject::tr("memory, allocated"), bytesCell(r.peak_memory), QObject::tr("to tensors, at the peak of the fullest rank")});
  t.rows.push_back({QObject::tr("ranks"), countCell(r.gpus), QObject::tr("%1 simulated, %2 tasks, %3 engine").arg(qstr(scenario::grouped(r.rank_classes)), qstr(scenario::grouped(static_cast<std::int64_t>(r.tasks))), qstr(r.engine))});
  return t;
}

Table stepTable(const scenario::Result& r) {
  Table t = tableOf(QObject::tr("Where the step goes"), {QObject::tr("part"), QObject::tr("time"), QObject::tr("of step"), QObject::tr("rests on")}, QStringLiteral("lrrl"));
  const double step = std::max(r.step_time.value(), 1e-30);
  const auto row = [&](const QString& name, Seconds time, const QString& rests) { t.rows.push_back({name, timeCell(time), shareCell(time.value() / step), rests}); };
  row(QObject::tr("computation"), r.compute, qstr(scenario::sources_text(r.compute_sources)));
  row(QObject::tr("exposed communication"), r.exposed_comm, qstr(scenario::sources_text(r.comm_sources)));
  row(QObject::tr("bubble (waiting for ranks)"), r.bubble, QObject::tr("what is waited for"));
  row(QObject::tr("host-bound"), r.host_bound, QObject::tr("launch times: %1").arg(qstr(scenario::sources_text(r.host_sources))));
  row(QObject::tr("other idle"), r.other_idle, QString());
  row(QObject::tr("(communication overlapped)"), r.overlapped_comm, QObject::tr("part of computation"));
  return t;
}

Table classesTable(const scenario::Result& r) {
  Table t = tableOf(QObject::tr("Ranks by class"),
                    {QObject::tr("class"), QObject::tr("ranks"), QObject::tr("compute"), QObject::tr("exposed comm"), QObject::tr("bubble"), QObject::tr("host-bound"), QObject::tr("ends at"), QObject::tr("memory, reserved")},
                    QStringLiteral("lrrrrrrr"));
  for (const auto& c : r.classes) {
    t.rows.push_back({qstr(c.name), countCell(c.ranks), timeCell(c.time.compute), timeCell(c.time.exposed_comm), timeCell(c.time.bubble), timeCell(c.time.host_bound), timeCell(c.time.end), bytesCell(c.reserved)});
  }
  return t;
}

Table timesTable(const QString& title, const std::vector<scenario::NamedTime>& times, double step) {
  Table t = tableOf(title, {QObject::tr("name"), QObject::tr("time"), QObject::tr("of step"), QObject::tr("launches")}, QStringLiteral("lrrr"));
  for (const auto& n : times) {
    t.rows.push_back({qstr(n.name), timeCell(n.time), shareCell(n.time.value() / std::max(step, 1e-30)), countCell(static_cast<std::int64_t>(n.launches))});
  }
  return t;
}

Table pathTable(const std::vector<scenario::PathTime>& path, double step) {
  Table t = tableOf(QObject::tr("Critical path"), {QObject::tr("time"), QObject::tr("of step"), QObject::tr("name"), QObject::tr("kind")}, QStringLiteral("rrll"));
  for (const auto& p : path) t.rows.push_back({timeCell(p.time), shareCell(p.time.value() / std::max(step, 1e-30)), longCell(qstr(p.name)), qstr(std::string(scenario::label(p.kind)))});
  return t;
}

Table notesTable(const scenario::Result& r) {
  Table t = tableOf(QObject::tr("Notes"), {QObject::tr("kind"), QObject::tr("count"), QObject::tr("what")}, QStringLiteral("lrl"));
  for (const auto& n : r.notes) t.rows.push_back({qstr(n.rule), {QStringLiteral("1"), 1.0}, qstr(n.message)});
  for (const auto& [key, d] : r.diagnostics.entries()) t.rows.push_back({qstr(key), countCell(static_cast<std::int64_t>(d.count)), qstr(d.example)});
  return t;
}

Table kindsTable(const scenario::MemoryAt& at, bool peak) {
  Table t = tableOf(peak ? QObject::tr("At the peak, %1").arg(timeText(at.time.value())) : QObject::tr("At %1").arg(timeText(at.time.value())), {QObject::tr("kind"), QObject::tr("bytes"), QObject::tr("share")}, QStringLiteral("lrr"));
  double sum = 0.0;
  for (const Bytes b : at.by_class) sum += b.value();
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) {
    const double bytes = at.by_class[k].value();
    if (bytes > 0.0) t.rows.push_back({qstr(std::string(scenario::label(static_cast<lower::MemoryClass>(k)))), bytesCell(bytes), shareCell(bytes / std::max(1.0, sum))});
  }
  t.rows.push_back({QObject::tr("all"), bytesCell(sum), shareCell(sum > 0.0 ? 1.0 : 0.0)});
  return t;
}

Table itemsTable(const std::vector<lower::LiveItem>& items, double seconds) {
  constexpr std::size_t kMost = 2000;
  Table t = tableOf(QObject::tr("Live at %1: %2 items, largest first").arg(timeText(seconds)).arg(items.size()),
                    {QObject::tr("what"), QObject::tr("where"), QObject::tr("micro-batch"), QObject::tr("kind"), QObject::tr("bytes")}, QStringLiteral("llrlr"));
  double rest = 0.0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const lower::LiveItem& item = items[i];
    if (i >= kMost) {
      rest += item.bytes.value();
      continue;
    }
    t.rows.push_back({qstr(item.what), qstr(scenario::place_words(item.of)), item.micro_batch < 0 ? Cell(QString(), -1.0) : Cell(QString::number(item.micro_batch), item.micro_batch),
                      qstr(std::string(scenario::label(item.memory_class))), bytesCell(item.bytes)});
  }
  if (rest > 0.0) t.rows.push_back({QObject::tr("%1 smaller ones").arg(items.size() - kMost), QString(), Cell(QString(), -1.0), QString(), bytesCell(rest)});
  return t;
}

Table changesTable(const scenario::Explanation& e) {
  Table t = tableOf(QObject::tr("What would help"), {QObject::tr("change"), QObject::tr("throughput"), QObject::tr("step time"), QObject::tr("memory added"), QObject::tr("fits"), QObject::tr("settings")}, QStringLiteral("lrrrll"));
  for (const auto& c : e.changes) {
    t.rows.push_back({qstr(c.variant.name), changeCell(c.gain), timeCell(c.result.step_time), bytesCell(c.memory_added), c.result.fits ? QObject::tr("yes") : QObject::tr("no"), qstr(scenario::flags_text(c.variant))});
  }
  for (const auto& d : e.dropped) t.rows.push_back({qstr(d.variant.name), {QStringLiteral("-"), -1e9}, {QStringLiteral("-"), 1e18}, {QStringLiteral("-"), 0.0}, QObject::tr("no: %1").arg(qstr(d.reason)), qstr(scenario::flags_text(d.variant))});
  return t;
}

Table compareTable(const std::vector<NamedResult>& results) {
  Table t = tableOf(QObject::tr("Variants"), {QObject::tr("variant"), QObject::tr("step time"), QObject::tr("against first"), QObject::tr("samples/s"), QObject::tr("MFU"), QObject::tr("compute"), QObject::tr("exposed comm"), QObject::tr("bubble"), QObject::tr("host-bound"), QObject::tr("memory, reserved"), QObject::tr("fits")}, QStringLiteral("lrrrrrrrrrl"));
  for (const NamedResult& n : results) {
    const auto& r = *n.result;
    const double against = r.step_time / results.front().result->step_time - 1.0;
    t.rows.push_back({n.name, timeCell(r.step_time), &n == &results.front() ? Cell(QStringLiteral("-"), 0.0) : changeCell(against), numberCell(r.samples_per_second), shareCell(r.mfu),
                      timeCell(r.compute), timeCell(r.exposed_comm), timeCell(r.bubble), timeCell(r.host_bound), bytesCell(r.reserved_memory), r.fits ? QObject::tr("yes") : QObject::tr("no")});
  }
  return t;
}

Table differenceTable(const NamedResult& base, const NamedResult& other) {
  Table t = tableOf(QObject::tr("%1 against %2").arg(other.name, base.name), {QObject::tr("kernel or communication"), base.name, other.name, QObject::tr("difference")}, QStringLiteral("lrrr"));
  std::map<std::string, std::pair<double, double>> times;
  for (const auto* list : {&base.result->kernels, &base.result->communication}) {
    for (const auto& n : *list) times[n.name].first += n.time.value();
  }
  for (const auto* list : {&other.result->kernels, &other.result->communication}) {
    for (const auto& n : *list) times[n.name].second += n.time.value();
  }
  std::vector<std::pair<std::string, std::pair<double, double>>> sorted(times.begin(), times.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return std::abs(a.second.second - a.second.first) > std::abs(b.second.second - b.second.first); });
  for (const auto& [name, pair] : sorted) {
    const double d = pair.second - pair.first;
    t.rows.push_back({qstr(name), timeCell(pair.first), timeCell(pair.second), {(d > 0 ? QStringLiteral("+") : QString()) + timeText(d), d}});
  }
  return t;
}

Chart breakdownChart(const std::vector<NamedResult>& results) {
  Chart c{.kind = ChartKind::stackedBars, .title = QObject::tr("Where the step goes (mean over ranks)"), .xTitle = QObject::tr("variant"), .yTitle = QObject::tr("time of one step"), .empty = QObject::tr("Nothing simulated yet."), .series = {}, .categories = {}, .xText = {}, .yText = timeText};
  for (const NamedResult& n : results) c.categories << n.name;
  for (const Part& part : kParts) {
    ChartSeries s{.name = QObject::tr(part.name), .color = part.color, .points = {}, .tips = {}};
    bool any = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto& r = *results[i].result;
      const double v = (r.*part.time).value();
      any = any || v > r.step_time.value() * 1e-6;
      s.points.emplace_back(static_cast<double>(i), v);
      s.tips.push_back(QStringLiteral("%1\n%2: %3 (%4 of the step)").arg(results[i].name, s.name, timeText(v), percentText(v / r.step_time.value())));
    }
    if (any) c.series.push_back(std::move(s));
  }
  return c;
}

Chart memoryBars(const std::vector<NamedResult>& results) {
  Chart c{.kind = ChartKind::stackedBars, .title = QObject::tr("Memory reserved on the fullest GPU, by what it holds at the peak"), .xTitle = QObject::tr("variant"), .yTitle = QObject::tr("memory, reserved, on one GPU"), .empty = QObject::tr("Nothing simulated yet."), .series = {}, .categories = {}, .xText = {}, .yText = bytesText};
  c.unitY = 1073741824.0;
  for (const NamedResult& n : results) c.categories << n.name;
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) {
    ChartSeries s{.name = qstr(std::string(scenario::label(static_cast<lower::MemoryClass>(k)))), .color = kMemoryColors[k], .points = {}, .tips = {}};
    bool any = false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto& classes = results[i].result->classes;
      const auto fullest = std::max_element(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.reserved < b.reserved; });
      const double v = fullest == classes.end() ? 0.0 : fullest->at_peak[k].value();
      any = any || v > 0;
      s.points.emplace_back(static_cast<double>(i), v);
    }
    if (any) c.series.push_back(std::move(s));
  }
  // Up to what the table and `fits` count: blocks that the allocator rounds up or keeps, and graphs' pools.
  ChartSeries rest{.name = QObject::tr("kept by the allocator"), .color = 7, .points = {}, .tips = {}};
  for (std::size_t i = 0; i < results.size(); ++i) {
    double held = 0.0;
    for (const ChartSeries& s : c.series) held += s.points[i].y();
    rest.points.emplace_back(static_cast<double>(i), std::max(0.0, results[i].result->reserved_memory.value() - held));
  }
  if (std::any_of(rest.points.begin(), rest.points.end(), [](const QPointF& p) { return p.y() > 0.0; })) c.series.push_back(std::move(rest));
  if (!results.empty()) {
    c.limit = results.front().result->capacity.value();
    c.limitName = QObject::tr("GPU memory %1").arg(bytesText(*c.limit));
  }
  return c;
}

Chart memoryChart(const QString& title, const std::vector<scenario::MemoryAt>& curve, double step, double capacity) {
  Chart c{.kind = ChartKind::stackedArea, .title = title, .xTitle = QObject::tr("time in the step"), .yTitle = QObject::tr("allocated on one GPU"), .empty = QObject::tr("Simulate a scenario (F5) to see memory over time."), .series = {}, .categories = {}, .xText = timeText, .yText = bytesText};
  c.unitY = 1073741824.0;
  if (curve.empty()) return c;
  double most = -1.0, at = 0.0;
  for (std::size_t k = 0; k < lower::kMemoryClasses; ++k) {
    ChartSeries s{.name = qstr(std::string(scenario::label(static_cast<lower::MemoryClass>(k)))), .color = kMemoryColors[k], .points = {}, .tips = {}, .marker = 0, .step = true};
    bool any = false;
    for (const scenario::MemoryAt& at_time : curve) {
      s.points.emplace_back(at_time.time.value(), at_time.by_class[k].value());
      any = any || at_time.by_class[k].value() > 0;
    }
    s.points.emplace_back(step, curve.back().by_class[k].value());
    if (any) c.series.push_back(std::move(s));
  }
  for (const scenario::MemoryAt& point : curve) {
    double sum = 0.0;
    for (const Bytes b : point.by_class) sum += b.value();
    if (sum > most) most = sum, at = point.time.value();
  }
  c.mark = QPointF(at, most);
  c.markName = QObject::tr("peak %1 allocated at %2").arg(bytesText(most), timeText(at));
  c.limit = capacity;
  c.limitName = QObject::tr("GPU memory %1").arg(bytesText(capacity));
  return c;
}

}  // namespace sgsim::gui
