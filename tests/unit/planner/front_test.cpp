#include <random>

#include "planner/search/front.h"
#include "planner/search/objective.h"
#include "tests/support/catch.h"

using namespace sgsim;
using search::Point;

TEST_CASE("front: what another beats everywhere is left out") {
  const std::vector<Point> points = {{2.0, 1.0, 8.0, 0.0}, {1.0, 2.0, 8.0, 0.0}, {2.0, 2.0, 8.0, 0.0}, {1.0, 2.0, 8.0, 0.0}};
  CHECK(search::pareto_front(points) == std::vector<std::size_t>{1, 0});
}

TEST_CASE("front: equals the definition on random points") {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> coordinate(0, 4);
  for (int round = 0; round < 50; ++round) {
    std::vector<Point> points(40);
    for (Point& p : points) p = {double(coordinate(random)), double(coordinate(random)), double(coordinate(random)), double(coordinate(random))};
    const auto front = search::pareto_front(points);
    for (std::size_t i = 0; i < points.size(); ++i) {
      bool beaten = false, member = false;
      for (std::size_t j = 0; j < points.size(); ++j) beaten |= search::dominates(points[j], points[i]);
      for (const std::size_t f : front) {
        member |= f == i;
        // of equal points the first is there
        member |= points[f].step_time == points[i].step_time && points[f].memory == points[i].memory && points[f].gpus == points[i].gpus && points[f].cost == points[i].cost;
      }
      CHECK(member == !beaten);
    }
  }
}

TEST_CASE("objective: cost of a sample") {
  // 36 a GPU and hour = 0.01 a second; 8 GPUs for 2 s and 4 samples: 0.04.
  search::Economics e;
  CHECK_FALSE(search::cost_per_sample(e, 8, Seconds(2.0), 4).has_value());
  e.price = 36.0;
  CHECK(*search::cost_per_sample(e, 8, Seconds(2.0), 4) == Approx(0.04));
}

TEST_CASE("objective: useful share of the time under failures") {
  // 100 GPUs of 1e6 s between failures: one failure in 10,000 s. A checkpoint of 50 s every sqrt(2 x 50 x 10,000) = 1,000 s: 1,000 / 1,050 of
  // the time runs; each failure costs a restart of 100 s and half of 1,050 s: 10,000 / 10,625.
  search::Economics e{.price = {}, .gpu_mtbf = Seconds(1e6), .checkpoint = Seconds(50.0), .restart = {}};
  CHECK_FALSE(search::useful_share(e, 100).has_value());
  e.restart = Seconds(100.0);
  CHECK(*search::useful_share(e, 100) == Approx(1000.0 / 1050.0 * 10000.0 / 10625.0));
}

TEST_CASE("objective: no time is useful where the next failure comes before restart and checkpoint are done") {
  // 10 GPUs of 1,500 s between failures: one in 150 s, which is what restart and checkpoint take.
  search::Economics e{.price = {}, .gpu_mtbf = Seconds(1500.0), .checkpoint = Seconds(50.0), .restart = Seconds(100.0)};
  CHECK(*search::useful_share(e, 10) == 0.0);
  CHECK(*search::useful_share(e, 9) > 0.0);
}
