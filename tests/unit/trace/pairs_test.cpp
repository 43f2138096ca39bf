// Sends and receives over ranks, sub-groups, and ranks that do not agree. Times in microseconds in the comments.
#include "sim/engine/engine.h"
#include "sim/replay/replay.h"
#include "sim/trace/match.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

// A send to (or receive from) global rank `peer` of the world of `size` ranks.
std::string pair_kernel(const std::string& what, double ts, double dur, int correlation, int peer, int elements, int size, const std::string& group = "0") {
  std::string ranks = "[";
  for (int i = 0; i < size; ++i) ranks += (i == 0 ? "" : ", ") + std::to_string(i);
  return kernel("ncclDevKernel_SendRecv", ts, dur, 9, correlation,
                fmt::format(R"(,"Collective name":"{}","In msg nelems":{},"Out msg nelems":{},"Group size":{},"dtype":"BFloat16","Process Group Name":"{}","Process Group Ranks":"{}]","{}":{})", what, elements, elements, size, group,
                            ranks, what == "send" ? "Dst Rank" : "Src Rank", peer));
}

trace::ImportedRun read_ranks(const std::string& name, const std::vector<std::vector<std::string>>& ranks) {
  std::vector<std::string> paths;
  for (std::size_t r = 0; r < ranks.size(); ++r) paths.push_back(write_trace(name + std::to_string(r), trace_text(ranks[r], static_cast<int>(r), static_cast<int>(ranks.size()))));
  return import::kineto::read(paths, {});
}

}  // namespace

TEST_CASE("a send and its receive: the later one starts the transfer, and both end with it") {
  // Rank 0 sends at 110; rank 1 receives from 150, after a kernel of 35: the transfer takes 20. Both end at 170.
  trace::ImportedRun run = read_ranks("send", {{launch(100, 1), pair_kernel("send", 110, 60, 1, 1, 64, 2)},
                                               {launch(100, 1), launch(140, 2), kernel("slow", 110, 35, 7, 1), pair_kernel("recv", 150, 20, 2, 0, 64, 2)}});
  const trace::Matching m = trace::match_collectives(run);
  REQUIRE(m.operations.size() == 1);
  CHECK(m.operations[0].kind == trace::CommKind::send);
  CHECK(m.operations[0].bytes == 128.0);
  CHECK(m.operations[0].transfer == 20000);
  CHECK(m.operations[0].waiting == 40000);
  CHECK(count_of(m.report, "import.match.transfers_matched") == 1);
  std::vector<trace::Dependencies> d;
  for (const trace::RankTrace& rank : run.ranks) d.push_back(trace::recover_dependencies(run, rank));
  const replay::Built built = replay::build_programs(run, m, d);
  CHECK(built.workload.groups.size() == 1);
  const timeline::Timeline t = engine::run_fast(engine::unfolded(built.workload), {.spans_of = {}, .all_spans = true});
  CHECK(t.step_time.value() == Approx(70e-6));  // 100 to 170
}

TEST_CASE("a pipeline of three: pairs are told by their ranks, and directions apart") {
  // 0 sends twice to 1; 1 receives twice from 0 and sends once to 2; 2 receives from 1.
  const trace::ImportedRun run = read_ranks(
      "three", {{launch(100, 1), launch(101, 2), pair_kernel("send", 110, 10, 1, 1, 64, 3), pair_kernel("send", 130, 10, 2, 1, 32, 3)},
                {launch(100, 1), launch(101, 2), launch(102, 3), pair_kernel("recv", 110, 10, 1, 0, 64, 3), pair_kernel("recv", 130, 10, 2, 0, 32, 3), pair_kernel("send", 150, 10, 3, 2, 64, 3)},
                {launch(100, 1), pair_kernel("recv", 150, 10, 1, 1, 64, 3)}});
  const trace::Matching m = trace::match_collectives(run);
  REQUIRE(m.operations.size() == 3);
  CHECK(m.operations[0].bytes == 128.0);
  CHECK(m.operations[1].bytes == 64.0);
  CHECK(m.operations[0].channel == m.operations[1].channel);
  CHECK(m.operations[2].channel != m.operations[1].channel);
  CHECK(count_of(m.report, "import.match.sends_and_receives_differ") == 0);
}

