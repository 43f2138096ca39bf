#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "planner/validate/compare.h"
#include "sim/scenario/text_table.h"
#include "sim/timeline/trace_writer.h"

namespace sgsim::validate {
namespace {

using nlohmann::json;
using scenario::TextTable;

std::string time_text(Seconds time) {
  const double us = time.value() * 1e6;
  return us >= 1000.0 ? fmt::format("{:.3f} ms", us * 1e-3) : fmt::format("{:.2f} us", us);
}

std::string error_text(const Pair& pair) { return pair.measured.value() > 0.0 ? fmt::format("{:+.1f} %", 100.0 * pair.error()) : "-"; }

void add(TextTable& table, std::string name, const Pair& pair, std::string count = "") { table.row({std::move(name), time_text(pair.predicted), time_text(pair.measured), error_text(pair), std::move(count)}); }

std::string head(const Comparison& c, const calibrate::MeasuredProgram& m) {
  std::string gpus = "no GPU stated";
  if (!m.machine.gpus.empty()) gpus = fmt::format("{} x {}", m.ranks.size(), m.machine.gpus.front().name);
  std::string text = fmt::format("{} on {} (driver {}), {}\n{}\n", c.name, gpus, m.machine.driver, c.launch == "graph" ? "as a CUDA graph" : "launched kernel by kernel", c.about);
  for (const std::string& change : c.changes) text += "scaled down: " + change + "\n";
  if (!c.other_optimizer.empty()) text += "not the same: " + c.other_optimizer + "\n";
  return text;
}

json pair_json(const Pair& p) { return {{"predicted_s", p.predicted.value()}, {"measured_s", p.measured.value()}, {"error", p.error()}}; }

}  // namespace

std::string text_report(const Comparison& c, const calibrate::MeasuredProgram& m) {
  constexpr std::size_t kKernels = 15;
  TextTable steps("lrrrl"), kinds("lrrrr"), kernels("lrrrr");
  steps.row({"", "predicted", "measured", "error", ""});
  add(steps, "step", c.step, fmt::format("median of {}, {:.3f} to {:.3f} ms", m.steps.count, m.steps.least_s * 1e3, m.steps.greatest_s * 1e3));
  add(steps, "  computation", c.compute, "of a traced step, mean over ranks");
  add(steps, "  exposed communication", c.exposed);
  add(steps, "  waiting for other ranks", c.waiting);
  add(steps, "  idle", c.idle);
  add(steps, "  overlapped communication", c.overlapped);
  add(steps, "gap between kernels", c.gap);
  add(steps, "host, to issue a step", c.issue);
  for (const MemoryRow& row : c.memory) {
    steps.row({row.name, fmt::format("{:.2f} GiB", row.predicted_gib), fmt::format("{:.2f} GiB", row.measured_gib), "", ""});
  }
  kinds.row({"by kind, a step and rank", "predicted", "measured", "error", "count"});
  for (const KindRow& row : c.kinds) add(kinds, row.name, row.time, fmt::format("{:.0f}", row.count));
  kernels.row({"kernels, each launch", "predicted", "measured", "error", "count"});
  for (std::size_t i = 0; i < std::min(kKernels, c.kernels.size()); ++i) add(kernels, c.kernels[i].what, c.kernels[i].time, fmt::format("{:.0f}", c.kernels[i].count));
  std::string text = head(c, m) + "\n" + steps.text() + "\n" + kinds.text() + "\n" + kernels.text();
  text += fmt::format("\nnumbers: {} of {} checks passed; order: {} of {} tasks began after all that they wait for; SM clock {:.0f} MHz, {:.0f} W (predicted: {:.0f} % of full clock)\n", c.numbers - c.numbers_wrong, c.numbers,
                      c.waits - c.waits_violated, c.waits, m.sm_clock_mhz, m.power_w, 100.0 * c.clock);
  for (const calibrate::NumberCheck& n : m.numbers) {
    if (!n.passed()) text += fmt::format("  WRONG {}: {} of {} elements, error {:.2g}\n", n.what, n.wrong, n.elements, n.error);
  }
  return text;
}

std::string json_report(const Comparison& c, const calibrate::MeasuredProgram& m) {
  json kinds = json::array(), kernels = json::array(), memory = json::array(), tasks = json::array();
  for (const KindRow& row : c.kinds) {
    json j = pair_json(row.time);
    j["name"] = row.name;
    j["count"] = row.count;
    kinds.push_back(std::move(j));
  }
  for (const KernelRow& row : c.kernels) {
    json j = pair_json(row.time);
    j["kernel"] = row.what;
    j["count"] = row.count;
    kernels.push_back(std::move(j));
  }
  for (const MemoryRow& row : c.memory) memory.push_back({{"name", row.name}, {"predicted_gib", row.predicted_gib}, {"measured_gib", row.measured_gib}});
  for (const TaskRow& row : c.tasks) {
    tasks.push_back({{"rank", row.rank}, {"task", row.task}, {"name", row.name}, {"stream", row.stream}, {"predicted_s", {row.predicted_start, row.predicted_end}}, {"measured_s", {row.measured_start, row.measured_end}}});
  }
  const json report = {{"schema_version", 1}, {"name", c.name}, {"about", c.about}, {"launch", c.launch}, {"scaled_down", c.changes}, {"other_optimizer", c.other_optimizer.empty() ? json(nullptr) : json{{"what", c.other_optimizer}, {"measured_step_longer_s", c.optimizer_longer.value()}}}, {"step", pair_json(c.step)},
                       {"traced_step_s", c.traced_step.value()}, {"steps", {{"count", m.steps.count}, {"least_s", m.steps.least_s}, {"greatest_s", m.steps.greatest_s}, {"spread_s", m.steps.spread_s}}},
                       {"shares", {{"computation", pair_json(c.compute)}, {"exposed_communication", pair_json(c.exposed)}, {"overlapped_communication", pair_json(c.overlapped)},
                                   {"waiting", pair_json(c.waiting)}, {"idle", pair_json(c.idle)}}},
                       {"gap", pair_json(c.gap)}, {"issue", pair_json(c.issue)}, {"memory", memory}, {"kinds", kinds}, {"kernels", kernels}, {"tasks", tasks},
                       {"numbers", {{"checked", c.numbers}, {"wrong", c.numbers_wrong}}}, {"waits", {{"checked", c.waits}, {"violated", c.waits_violated}}},
                       {"machine", {{"gpus", m.machine.gpus.size()}, {"gpu", m.machine.gpus.empty() ? "" : m.machine.gpus.front().name}, {"driver", m.machine.driver}, {"date", m.machine.date}, {"libraries", m.machine.libraries}}},
                       {"predicted_clock_share", c.clock}, {"sm_clock_mhz", m.sm_clock_mhz}, {"power_w", m.power_w}};
  return report.dump(1) + "\n";
}

void write_trace(const std::string& path, const Comparison& c) {
  timeline::TraceWriter writer(path, {{"scenario", c.name}, {"about", c.about}, {"program", "sgsim validate"}});
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> streams;
  for (const TaskRow& row : c.tasks) {
    const std::uint32_t sides[] = {2 * row.rank, 2 * row.rank + 1};
    if (std::none_of(streams.begin(), streams.end(), [&](const auto& s) { return s.first.first == row.rank; })) {
      writer.process(sides[0], fmt::format("rank {} predicted", row.rank), sides[0]);
      writer.process(sides[1], fmt::format("rank {} measured", row.rank), sides[1]);
    }
    const auto [stream, fresh] = streams.try_emplace({row.rank, row.stream}, static_cast<std::uint32_t>(streams.size()));
    for (const std::uint32_t side : sides) {
      if (fresh) writer.thread(side, stream->second, row.stream);
    }
    writer.slice(sides[0], stream->second, Seconds(row.predicted_start), Seconds(row.predicted_end), row.name, "predicted", {});
    if (row.measured_end > row.measured_start) writer.slice(sides[1], stream->second, Seconds(row.measured_start), Seconds(row.measured_end), row.name, "measured", {});
  }
  writer.close();
}

}  // namespace sgsim::validate
