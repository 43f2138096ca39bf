#include <set>

#include "calibrate/bench/draw.h"
#include "calibrate/bench/sweeps.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::calibrate;

TEST_CASE("held-out shapes are in no sweep, by their sizes alone") {
  for (const std::string& group : group_names()) {
    std::set<std::pair<std::map<std::string, std::string>, std::map<std::string, std::int64_t>>> fitted;
    const auto without_set = [](Key key) {
      key.labels.erase("set");
      return std::pair(key.labels, key.sizes);
    };
    for (const Key& key : select_points({group}, false, 2)) fitted.insert(without_set(key));
    for (const Key& key : select_points({group}, true, 2)) {
      INFO(to_text(key));
      CHECK(is_held_out(key));
      CHECK_FALSE(fitted.contains(without_set(key)));
    }
  }
}

TEST_CASE("held-out sets have the sizes asked for, and are the same each time") {
  CHECK(select_points({"matmul"}, true, 1).size() == 200);
  const std::vector<Key> attention = select_points({"attention"}, true, 1);
  CHECK(attention.size() == 100);
  CHECK(std::count_if(attention.begin(), attention.end(), [](const Key& key) { return key.is("pass", "backward"); }) == 50);
  CHECK(select_points({"collective"}, true, 1).empty());  // one GPU has no collectives to hold out
  CHECK(select_points({}, true, 2) == select_points({}, true, 2));
}

TEST_CASE("no point twice") {
  const std::vector<Key> points = select_points({}, false, 4);
  CHECK(std::set<Key>(points.begin(), points.end()).size() == points.size());
}

TEST_CASE("collectives cover 1 KB to 1 GB on each power of two of ranks, and all of them") {
  std::set<std::int64_t> ranks, bytes;
  for (const Key& key : collective_sweep(6)) {
    ranks.insert(key.size("ranks"));
    bytes.insert(key.size("bytes"));
  }
  CHECK(ranks == std::set<std::int64_t>{1, 2, 4, 6});
  CHECK(*bytes.begin() == 1024);
  CHECK(*bytes.rbegin() == 1 << 30);
}

TEST_CASE("a group that does not exist is refused with the ones that do") {
  try {
    (void)select_points({"matmuls"}, false, 1);
    FAIL("took it");
  } catch (const InputError& error) {
    CHECK(error.problem().expected.find("matmul, memory") != std::string::npos);
  }
}

TEST_CASE("smoke has points of every group that the machine can have") {
  std::set<std::string> groups;
  for (const Key& key : smoke_points(2)) groups.insert(key.group);
  CHECK(groups.size() == group_names().size());
  CHECK(smoke_points(2).size() < 250);
}

TEST_CASE("draws are the same on every machine and within their limits") {
  Draw draw(1);
  CHECK(draw.bits() == 0x910a2dec89025cc1ull);  // SplitMix64, first output for seed 1 (reference implementation)
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t x = draw.log_uniform(128, 32768, 64);
    CHECK((x >= 128 && x <= 32768 && x % 64 == 0));
  }
}