TEST_CASE("sends without receive, other sizes and absent peers are told with ranks and group") {
  const trace::ImportedRun run = read_ranks("lonely", {{launch(100, 1), launch(101, 2), pair_kernel("send", 110, 10, 1, 1, 64, 2), pair_kernel("send", 130, 10, 2, 1, 64, 2)},
                                                       {launch(100, 1), pair_kernel("recv", 110, 10, 1, 0, 65, 2)}});
  const trace::Matching m = trace::match_collectives(run);
  const auto& differ = m.report.entries().at("import.match.sends_and_receives_differ");
  CHECK(differ.count == 1);
  CHECK(differ.example == "group \"0\", rank 0 to rank 1: 2 sends, 1 receives");
  const auto& size = m.report.entries().at("import.match.sizes_differ");
  for (const char* part : {"group \"0\"", "rank 0 to rank 1", "transfer 0", "128 bytes", "130 bytes"}) CHECK(size.example.find(part) != std::string::npos);
  const trace::ImportedRun one = read_ranks("absent", {{launch(100, 1), pair_kernel("send", 110, 10, 1, 5, 64, 8)}});
  CHECK(count_of(trace::match_collectives(one).report, "import.match.peer_not_imported") == 1);
}

TEST_CASE("fused sends and receives of two ranks match in their order") {
  const auto fused = [](double ts, int correlation) { return kernel("ncclDevKernel_SendRecv", ts, 10, 9, correlation, R"(,"Group size":2,"Process Group Name":"7","Process Group Ranks":"[0, 1]")"); };
  const trace::ImportedRun run = read_ranks("fused", {{launch(100, 1), launch(101, 2), fused(110, 1), fused(130, 2)}, {launch(100, 1), launch(101, 2), fused(110, 1), fused(131, 2)}});
  const trace::Matching m = trace::match_collectives(run);
  REQUIRE(m.operations.size() == 2);
  CHECK(m.operations[0].kind == trace::CommKind::send_receive);
  CHECK(m.raw_skew == 1000);
}

TEST_CASE("sub-groups of one name are told apart by their ranks; ranks outside are told") {
  // Two groups "tp" of two ranks each; the third rank of the second group's file names a group that it is not in.
  const auto reduce = [](double ts, double dur, const std::string& ranks) { return all_reduce(ts, dur, 9, 1, 64, ranks); };
  const trace::ImportedRun run = read_ranks("sub", {{launch(100, 1), reduce(110, 30, "[0, 1]")}, {launch(100, 1), reduce(120, 20, "[0, 1]")}, {launch(100, 1), reduce(200, 15, "[2, 3]")}, {launch(100, 1), reduce(205, 10, "[2, 3]")}});
  const trace::Matching m = trace::match_collectives(run);
  REQUIRE(m.operations.size() == 2);
  CHECK(m.operations[0].transfer == 20000);
  CHECK(m.operations[1].transfer == 10000);
  const trace::ImportedRun wrong = read_ranks("outside", {{launch(100, 1), reduce(110, 30, "[0, 1]")}, {launch(100, 1), reduce(120, 20, "[0, 1]")}, {launch(100, 1), reduce(120, 20, "[0, 1]")}});
  const auto report = trace::match_collectives(wrong).report;
  CHECK(report.entries().at("import.match.rank_outside_group").example == "rank 2 used group \"0\"");
}

TEST_CASE("all-to-all with uneven splits: sizes may differ from rank to rank") {
  const auto exchange = [](int in, int out, const std::string& split) {
    return kernel("ncclDevKernel_SendRecv", 110, 20, 9, 1,
                  fmt::format(R"(,"Collective name":"all_to_allv","In msg nelems":{},"Out msg nelems":{},"Group size":2,"dtype":"BFloat16","In split size":"{}","Process Group Name":"0","Process Group Ranks":"[0, 1]")", in, out, split));
  };
  const trace::ImportedRun run = read_ranks("uneven", {{launch(100, 1), exchange(12, 10, "[4, 8]")}, {launch(100, 1), exchange(8, 10, "[6, 2]")}});
  const trace::Matching m = trace::match_collectives(run);
  REQUIRE(m.operations.size() == 1);
  CHECK(m.operations[0].kind == trace::CommKind::all_to_all);
  CHECK(count_of(m.report, "import.match.sizes_differ") == 0);
}
