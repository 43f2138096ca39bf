// Files that end early: what is left of them is whole steps. Times in microseconds.
#include <algorithm>

#include "sim/core/error.h"
#include "sim/trace/steps.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

constexpr int kKernels = 40;  // of a step, half of them on each of two threads

std::string op(double ts, int id, int thread) {
  return fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"aten::add","pid":10,"tid":{},"ts":{:.3f},"dur":12,"args":{{"External id":{}}}}})", thread, ts, id);
}

double begin(int step, int k) { return 10'000.0 * step + 100.0 + 100.0 * k; }

/// As the profiler writes: operators and marks of all threads, then launches and kernels thread by thread (here the backward thread, 21, first).
std::vector<std::string> events(int steps, bool marks, bool operators) {
  std::vector<std::string> list;
  for (int s = 0; s < steps; ++s) {
    if (marks) list.push_back(annotation("ProfilerStep#" + std::to_string(s), 10'000.0 * s + 50.0, 9'900, 5'000 + s));
    for (int k = 0; operators && k < kKernels; ++k) list.push_back(op(begin(s, k) - 5.0, s * kKernels + k + 1, k < kKernels / 2 ? 20 : 21));
  }
  for (const int thread : {21, 20}) {
    for (int s = 0; s < steps; ++s) {
      for (int k = 0; k < kKernels; ++k) {
        if ((k < kKernels / 2 ? 20 : 21) != thread) continue;
        const int id = s * kKernels + k + 1;
        list.push_back(kernel("k", begin(s, k) + 10.0, 50.0, 7, id));
        list.push_back(launch(begin(s, k), id, thread));
      }
    }
  }
  return list;
}

/// The file up to its `kept`-th launch or kernel of all.
trace::ImportedRun cut(const std::string& name, int steps, int kept, bool marks = true, bool operators = true) {
  const auto list = events(steps, marks, operators);
  std::string text = trace_text(list);
  const std::string& last = list[list.size() - static_cast<std::size_t>(2 * kKernels * steps - kept)];
  return read_text("cut_" + name, text.substr(0, text.find(last)));
}

}  // namespace

TEST_CASE("a file that is whole loses nothing") {
  auto run = read_text("cut_not", trace_text(events(2, true, true)));
  CHECK_FALSE(run.ranks.at(0).ends_early);
  const auto before = run.ranks;
  trace::keep_whole_steps(run);
  CHECK(run.ranks == before);
}

TEST_CASE("a step that lacks one thread's last launches is left out, and said") {
  // Of 160 launches and kernels 140 are in the file: the main thread's last ten kernels of the second step are missing.
  auto run = cut("second", 2, 140);
  REQUIRE(run.ranks.at(0).ends_early);
  trace::keep_whole_steps(run);
  const trace::RankTrace& rank = run.ranks[0];
  REQUIRE(rank.steps.size() == 1);
  CHECK(rank.device_ops.size() == kKernels);
  CHECK(rank.calls.size() == kKernels);
  CHECK(count_of(run.report, "import.steps.incomplete_left_out") == 1);
  for (const trace::DeviceOp& k : rank.device_ops) {
    REQUIRE(k.call < rank.calls.size());
    CHECK(rank.calls[k.call].correlation == k.correlation);
    CHECK(k.op < rank.ops.size());
  }
}

TEST_CASE("the first step may lack kernels although the last one has some: then none is whole") {
  auto run = cut("first", 2, 100);  // all of the backward thread, ten kernels of the main thread's first step
  CHECK_THROWS_AS(trace::keep_whole_steps(run), InputError);
}

TEST_CASE("without operators the last step of a cut file is not trusted; without steps the file stays, and it is said") {
  auto no_operators = cut("no_operators", 3, 239, true, false);
  trace::keep_whole_steps(no_operators);
  CHECK(no_operators.ranks[0].steps.size() == 2);
  auto no_steps = cut("no_steps", 2, 140, false);
  trace::keep_whole_steps(no_steps);
  CHECK(no_steps.ranks[0].device_ops.size() == 70);
  CHECK(count_of(no_steps.report, "import.steps.file_ends_early_without_steps") == 1);
}

// A timeline of ours has the marks of all steps before its device operations, and no operators: a cut leaves marks that nothing follows.
TEST_CASE("without operators the last step that has device operations is not trusted, whatever is marked behind it") {
  auto run = cut("marks_first", 3, 150, true, false);  // the main thread's third step has no launch in the file, its second a part
  trace::RankTrace& rank = run.ranks.at(0);
  const auto later = [&](const trace::DeviceOp& op) { return trace::issued(rank, op) >= rank.steps.at(2).start; };
  rank.device_ops.erase(std::remove_if(rank.device_ops.begin(), rank.device_ops.end(), later), rank.device_ops.end());
  trace::keep_whole_steps(run);
  CHECK(run.ranks[0].steps.size() == 1);
}

TEST_CASE("a marked step without device operations does not end the whole ones") {
  auto run = cut("empty_step", 3, 239);
  trace::RankTrace& rank = run.ranks.at(0);
  const auto first = [&](const trace::DeviceOp& op) { return trace::issued(rank, op) < rank.steps.at(1).start; };
  rank.device_ops.erase(std::remove_if(rank.device_ops.begin(), rank.device_ops.end(), first), rank.device_ops.end());
  trace::keep_whole_steps(run);
  CHECK(run.ranks[0].steps.size() == 2);  // the empty one and the second; the third lacks a launch
}
