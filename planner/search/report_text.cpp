#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "planner/search/exact.h"
#include "planner/search/plan_words.h"
#include "planner/search/report.h"
#include "sim/core/units_text.h"
#include "sim/scenario/text_table.h"

namespace sgsim::search {
namespace {

constexpr std::size_t kRuleText = 110;

std::string deviation(const Found& f) { return f.exact ? fmt::format("{:+.1f} %", 100.0 * (f.estimate.step_time / f.exact->step_time - 1.0)) : "estimate"; }

class Page {
 public:
  explicit Page(const ReportInput& in) : in_(in), gpus_a_node_(in.scenario.cluster.node.gpus), capacity_(in.scenario.cluster.node.gpu.memory) {}

  std::string text() {
    head();
    best();
    front();
    what_if();
    fell_out();
    return std::move(text_);
  }

 private:
  void line(const std::string& s) { text_ += s + "\n"; }
  [[nodiscard]] std::string money(const Found& f) const {
    const auto cost = cost_per_sample(in_.options.economics, f.candidate.nodes * gpus_a_node_, f.figures().step_time, f.candidate.plan.global_batch);
    return cost ? fmt::format("{:.4g}", in_.tokens_a_sample > 0 ? 1e6 * *cost / static_cast<double>(in_.tokens_a_sample) : 1000.0 * *cost) : "-";
  }
  [[nodiscard]] std::string goodput(const Found& f) const {
    const auto share = useful_share(in_.options.economics, f.candidate.nodes * gpus_a_node_);
    return share ? fmt::format("{:.1f} %", 100.0 * *share) : "-";
  }
  [[nodiscard]] std::vector<std::string> cells(const Found& f) const {
    return {fmt::format("{}", f.candidate.nodes * gpus_a_node_), to_text(f.figures().step_time), to_text(f.figures().reserved), to_text(f.figures().needed),
            fmt::format("{:.0f} %", 100.0 * (1.0 - f.figures().needed / capacity_)), money(f), goodput(f), deviation(f), short_text(f.candidate)};
  }
  [[nodiscard]] std::vector<std::string> titles() const {
    const std::string cost = in_.options.economics.price ? in_.options.economics.currency : "cost";
    return {"GPUs", "step", "shown", "needed", "headroom", cost + (in_.tokens_a_sample > 0 ? "/Mtoken" : "/1000"), "useful", "estimate", "plan"};
  }

