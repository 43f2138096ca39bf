// Timelines of sgsim simulate read back, and pipelines rescaled. Times in microseconds in the comments.
#include <fmt/format.h>

#include "sim/cluster/builders.h"
#include "sim/core/error.h"
#include "sim/engine/engine.h"
#include "sim/import/own_timeline/own_timeline.h"
#include "sim/replay/rescale.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

constexpr int kCompute = 0, kSend = 1, kReceive = 2;

class Timeline {
 public:
  void process(int pid, const std::string& name) { add(fmt::format(R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":"{}"}}}})", pid, name)); }
  /// A further kernel of the stage's stream.
  void kernel(int pid, double start, double time, const std::string& name) { add(slice(pid, kCompute, start, time, name, "kernel", R"("layer":"model.layers.0.mlp","bytes":8)")); }
  // A run of two kernels: one outside of the layers (`other`), one of a layer; the first stage's forward pass has the other one first.
  void pass(int pid, double start, const std::string& phase, int micro_batch, double layer, double other, bool other_first) {
    add(slice(pid, kCompute, start, layer + other, phase + " run", phase, fmt::format(R"("micro_batch":{},"phase":"{}","kernels":2)", micro_batch, phase)));
    const double first = other_first ? other : layer;
    const auto kernel_of = [&](double at, bool is_other) {
      add(slice(pid, kCompute, at, is_other ? other : layer, is_other ? "gather" : "gemm", "kernel", fmt::format(R"("layer":"{}","bytes":8)", is_other ? "model.ends" : "model.layers.0.mlp")));
    };
    kernel_of(start, other_first);
    kernel_of(start + first, !other_first);
  }
  void optimizer(int pid, double start, double time) {
    add(slice(pid, kCompute, start, time, "optimizer", "optimizer", R"("micro_batch":-1,"phase":"optimizer","kernels":1)"));
    add(slice(pid, kCompute, start, time, "adamw", "kernel", R"("layer":"")"));
  }
  void message(int pid, bool sends, bool forward, double start, double time, int micro_batch, int peer) {
    add(slice(pid, (sends ? kSend : kReceive) + (forward ? 0 : 2), start, time, std::string(sends ? "send " : "receive ") + (forward ? "activation" : "gradient"), "communication",
              fmt::format(R"("bytes":1048576,"operation":"{}","group":"pp {}","group_id":{},"micro_batch":{},"peer":{})", sends ? "send" : "receive", forward ? "forward" : "backward", forward ? 0 : 1, micro_batch, peer)));
  }
  std::string text(const std::string& sizes) const {
    std::string all = R"({"displayTimeUnit":"ns","otherData":{"program":"sgsim","sizes":")" + sizes + "\"},\"traceEvents\":[\n";
    for (std::size_t i = 0; i < events_.size(); ++i) all += (i == 0 ? "" : ",\n") + events_[i];
    return all + "\n]}";
  }

 private:
  static std::string slice(int pid, int tid, double start, double time, const std::string& name, const std::string& category, const std::string& arguments) {
    return fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}","cat":"{}","args":{{{}}}}})", pid, tid, start, time, name, category, arguments);
  }
  void add(std::string event) { events_.push_back(std::move(event)); }
  std::vector<std::string> events_;
};

// Two stages, two micro-batches, 1F1B. A pass forward takes 100 (layer 80, end 20), backward 200 (160, 40), a message 10, the optimizer 50.
//   stage 0: F0 0-100, F1 100-200, B0 420-620, B1 720-920, optimizer 920-970
//   stage 1: F0 110-210, B0 210-410, F1 410-510, B1 510-710, optimizer 710-760
trace::ImportedRun two_stages(bool overruns = false) {
  Timeline t;
  t.process(0, "rank 0 (stage 0)");
  for (int m = 0; m < 2; ++m) {
    t.pass(0, 100.0 * m, "forward", m, 80, 20, true);
    if (overruns) t.kernel(0, 100.0 * m + 30, 10, "short"), t.kernel(0, 100.0 * m + 45, 15, "short");  // within the layer's, 20-100
    t.message(0, true, true, 100 + 100.0 * m, 10, m, 1);
  }
  for (int m = 0; m < 2; ++m) {
    t.message(0, false, false, 410 + 300.0 * m, 10, m, 1);
    t.pass(0, 420 + 300.0 * m, "backward", m, 160, 40, false);
  }
  t.optimizer(0, 920, 50);
  t.process(1, "rank 1 (stage 1)");
  for (int m = 0; m < 2; ++m) {
    t.message(1, false, true, 100 + 100.0 * m, 10, m, 0);
    t.pass(1, 110 + 300.0 * m, "forward", m, 80, 20, false);
    t.pass(1, 210 + 300.0 * m, "backward", m, 160, 40, true);
    t.message(1, true, false, 410 + 300.0 * m, 10, m, 0);
  }
  t.optimizer(1, 710, 50);
  const std::string path = write_trace("own_two_stages", t.text("dp 1 tp 1 pp 2 cp 1 ep 1 micro_batches 2 virtual_stages 1"));
  return std::get<trace::ImportedRun>(import::import_path(path, {}).front());
}

struct Job {
  timeline::Timeline timeline;
  lower::Workload workload;
  Diagnostics report;
};

