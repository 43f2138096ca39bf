#include "sim/compile/pipeline.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "sim/compile/passes.h"
#include "sim/core/error.h"
#include "sim/core/units_text.h"

namespace sgsim::compile {

namespace {

Seconds since(std::chrono::steady_clock::time_point start) {
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
}

constexpr std::size_t kProblemsShown = 5;

std::string first_of(const std::vector<std::string>& problems) {
  std::string text;
  for (std::size_t i = 0; i < problems.size() && i < kProblemsShown; ++i) text += (i ? "; " : "") + problems[i];
  if (problems.size() > kProblemsShown) text += fmt::format("; and {} more", problems.size() - kProblemsShown);
  return text;
}

}  // namespace

PipelineResult run_passes(graph::OperatorGraph graph, const std::vector<Pass>& passes) {
  if (const auto problems = verify(graph); !problems.empty())
    throw InputError({.file = graph.name, .where = "operator graph", .found = first_of(problems),
                      .expected = "a sound operator graph", .hint = "capture or generate the graph again"});
  PipelineResult result{.graph = std::move(graph), .reports = {}};
  for (const Pass& pass : passes) {
    PassReport report{.name = pass.name, .ran = pass.enabled, .time = {}, .verify_time = {},
                      .before = result.graph.nodes.size(), .after = result.graph.nodes.size()};
    if (pass.enabled) {
      auto start = std::chrono::steady_clock::now();
      result.graph = pass.run(std::move(result.graph));
      report.time = since(start);
      report.after = result.graph.nodes.size();
      start = std::chrono::steady_clock::now();
      const auto problems = verify(result.graph);
      report.verify_time = since(start);
      SGSIM_CHECK(problems.empty(), "pass " + pass.name + " broke the graph: " + first_of(problems));
    }
    result.reports.push_back(std::move(report));
  }
  return result;
}

std::string to_text(const std::vector<PassReport>& reports) {
  std::string text;
  for (const PassReport& report : reports) {
    if (!report.ran) {
      text += fmt::format("{:<24} off\n", report.name);
      continue;
    }
    text += fmt::format("{:<24} {:>6} -> {:>6}  {:>10}  verified in {}\n", report.name, report.before, report.after,
                        sgsim::to_text(report.time), sgsim::to_text(report.verify_time));
  }
  return text;
}

}  // namespace sgsim::compile
