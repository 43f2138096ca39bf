#include "sim/engine/engine.h"

#include <numeric>

#include "tests/support/catch.h"
#include "tests/support/engine/program_builder.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

/// tensor x data ranks, tensor fastest, one program that reduces over both groups.
lower::Workload grid(std::uint32_t tensor, std::uint32_t data) {
  ProgramBuilder b("p");
  const auto s = b.stream("compute");
  b.compute(s, 1.0);
  b.collective(s, b.comm(0, "tp", 1.0));
  b.collective(s, b.comm(1, "dp", 1.0));
  lower::Workload w;
  w.programs.push_back(b.program());
  for (std::uint32_t r = 0; r < tensor * data; ++r) add_rank(w, 0);
  for (std::uint32_t d = 0; d < data; ++d) {
    std::vector<std::uint32_t> members(tensor);
    std::iota(members.begin(), members.end(), d * tensor);
    add_group(w, "tp", members);
  }
  for (std::uint32_t t = 0; t < tensor; ++t) {
    std::vector<std::uint32_t> members;
    for (std::uint32_t d = 0; d < data; ++d) members.push_back(d * tensor + t);
    add_group(w, "dp", members);
  }
  return w;
}

}  // namespace

TEST_CASE("equal ranks are one class; its groups keep one arrival") {
  const engine::Folded f = engine::fold(grid(4, 3));
  REQUIRE(f.multiplicity == std::vector<std::uint32_t>{12});
  CHECK(f.representative == std::vector<RankId>{RankId{0}});
  REQUIRE(f.workload.groups.size() == 2);
  CHECK(f.workload.groups[0].members == std::vector<RankId>{RankId{0}});
  CHECK(f.workload.groups[0].kind == "tp");
  CHECK(f.workload.programs.size() == 1);
  CHECK(engine::run_fast(f, {}).step_time.value() == Approx(3.0));
}

// One slow rank of a 4 x 3 grid: itself; its tensor group (3 others wait for it there); its data group (2 others); the
// rest (6) meet slow ranks' partners only.
TEST_CASE("a slow GPU unfolds what it touches and no more") {
  lower::Workload w = grid(4, 3);
  w.ranks[5].speed = 0.5;
  const engine::Folded f = engine::fold(w);
  CHECK(f.multiplicity == std::vector<std::uint32_t>{6, 2, 3, 1});
  CHECK(f.class_of == std::vector<std::uint32_t>{0, 1, 0, 0, 2, 3, 2, 2, 0, 1, 0, 0});
  CHECK(f.representative == std::vector<RankId>{RankId{0}, RankId{1}, RankId{4}, RankId{5}});
  CHECK(engine::run_fast(f, {}).step_time.value() == Approx(4.0));
}

// A rank with another program in a group of its own leaves the others folded.
TEST_CASE("what touches nobody unfolds nobody") {
  lower::Workload w = grid(2, 2);
  ProgramBuilder lonely("lonely");
  lonely.compute(lonely.stream("compute"), 7.0);
  w.programs.push_back(lonely.program());
  add_rank(w, 1);
  const engine::Folded f = engine::fold(w);
  CHECK(f.multiplicity == std::vector<std::uint32_t>{4, 1});
}

// Three ranks in a ring, each sends to the next and receives from the previous: one class, and each of its three groups
// has both members in that class, by different slots. The folded group must still wait for both.
TEST_CASE("groups within one class keep an arrival for each slot") {
  ProgramBuilder b("p");
  const auto out = b.stream("out"), in = b.stream("in"), compute = b.stream("compute");
  const auto send = b.comm(0, "send", 2.0), receive = b.comm(1, "receive", 2.0);
  b.compute(compute, 1.0);
  b.communicate(TaskKind::send, out, send);
  b.communicate(TaskKind::receive, in, receive, {b.last(compute)});
  lower::Workload w;
  w.programs.push_back(b.program());
  for (int r = 0; r < 3; ++r) {
    add_rank(w, 0);
    w.ranks.back().groups.resize(2);
  }
  for (std::uint32_t r = 0; r < 3; ++r) {
    w.groups.push_back({.kind = "ring", .members = {RankId{r}, RankId{(r + 1) % 3}}});
    w.ranks[r].groups[0] = GroupId{r};
    w.ranks[(r + 1) % 3].groups[1] = GroupId{r};
  }
  const engine::Folded f = engine::fold(w);
  CHECK(f.multiplicity == std::vector<std::uint32_t>{3});
  CHECK(f.workload.groups.size() == 1);
  // The receive is posted at 1, the message takes 2.
  CHECK(engine::run_fast(f, {}).step_time.value() == Approx(3.0));
  CHECK(engine::run_fast(engine::unfolded(w), {}).step_time.value() == Approx(3.0));
}

// A pipeline of equal pairs: stage 0 ranks send to stage 1 ranks. Two classes, one group between them.
TEST_CASE("point-to-point groups fold with their ends") {
  lower::Workload w;
  for (const bool sends : {true, false}) {
    ProgramBuilder b(sends ? "first" : "second");
    const auto s = b.stream("compute");
    b.communicate(sends ? TaskKind::send : TaskKind::receive, s, b.comm(0, "pp", 1.0));
    w.programs.push_back(b.program());
  }
  for (std::uint32_t r = 0; r < 8; ++r) add_rank(w, r / 4);
  for (std::uint32_t r = 0; r < 4; ++r) add_group(w, "pp", {r, r + 4});
  const engine::Folded f = engine::fold(w);
  CHECK(f.multiplicity == std::vector<std::uint32_t>{4, 4});
  CHECK(f.workload.groups.size() == 1);
  CHECK(f.workload.groups[0].members.size() == 2);
}

TEST_CASE("folding a workload that is given away gives the same") {
  const lower::Workload w = grid(2, 3);
  const engine::Folded copied = engine::fold(w), moved = engine::fold(lower::Workload(w));
  CHECK(copied.class_of == moved.class_of);
  CHECK(moved.workload.programs.size() == 1);
  CHECK(moved.workload.programs[0].tasks.size() == 3);
}