Job rescaled(const trace::ImportedRun& run, replay::Sizes wanted) {
  const auto cluster = cluster::builtin_cluster("dgx-a100-80gb", 1).value();
  const auto profile = cost::load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/a100-80gb.json");
  std::vector<trace::Dependencies> dependencies;
  for (const trace::RankTrace& rank : run.ranks) dependencies.push_back(trace::recover_dependencies(run, rank));
  const trace::Matching matching = trace::match_collectives(run);
  replay::Rescaled made = replay::rescale(run, matching, dependencies, {.captured = replay::sizes_in(run).value(), .wanted = wanted, .from = {cluster, profile}, .to = {cluster, profile}});
  Job job{.timeline = {}, .workload = made.workload, .report = made.report};
  job.timeline = engine::run_fast(engine::fold(std::move(made.workload)), {.spans_of = {}, .all_spans = false});
  return job;
}

double computing(const lower::Program& program) {
  double sum = 0.0;
  for (const lower::Task& task : program.tasks) sum += task.kind == lower::TaskKind::compute ? task.device.value() : 0.0;
  return sum;
}

}  // namespace

TEST_CASE("a timeline of sgsim simulate is a run: a rank a process, phases, layers, groups, peers") {
  const trace::ImportedRun run = two_stages();
  CHECK(run.format == "own_timeline");
  REQUIRE(run.ranks.size() == 2);
  CHECK(run.ranks[0].rank == 0);
  CHECK(run.ranks[1].rank == 1);
  CHECK(run.ranks[0].world_size == 2);
  CHECK(run.ranks[0].device_ops.size() == 4 * 2 + 1 + 4);
  CHECK(run.ranks[0].collectives.size() == 4);
  CHECK(run.ranks[0].collectives[0].kind == trace::CommKind::send);
  CHECK(run.ranks[0].collectives[0].peer == 1);
  CHECK(run.ranks[0].collectives[2].kind == trace::CommKind::receive);
  CHECK(run.strings.at(run.groups.at(run.ranks[0].collectives[0].group).description) == "pp forward");
  CHECK(count_of(run.report, "import.own_timeline.runs") == 10);
  const trace::Matching matching = trace::match_collectives(run);
  CHECK(matching.operations.size() == 4);
  CHECK(count_of(matching.report, "import.match.transfers_matched") == 4);
  CHECK(replay::sizes_in(run) == replay::Sizes{.dp = 1, .tp = 1, .pp = 2, .micro_batches = 2});
}

TEST_CASE("a captured pipeline put together again takes what it took") {
  const Job job = rescaled(two_stages(), {.dp = 1, .tp = 1, .pp = 2, .micro_batches = 2});
  CHECK(job.timeline.step_time.value() == Approx(970e-6));
}

TEST_CASE("kernels that outlast later ones of their stream do so in every pass") {
  const Job job = rescaled(two_stages(true), {.dp = 1, .tp = 1, .pp = 2, .micro_batches = 2});
  CHECK(count_of(job.report, "import.replay.overlaps_of_several_kept") == 2);
  CHECK(job.timeline.step_time.value() == Approx(970e-6));
  CHECK(rescaled(two_stages(true), {.dp = 1, .tp = 1, .pp = 2, .micro_batches = 4}).timeline.step_time.value() == Approx(1590e-6));
}

TEST_CASE("more micro-batches: the passes repeat in 1F1B order") {
  // stage 0: F0 0-100, F1 100-200, B0 420-620, F2 620-720, B1 720-920, F3 920-1020, B2 1040-1240, B3 1340-1540, optimizer to 1590
  // stage 1: F0 110-210, B0 210-410, F1 410-510, B1 510-710, F2 730-830, B2 830-1030, F3 1030-1130, B3 1130-1330
  const Job job = rescaled(two_stages(), {.dp = 1, .tp = 1, .pp = 2, .micro_batches = 4});
  CHECK(job.timeline.step_time.value() == Approx(1590e-6));
}

TEST_CASE("more stages: layers are divided, ends stay with the first and last stage") {
  // Each of 4 stages has half a captured one's layers: 40 forward, 80 backward a micro-batch; the ends 20 and 40; the optimizer 25.
  const Job job = rescaled(two_stages(), {.dp = 1, .tp = 1, .pp = 4, .micro_batches = 2});
  REQUIRE(job.workload.programs.size() == 4);
  for (const int end : {0, 3}) CHECK(computing(job.workload.programs[static_cast<std::size_t>(end)]) == Approx(2 * (60e-6 + 120e-6) + 25e-6));
  for (const int inside : {1, 2}) CHECK(computing(job.workload.programs[static_cast<std::size_t>(inside)]) == Approx(2 * (40e-6 + 80e-6) + 25e-6));
  CHECK(count_of(job.report, "import.rescale.stages_share_layers_evenly") == 1);
  CHECK(job.workload.groups.size() == 6);  // three borders, two directions
  CHECK_THROWS_AS(rescaled(two_stages(), {.dp = 1, .tp = 1, .pp = 1, .micro_batches = 2}), InputError);
  CHECK_THROWS_AS(rescaled(two_stages(), {.dp = 2, .tp = 1, .pp = 2, .micro_batches = 2}), InputError);  // no gradient's reduction was captured
}
