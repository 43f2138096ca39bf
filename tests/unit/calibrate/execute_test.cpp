// The executor without a GPU: what is enqueued in which order, what records belong to which task, what buffers must hold.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "calibrate/execute/assemble_steps.h"
#include "calibrate/execute/comm_pattern.h"
#include "calibrate/execute/issue.h"
#include "calibrate/execute/work_key.h"
#include "calibrate/record/key_work.h"
#include "calibrate/record/measured_file.h"
#include "calibrate/record/program_file.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::calibrate;

namespace {

const graph::Work kProduct = graph::Matmul{.m = 64, .n = 32, .k = 16, .b_transposed = true};
const graph::Work kNorm = graph::MemoryBound{.kind = graph::MemoryKind::norm, .read = Bytes(4096.0), .written = Bytes(4096.0), .flops = Flops(0.0)};

/// Two ranks: a run of two kernels, its gradient all-reduced on another stream meanwhile a kernel runs, then one that waits for it.
ExecutableProgram two_ranks() {
  const ProgramTask backward{.kind = ProgramTaskKind::compute, .stream = 0, .waits = {}, .comm = 0, .segment = 0, .micro_batch = 0};
  const ProgramTask reduce{.kind = ProgramTaskKind::collective, .stream = 1, .waits = {{0, 1}}, .comm = 0, .segment = 0, .micro_batch = -1};
  const ProgramTask beside{.kind = ProgramTaskKind::compute, .stream = 0, .waits = {}, .comm = 0, .segment = 1, .micro_batch = 0};
  const ProgramTask step{.kind = ProgramTaskKind::compute, .stream = 0, .waits = {{1, 1}}, .comm = 0, .segment = 1, .micro_batch = -1};
  return {.name = "two ranks", .about = "a test", .graph = false, .row = 64, .vocabulary = 128, .works = {kProduct, kNorm},
          .programs = {{.name = "step", .streams = {"compute", "dp"}, .tasks = {backward, reduce, beside, step}, .segments = {{"backward", "backward", {0, 1}}, {"rest", "optimizer", {1}}},
                        .comms = {{"all_reduce dp", 0, graph::CollectiveOp::all_reduce, 1024}}}},
          .ranks = {{0, {0}}, {0, {0}}}, .groups = {{"dp", {0, 1}}}};
}

/// Writes down what it is told.
class Scribe final : public Queue {
 public:
  std::vector<std::string> lines;
  void begin_task(std::uint32_t task) override { lines.push_back(fmt::format("task {}", task)); }
  void launch(std::uint16_t stream, std::uint32_t work) override { lines.push_back(fmt::format("launch {} on {}", work, stream)); }
  void communicate(std::uint16_t stream, ProgramTaskKind, std::uint32_t comm) override { lines.push_back(fmt::format("communicate {} on {}", comm, stream)); }
  void record(std::uint16_t stream, std::uint32_t event) override { lines.push_back(fmt::format("record {} on {}", event, stream)); }
  void wait(std::uint16_t stream, std::uint32_t event) override { lines.push_back(fmt::format("wait {} on {}", event, stream)); }
};

/// Streams in order, events as CUDA has them: a wait holds the stream until what was recorded has been reached.
class Clocked final : public Queue {
 public:
  explicit Clocked(const RankProgram& program, const std::vector<double>& lengths, std::uint32_t events) : program_(program), lengths_(lengths), at_(program.streams.size(), 0.0), events_(events, 0.0) {}
  void begin_task(std::uint32_t task) override { task_ = task; }
  void launch(std::uint16_t stream, std::uint32_t) override { run(stream); }
  void communicate(std::uint16_t stream, ProgramTaskKind, std::uint32_t) override { run(stream); }
  void record(std::uint16_t stream, std::uint32_t event) override { events_[event] = at_[stream]; }
  void wait(std::uint16_t stream, std::uint32_t event) override { at_[stream] = std::max(at_[stream], events_[event]); }
  std::map<std::uint32_t, std::pair<double, double>> ran;
  [[nodiscard]] double end_of(std::uint16_t stream) const { return at_[stream]; }

 private:
  void run(std::uint16_t stream) {
    REQUIRE(stream == program_.tasks[task_].stream);
    ran[task_] = {at_[stream], at_[stream] + lengths_[task_]};
    at_[stream] += lengths_[task_];
  }
  const RankProgram& program_;
  const std::vector<double>& lengths_;
  std::uint32_t task_ = 0;
  std::vector<double> at_, events_;
};

Activity record(std::string name, std::int64_t start, std::int64_t end, std::uint32_t correlation, int device, std::uint64_t node = 0) {
  return {.name = std::move(name), .start_ns = start, .end_ns = end, .device = device, .stream = 7, .correlation = correlation, .graph_node = node};
}

}  // namespace

