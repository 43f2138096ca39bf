// Files that lie together and are of different runs.
#include <filesystem>

#include "sim/import/chakra/file_names.h"
#include "sim/import/runs/apart.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

constexpr trace::Nanoseconds kNow = 1'750'000'000'000'000'000, kSecond = 1'000'000'000;  // since 1970

trace::RankTrace rank(const std::string& file, int number, std::uint32_t world, trace::Nanoseconds at) {
  trace::RankTrace r;
  r.file = file;
  r.rank = number;
  r.world_size = world;
  r.device_ops.push_back({.start = at, .duration = kSecond});
  return r;
}

void uses(trace::ImportedRun& run, std::size_t rank, const char* name, std::vector<std::int32_t> members) {
  run.groups.push_back({.name = run.strings.intern(name), .description = 0, .ranks = std::move(members), .size = 2});
  run.ranks[rank].collectives.push_back({.group = static_cast<std::uint32_t>(run.groups.size() - 1)});
}

std::vector<std::vector<std::size_t>> apart(const trace::ImportedRun& run) {
  std::vector<std::vector<std::size_t>> result;
  for (const import::OneRun& one : import::runs_apart(run)) result.push_back(one.ranks);
  return result;
}

using Runs = std::vector<std::vector<std::size_t>>;

trace::ImportedRun of(std::vector<trace::RankTrace> ranks) {
  trace::ImportedRun run;
  run.ranks = std::move(ranks);
  return run;
}

}  // namespace

TEST_CASE("ranks of one job are one run, also on servers whose clocks start when they do") {
  CHECK(apart(of({rank("a/0", 0, 2, kNow), rank("a/1", 1, 2, kNow + 30 * kSecond)})) == Runs{{0, 1}});
  CHECK(apart(of({rank("a/0", 0, 2, 5 * kSecond), rank("a/1", 1, 2, 50'000 * kSecond)})) == Runs{{0, 1}});
}

TEST_CASE("what tells runs apart") {
  SECTION("world sizes") { CHECK(apart(of({rank("a/0", 0, 2, kNow), rank("a/2", 2, 4, kNow), rank("a/1", 1, 2, kNow)})) == Runs{{0, 2}, {1}}); }
  SECTION("a rank twice, the same contents") { CHECK(apart(of({rank("a/0", 0, 2, kNow), rank("a/00", 0, 2, kNow)})) == Runs{{0, 1}}); }
  SECTION("a rank twice, other contents; each file goes to its folder") {
    CHECK(apart(of({rank("a/0", 0, 2, kNow), rank("b/0", 0, 2, kNow + 1), rank("a/1", 1, 2, kNow), rank("b/1", 1, 2, kNow)})) == Runs{{0, 2}, {1, 3}});
  }
  SECTION("a rank twice, other contents in one folder; each file goes to its time") {
    CHECK(apart(of({rank("a/0", 0, 2, kNow), rank("a/00", 0, 2, kNow + 9 * kSecond), rank("a/1", 1, 2, kNow + 9 * kSecond)})) == Runs{{0}, {1, 2}});
  }
  SECTION("a minute between them") {
    CHECK(apart(of({rank("a/0", 0, 2, kNow), rank("a/1", 1, 2, kNow + 62 * kSecond)})) == Runs{{0}, {1}});
    CHECK(import::runs_apart(of({rank("a/0", 0, 2, kNow), rank("a/1", 1, 2, kNow + 62 * kSecond)}))[1].reason == "a/1 and a/0: recorded 61 s apart");
  }
  SECTION("nothing that binds them") { CHECK(apart(of({rank("a/0", -1, 0, 0), rank("a/1", -1, 0, 1)})) == Runs{{0}, {1}}); }
}

TEST_CASE("communicators that contradict each other tell runs apart, sub-groups of one name do not") {
  trace::ImportedRun run = of({rank("a/0", 0, 4, kNow), rank("a/1", 1, 4, kNow), rank("a/2", 2, 4, kNow)});
  uses(run, 0, "tp", {0, 1});
  uses(run, 1, "tp", {1, 3});
  uses(run, 2, "tp", {2, 3});
  CHECK(apart(run) == Runs{{0, 2}, {1}});
  CHECK(import::runs_apart(run)[1].reason == "a/1 and a/0: communicator \"tp\" has ranks 1 3 and 0 1");
  uses(run, 1, "tp", {0, 1});
  CHECK(apart(run) == Runs{{0, 1, 2}});
}

TEST_CASE("a folder's rank is that of the folder's name where the file has none") {
  const std::string folder = std::string(SGSIM_BINARY_DIR) + "/trace_test_rank_5";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/trace.json") << trace_text({launch(100, 1), kernel("k", 110, 10, 7, 1)});
  CHECK(import::kineto::read({folder + "/trace.json"}, {}).ranks[0].rank == 5);
}

TEST_CASE("Chakra files: a rank twice is another run, told by how the names begin") {
  using import::chakra::runs_by_prefix;
  CHECK(runs_by_prefix({"d/x.0.et", "d/y.1.et"}).size() == 1);
  CHECK(runs_by_prefix({"d/x.0.et", "d/x.1.et", "d/y.0.et"}) == std::vector<std::vector<std::string>>{{"d/x.0.et", "d/x.1.et"}, {"d/y.0.et"}});
  CHECK(import::chakra::rank_of_name("d/x.12.et.gz") == 12);
  CHECK(import::chakra::rank_of_name("d3/x.et") == -1);
}