  void head() {
    const SearchResult& r = in_.result;
    line(fmt::format("{}: {} plans considered, {} legal, {} estimated, {} fit, {} timed, {} simulated{}", in_.scenario.file, scenario::grouped(static_cast<std::int64_t>(r.considered)),
                     scenario::grouped(static_cast<std::int64_t>(r.legal)), scenario::grouped(static_cast<std::int64_t>(r.estimated)), scenario::grouped(static_cast<std::int64_t>(r.fitting)),
                     scenario::grouped(static_cast<std::int64_t>(r.timed)), r.simulated, r.complete ? "" : "; STOPPED EARLY: the best so far"));
    line(fmt::format("  listed in {:.2f} s, estimated in {:.2f} s ({:.0f} plans a second on {} thread{}), leaders simulated in {:.2f} s{}",
                     r.enumerate_s, r.estimate_s, static_cast<double>(r.estimated) / std::max(1e-9, r.estimate_s), in_.options.threads, in_.options.threads == 1 ? "" : "s", r.exact_s,
                     r.simulated > 0 ? fmt::format("; estimates within {:.1f} % of the simulated", 100.0 * r.largest_estimate_error) : ""));
    if (r.too_long > 0) line(fmt::format("  {} of the leaders and the front are ranked by their estimate: they have more micro-batches x layers than are simulated ({})", r.too_long, scenario::grouped(static_cast<std::int64_t>(kMostWork))));
    line(fmt::format("  memory: {} a GPU; a plan fits if what it needs and {:.3g} % on top (--memory-margin) are there; \"shown\" counts blocks too that the allocator holds and can give back",
                     to_text(capacity_), 100.0 * in_.options.memory_margin));
  }
  void best() {
    line("\nbest plans");
    if (in_.result.ranked.empty()) return line(in_.result.estimated == 0 && !in_.result.complete ? "  none: stopped before any plan was looked at" : "  none: no plan that was looked at fits; see below why");
    if (!in_.result.ranked.front().exact) line(in_.result.too_long > 0 ? "  estimates: too long to simulate" : "  estimates: the search was stopped before it could simulate one of them");
    scenario::TextTable table("rrrrrrrrl");
    table.row(titles());
    for (std::size_t i = 0; i < std::min(in_.top, in_.result.ranked.size()); ++i) table.row(cells(in_.result.ranked[i]));
    text_ += table.text();
    for (const auto& [index, seconds] : in_.reference) {
      const Found& f = in_.result.ranked[index];
      if (std::isnan(seconds)) {
        line("  simgrid engine: did not run for " + short_text(f.candidate));
        continue;
      }
      if (seconds < 0.0) {
        line("  simgrid engine: no time left for " + short_text(f.candidate));
        continue;
      }
      line(fmt::format("  simgrid engine: {} for {} ({:+.2f} % against fast)", to_text(Seconds(seconds)), short_text(f.candidate), 100.0 * (seconds / f.figures().step_time.value() - 1.0)));
    }
    if (const Found* second = runner_up(in_.result)) {
      const double more = second->figures().step_time / in_.result.ranked.front().figures().step_time - 1.0;
      line(fmt::format("  runner-up that runs another way: {} ({:+.1f} %), {} needed, {}", to_text(second->figures().step_time), 100.0 * more, to_text(second->figures().needed), short_text(second->candidate)));
    }
    line("  try the first: sgsim simulate " + in_.scenario.file + " " + flags_text(in_.result.ranked.front().candidate, in_.asked));
  }
  void front() {
    const auto& front = in_.result.front;
    if (front.empty()) return;
    line(fmt::format("\nPareto front (step time, memory needed, GPUs{}): {} plans{}", in_.options.economics.price ? ", cost" : "", front.size(), front.size() > kFrontLines ? fmt::format(", {} shown", kFrontLines) : ""));
    scenario::TextTable table("rrrrrrrrl");
    table.row(titles());
    const std::size_t shown = std::min(kFrontLines, front.size());
    for (std::size_t i = 0; i < shown; ++i) table.row(cells(front[shown == 1 ? 0 : i * (front.size() - 1) / (shown - 1)]));
    text_ += table.text();
  }
  void what_if() {
    if (in_.what_if.empty() || in_.result.ranked.empty()) return;
    const Found& now = in_.result.ranked.front();
    line("\nwhat would change it (against the best plan above)");
    scenario::TextTable table("lrrrrl");
    table.row({"", "GPUs", "step", "", "same plan", "best plan then"});
    for (const WhatIf& w : in_.what_if) {
      if (!w.not_asked.empty()) {
        table.row({w.change, "-", "-", "", "-", "not asked: " + w.not_asked});
        continue;
      }
      const std::string same = w.same ? to_text(w.same->step_time) : w.why_not_same, early = w.complete ? "" : " (stopped early)";
      if (w.best) table.row({w.change, fmt::format("{}", w.best->candidate.nodes * gpus_a_node_), to_text(w.best->figures().step_time), fmt::format("{:+.1f} %", 100.0 * (w.best->figures().step_time / now.figures().step_time - 1.0)), same, short_text(w.best->candidate) + early});
      else table.row({w.change, "-", "-", "", same, w.complete ? "none fits" : "not known: stopped before one that fits was found"});
    }
    text_ += table.text();
  }
  void fell_out() {
    line("\nwhy the others fell out");
    std::vector<std::pair<std::string, Rejection>> rules(in_.result.rejections.begin(), in_.result.rejections.end());
    std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.second.plans > b.second.plans; });
    scenario::TextTable table("rll");
    for (const auto& [rule, rejection] : rules) {
      std::string example = rejection.example;
      if (example.size() > kRuleText) example = example.substr(0, kRuleText) + "...";
      table.row({scenario::grouped(static_cast<std::int64_t>(rejection.plans)), rule, example.empty() ? "" : "e.g. " + example});
    }
    text_ += table.text();
  }

  const ReportInput& in_;
  int gpus_a_node_;
  Bytes capacity_;
  std::string text_;
};

}  // namespace

const Found* runner_up(const SearchResult& result) {
  const auto kind = [](const Found& f) {
    const plan::Plan& p = f.candidate.plan;
    return std::tuple(f.candidate.nodes, p.dp, p.tp, p.pp, p.cp, p.ep, p.sharding, p.sequence_parallel, p.schedule, p.virtual_stages, p.micro_batch, p.recompute);
  };
  const auto found = std::find_if(result.ranked.begin(), result.ranked.end(), [&](const Found& f) { return kind(f) != kind(result.ranked.front()); });
  return found != result.ranked.end() ? &*found : nullptr;
}

std::string text_report(const ReportInput& input) { return Page(input).text(); }

}  // namespace sgsim::search