TEST_CASE("a step is enqueued in host order, with events where another stream waits") {
  const ExecutableProgram p = two_ranks();
  const EventPlan events = plan_events(p.programs[0]);
  Scribe scribe;
  issue(p.programs[0], events, scribe);
  // Events: 0 begin, 1 behind the first task of stream 0, 2 behind the first of stream 1, 3 and 4 the streams' ends.
  CHECK(scribe.lines == std::vector<std::string>{"record 0 on 0", "wait 0 on 1", "task 0", "launch 0 on 0", "launch 1 on 0", "record 1 on 0", "wait 1 on 1", "task 1", "communicate 0 on 1",
                                                 "record 2 on 1", "task 2", "launch 1 on 0", "wait 2 on 0", "task 3", "launch 1 on 0", "record 4 on 1", "wait 4 on 0"});
}

TEST_CASE("a wait that an earlier one implies is left out") {
  ExecutableProgram p = two_ranks();
  p.programs[0].tasks.push_back({.kind = ProgramTaskKind::compute, .stream = 0, .waits = {{1, 1}}, .comm = 0, .segment = 1, .micro_batch = -1});
  Scribe scribe;
  issue(p.programs[0], plan_events(p.programs[0]), scribe);
  CHECK(std::count(scribe.lines.begin(), scribe.lines.end(), "wait 2 on 0") == 1);
}

TEST_CASE("whatever the program, no task begins before what it waits for has ended") {
  std::mt19937 random(20261130);
  for (int round = 0; round < 200; ++round) {
    RankProgram p{.name = "random", .streams = {"a", "b", "c"}, .tasks = {}, .segments = {{"s", "forward", {0}}}, .comms = {}};
    std::vector<std::uint32_t> done(3, 0);
    std::vector<std::vector<std::uint32_t>> of_stream(3);
    std::vector<double> lengths;
    for (std::uint32_t t = 0; t < 40; ++t) {
      ProgramTask task{.kind = ProgramTaskKind::compute, .stream = static_cast<std::uint16_t>(random() % 3), .waits = {}, .comm = 0, .segment = 0, .micro_batch = -1};
      for (std::uint16_t s = 0; s < 3; ++s) {
        if (done[s] > 0 && random() % 3 == 0) task.waits.push_back({s, 1 + static_cast<std::uint32_t>(random() % done[s])});
      }
      ++done[task.stream];
      of_stream[task.stream].push_back(t);
      lengths.push_back(1.0 + static_cast<double>(random() % 9));
      p.tasks.push_back(task);
    }
    const EventPlan events = plan_events(p);
    Clocked device(p, lengths, events.count);
    issue(p, events, device);
    double last = 0.0;
    for (std::uint32_t t = 0; t < p.tasks.size(); ++t) {
      for (const ProgramWait& w : p.tasks[t].waits) CHECK(device.ran.at(t).first >= device.ran.at(of_stream[w.stream][w.position - 1]).second);
      last = std::max(last, device.ran.at(t).second);
    }
    CHECK(device.end_of(0) == last);  // stream 0 ends the step
  }
}

TEST_CASE("program files come back as they were written") {
  const ExecutableProgram p = two_ranks();
  CHECK(program_from_text(to_text(p), "p") == p);
  ExecutableProgram other = p;
  other.works.push_back(graph::Attention{.batch = 2, .heads = 8, .kv_heads = 2, .q_len = 128, .kv_len = 128, .head_dim = 64, .pass = graph::Pass::backward});
  other.works.push_back(graph::Convolution{.batch = 1, .in_channels = 3, .out_channels = 64, .in_height = 224, .in_width = 224, .kernel_height = 7, .kernel_width = 7, .stride = 2, .padding = 3});
  other.graph = true;
  CHECK(program_from_text(to_text(other), "p") == other);
  CHECK(program_id(other) != program_id(p));
}

TEST_CASE("broken program files are refused with the place") {
  const auto where = [](const ExecutableProgram& p) {
    try {
      (void)program_from_text(to_text(p), "p");
    } catch (const InputError& error) {
      return error.problem().where;
    }
    return std::string("accepted");
  };
  ExecutableProgram p = two_ranks();
  p.programs[0].tasks[0].waits = {{1, 1}};  // the first task waits for one that comes later
  CHECK(where(p) == "$.programs[0].tasks[0].waits");
  p = two_ranks();
  p.programs[0].segments[0].kernels = {2};
  CHECK(where(p) == "$.programs[0].segments[0].kernels");
  p = two_ranks();
  p.ranks[1].program = 1;
  CHECK(where(p) == "$.ranks[1].program");
  p = two_ranks();
  p.ranks[0].groups = {};
  CHECK(where(p) == "$.ranks[0].groups");
  p = two_ranks();
  p.programs.push_back(p.programs[0]);  // rank 1 reduces another size: the two would never meet
  p.programs[1].comms[0].bytes = 2048;
  p.ranks[1].program = 1;
  CHECK(where(p) == "$.groups[0]");
  p = two_ranks();
  p.programs[0].tasks[1].kind = ProgramTaskKind::send;  // both send
  CHECK(where(p) == "$.groups[0]");
  CHECK_THROWS_AS(program_from_text("{", "p"), InputError);
  std::string text = to_text(two_ranks());
  text.insert(1, "\"surprise\": 1,");
  CHECK_THROWS_AS(program_from_text(text, "p"), InputError);
}

TEST_CASE("measured files come back as they were written") {
  MeasuredProgram m{.program = "0123", .name = "n", .graph = true, .command = "c"};
  m.machine.gpus.push_back({.name = "G"});
  m.steps = {.count = 12, .median_s = 1e-3, .least_s = 9e-4, .greatest_s = 2e-3, .spread_s = 1e-5, .event_s = 1e-3, .issue_s = 1e-4, .traced_s = 1.1e-3, .traced = 3};
  m.memory = {.context = 1, .communicators = 2, .operands = 3};
  m.ranks = {{{.start_ns = 1, .end_ns = 5, .busy_ns = 3, .records = 2}}, {}};
  m.works[7] = {.count = 3, .median_s = 1e-6, .least_s = 1e-6, .greatest_s = 2e-6};
  m.numbers = {{.what = "w", .elements = 5, .wrong = 1, .error = 0.5, .tolerance = 0.25}};
  m.waits_checked = 9;
  m.notes = {"note"};
  CHECK(measured_from_text(to_text(m), "m") == m);
  CHECK_FALSE(m.numbers[0].passed());
  std::string text = to_text(m);
  text.replace(text.find("[1,5,3,2]"), 9, "[1,5,3]");
  CHECK_THROWS_AS(measured_from_text(text, "m"), InputError);
}

TEST_CASE("kernels are found for the work, of that very shape") {
  const graph::Work attention = graph::Attention{.batch = 2, .heads = 8, .kv_heads = 2, .q_len = 512, .kv_len = 512, .head_dim = 64, .pass = graph::Pass::backward};
  for (const graph::Work& work : {kProduct, attention}) CHECK(work_of(key_of(work, 64, 128)) == work);
  // Twice as much read as written: a sum of two, not a function of one.
  const graph::Work sum = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = Bytes(2e6), .written = Bytes(1e6), .flops = Flops(0.0)};
  CHECK(key_of(sum, 64, 128).label("op") == "add");
  CHECK(key_of(sum, 64, 128).size("bytes") == 3000000);
  const graph::Work down = graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(4e6), .written = Bytes(2e6), .flops = Flops(0.0)};
  CHECK(key_of(down, 64, 128).label("op") == "cast_to_bfloat16");
  CHECK(key_of(kNorm, 1001, 128).size("columns") == 1000);  // whole 16-byte accesses
  const graph::Work cross = graph::Attention{.batch = 1, .heads = 8, .kv_heads = 8, .q_len = 1, .kv_len = 512, .head_dim = 64};
  CHECK_THROWS_AS(key_of(cross, 64, 128), NotExecutable);
}

TEST_CASE("records of marked launches become tasks") {
  const ExecutableProgram p = two_ranks();
  // Launches of each rank: task 0 products and norm, task 1 the collective, tasks 2 and 3.
  const std::vector<Launched> one = {{0, 0}, {0, 1}, {1, Launched::kNoWork}, {2, 1}, {3, 1}};
  const std::vector<std::vector<Launched>> launches = {one, one};
  ActivityBatch batch;
  const std::int64_t starts[] = {100, 120, 130, 131, 160}, ends[] = {119, 130, 155, 140, 170};
  for (std::uint32_t r = 0; r < 2; ++r) {
    for (std::uint32_t l = 0; l < 5; ++l) {
      batch.activities.push_back(record(l == 0 ? "product" : l == 2 ? "nccl" : "norm", starts[l] + r, ends[l] + r, 10 * r + l + 1, static_cast<int>(r)));
      batch.marks.push_back({10 * r + l + 1, launch_mark(r, l)});
    }
  }
  std::reverse(batch.activities.begin(), batch.activities.end());
  batch.activities.push_back(record("stranger", 0, 1000, 99, 0));
  const PlacedStep step = place_by_marks(batch, launches);
  CHECK(step.unplaced == 1);
  MeasuredProgram m;
  measure_tasks(p, launches, {step}, m);
  REQUIRE(m.ranks.size() == 2);
  CHECK(m.ranks[0][0] == MeasuredTask{.start_ns = 0, .end_ns = 30, .busy_ns = 29, .records = 2});   // 100 to 119, 120 to 130
  CHECK(m.ranks[1][1] == MeasuredTask{.start_ns = 31, .end_ns = 56, .busy_ns = 25, .records = 1});  // a nanosecond after rank 0's
  CHECK(m.works.at(1).count == 6);
  CHECK(m.works.at(1).median_s == Approx(10e-9));  // of 10, 9, 10 on each rank
  CHECK(m.steps.traced_s == Approx(71e-9));        // 100 to 171
  CHECK(m.waits_checked == 8);
  CHECK(m.waits_violated == 0);

  // The reduction of rank 0 ends at 1155, the last task begins at 160: more than the stamps' 500 ns before.
  ActivityBatch early = batch;
  for (Activity& a : early.activities) {
    if (a.device == 0 && a.end_ns == 155) a.end_ns = 1155;
  }
  MeasuredProgram wrong;
  measure_tasks(p, launches, {place_by_marks(early, launches)}, wrong);
  CHECK(wrong.waits_violated == 1);
}

TEST_CASE("nodes of a CUDA graph are told apart by their order, else by name") {
  const ExecutableProgram p = two_ranks();
  const std::vector<std::vector<Launched>> launches = {{{0, 0}, {0, 1}, {1, Launched::kNoWork}, {2, 1}, {3, 1}}};
  PlacedStep example{.ranks = {{}}};
  const char* names[] = {"product", "norm", "nccl", "norm", "norm"};
  for (std::size_t l = 0; l < 5; ++l) example.ranks[0].push_back({record(names[l], static_cast<std::int64_t>(10 * l), static_cast<std::int64_t>(10 * l + 9), 1, 0), l});
  ActivityBatch batch;  // node numbers in order of capture; norm (launch 3) began before the collective
  const std::int64_t starts[] = {0, 10, 25, 20, 40};
  for (std::size_t l = 0; l < 5; ++l) batch.activities.push_back(record(names[l], starts[l], starts[l] + 5, 1, 0, 100 + l));
  std::swap(batch.activities[1], batch.activities[4]);
  PlacedStep step = place_by_example(batch, example);
  CHECK(step.unplaced == 0);
  std::map<std::size_t, std::int64_t> start_of;
  for (const PlacedRecord& r : step.ranks[0]) start_of[r.launch] = r.activity.start_ns;
  CHECK(start_of == std::map<std::size_t, std::int64_t>{{0, 0}, {1, 10}, {2, 25}, {3, 20}, {4, 40}});

  // Node numbers in another order: the norms are matched as they began.
  for (std::size_t i = 0; i < batch.activities.size(); ++i) batch.activities[i].graph_node = 200 - i;
  step = place_by_example(batch, example);
  start_of.clear();
  for (const PlacedRecord& r : step.ranks[0]) start_of[r.launch] = r.activity.start_ns;
  CHECK(start_of == std::map<std::size_t, std::int64_t>{{0, 0}, {1, 10}, {2, 25}, {3, 20}, {4, 40}});
}

TEST_CASE("what a communication must leave in a buffer") {
  // Three ranks of four elements each, done by hand here and compared with what the executor expects.
  constexpr int kMembers = 3;
  constexpr std::size_t kPart = 4, kAll = kPart * kMembers;
  const int most = comm_pattern_most(kMembers);
  CHECK(most * kMembers <= 256);
  std::vector<std::vector<int>> in(kMembers);
  for (int m = 0; m < kMembers; ++m) {
    for (std::size_t i = 0; i < kAll; ++i) in[static_cast<std::size_t>(m)].push_back(comm_pattern(m, i, most));
  }
  CHECK(in[0] != in[1]);
  std::vector<int> sum(kAll, 0);
  for (const auto& mine : in) {
    for (std::size_t i = 0; i < kAll; ++i) sum[i] += mine[i];
  }
  for (int place = 0; place < kMembers; ++place) {
    const auto expected = [&](graph::CollectiveOp op, std::size_t i) { return ExpectedResult{.op = op, .place = place, .members = kMembers, .most = most, .part = kPart}(i); };
    const auto p = static_cast<std::size_t>(place);
    for (std::size_t i = 0; i < kAll; ++i) {
      CHECK(expected(graph::CollectiveOp::all_reduce, i) == sum[i]);
      CHECK(expected(graph::CollectiveOp::all_gather, i) == in[i / kPart][i % kPart]);            // each puts in its first four
      CHECK(expected(graph::CollectiveOp::all_to_all, i) == in[i / kPart][p * kPart + i % kPart]);
      CHECK(expected(graph::CollectiveOp::broadcast, i) == in[0][i]);
      if (i < kPart) CHECK(expected(graph::CollectiveOp::reduce_scatter, i) == sum[p * kPart + i]);
    }
  }
  CHECK(ExpectedResult{.op = graph::CollectiveOp::send_receive, .place = 1, .members = 2, .most = 16, .part = kPart}(5) == comm_pattern(0, 5, 16));
}
