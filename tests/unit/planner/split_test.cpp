#include <algorithm>
#include <random>

#include "planner/split/minimum_cut.h"
#include "planner/split/pipeline_split.h"
#include "planner/split/unit_split.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::split;

namespace {

WorkGraph random_graph(std::mt19937& random, int nodes) {
  std::uniform_int_distribution<int> amount(1, 9), coin(0, 2), which(0, 1);
  WorkGraph g;
  for (int i = 0; i < nodes; ++i) g.nodes.push_back({.name = "n", .time = Seconds(amount(random)), .memory = Bytes(amount(random))});
  for (std::uint32_t a = 0; a < g.nodes.size(); ++a) {
    const int sizes[] = {amount(random), amount(random)};  // of the two values that a node makes
    for (std::uint32_t b = a + 1; b < g.nodes.size(); ++b) {
      const std::uint32_t value = static_cast<std::uint32_t>(which(random));
      if (coin(random) == 0) g.edges.push_back({.from = a, .to = b, .bytes = Bytes(sizes[value]), .value = value});
    }
  }
  return g;
}

// Every way to give nodes to stages so that no edge leads back.
double brute_force(const WorkGraph& g, const SplitRequest& r) {
  const std::size_t n = g.nodes.size();
  std::vector<int> stage(n, 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    bool legal = std::all_of(g.edges.begin(), g.edges.end(), [&](const WorkEdge& e) { return stage[e.from] <= stage[e.to]; });
    double worst = 0.0;
    for (int s = 0; s < r.stages && legal; ++s) {
      double time = 0.0, memory = 0.0, sent = 0.0;
      int members = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (stage[i] != s) continue;
        time += g.nodes[i].time.value();
        memory += g.nodes[i].memory.value();
        ++members;
      }
      legal = members > 0 && memory <= r.capacity.value();
      for (const int cut : {s, s + 1}) {  // in and out
        if (cut == 0 || cut == r.stages) continue;
        Prefix before(n);
        for (std::size_t i = 0; i < n; ++i) before[i] = stage[i] < cut;
        sent += 2.0 * r.links[static_cast<std::size_t>(cut - 1)].time(crossing(g, before)).value();
      }
      worst = std::max(worst, r.overlap ? std::max(time, sent) : time + sent);
    }
    if (legal) best = std::min(best, worst);
    std::size_t i = 0;
    while (i < n && ++stage[i] == r.stages) stage[i++] = 0;
    if (i == n) return best;
  }
}

}  // namespace

TEST_CASE("split: a chain over a fast and a slow link") {
  // Times 4 1 1 4; values of 8, 2 and 8 bytes. Over 1 byte/s a cut of 2 bytes costs 4 s there and back, one of 8 bytes 16 s: the middle.
  WorkGraph g{.nodes = {{"a", Seconds(4), Bytes(1)}, {"b", Seconds(1), Bytes(1)}, {"c", Seconds(1), Bytes(1)}, {"d", Seconds(4), Bytes(1)}},
              .edges = {{0, 1, Bytes(8)}, {1, 2, Bytes(2)}, {2, 3, Bytes(8)}}};
  const auto split = split_pipeline(g, {.stages = 2, .capacity = Bytes(4), .links = {{BytesPerSecond(1.0), Seconds()}}});
  REQUIRE(split.has_value());
  CHECK(split->stage_of == std::vector<int>{0, 0, 1, 1});
  CHECK(split->bottleneck.value() == Approx(5.0 + 4.0));
  CHECK(split->exact);
  // communication 4 s, computation 5 s: max / sum = 5/9, below the share of 0.7. Balanced from 5 x 0.3 / 0.7 s to 5 x 0.7 / 0.3 s: 4 bytes in that.
  REQUIRE(split->cuts.size() == 1);
  CHECK(split->cuts[0].share == Approx(5.0 / 9.0));
  CHECK(split->cuts[0].overlaps);
  CHECK(split->cuts[0].slowest.value() == Approx(4.0 / (5.0 * 0.7 / 0.3)));
  CHECK(split->cuts[0].fastest.value() == Approx(4.0 / (5.0 * 0.3 / 0.7)));
}

TEST_CASE("split: memory moves the cut, and too little of it leaves none") {
  WorkGraph g{.nodes = {{"a", Seconds(1), Bytes(3)}, {"b", Seconds(1), Bytes(3)}, {"c", Seconds(4), Bytes(1)}}, .edges = {{0, 1, Bytes(1)}, {1, 2, Bytes(1)}}};
  SplitRequest r{.stages = 2, .capacity = Bytes(6), .links = {{BytesPerSecond(1e9), Seconds()}}};
  CHECK(split_pipeline(g, r)->stage_of == std::vector<int>{0, 0, 1});
  r.capacity = Bytes(4);
  CHECK(split_pipeline(g, r)->stage_of == std::vector<int>{0, 1, 1});
  r.capacity = Bytes(3);
  CHECK_FALSE(split_pipeline(g, r).has_value());
}

TEST_CASE("split: equals brute force on random graphs") {
  std::mt19937 random(11);
  for (int round = 0; round < 60; ++round) {
    const WorkGraph g = random_graph(random, 4 + round % 4);
    SplitRequest r{.stages = 2 + round % 2, .capacity = Bytes(round % 3 == 0 ? 18.0 : 100.0), .links = {}, .overlap = round % 5 == 0};
    for (int i = 0; i + 1 < r.stages; ++i) r.links.push_back({BytesPerSecond(i == 0 ? 8.0 : 1.5), Seconds(0.25)});
    const double expected = brute_force(g, r);
    const auto split = split_pipeline(g, r);
    CHECK(split.has_value() == (expected < 1e300));
    if (split) CHECK(split->bottleneck.value() == Approx(expected));
  }
}

TEST_CASE("split: minimum cuts equal the best of all prefixes") {
  std::mt19937 random(13);
  for (int round = 0; round < 60; ++round) {
    const WorkGraph g = random_graph(random, 8);
    const auto cut = minimum_cut(g, {0}, {7});
    REQUIRE(cut.has_value());
    CHECK(is_prefix(g, *cut));
    double best = std::numeric_limits<double>::infinity();
    const auto prefixes = all_prefixes(g, 1000);
    REQUIRE(prefixes.has_value());
    for (const Prefix& p : *prefixes) {
      CHECK(is_prefix(g, p));
      if (p[0] && !p[7]) best = std::min(best, crossing(g, p).value());
    }
    CHECK(crossing(g, *cut).value() == Approx(best));
  }
}

TEST_CASE("split: the chain of cuts is nested, and finds the narrow places of a graph too wide for all prefixes") {
  // Ten stages of eight parallel branches (2^8 prefixes each) between single nodes: cuts of 1 byte after each join, of 80 within.
  WorkGraph g;
  for (int block = 0; block < 10; ++block) {
    const auto start = static_cast<std::uint32_t>(g.nodes.size());
    g.nodes.push_back({"fork", Seconds(0.1), Bytes(1)});
    for (std::uint32_t b = 1; b <= 8; ++b) g.nodes.push_back({"branch", Seconds(1), Bytes(1)});
    g.nodes.push_back({"join", Seconds(0.1), Bytes(1)});
    for (std::uint32_t b = 1; b <= 8; ++b) {
      g.edges.push_back({start, start + b, Bytes(10)});
      g.edges.push_back({start + b, start + 9, Bytes(10)});
    }
    if (block > 0) g.edges.push_back({start - 1, start, Bytes(1)});
  }
  const auto chain = chain_of_cuts(g, 64);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    CHECK(is_prefix(g, chain[i]));
    for (std::size_t n = 0; n < g.nodes.size(); ++n) CHECK((!chain[i - 1][n] || chain[i][n]));
  }
  const auto split = split_pipeline(g, {.stages = 5, .capacity = Bytes(1000), .links = std::vector<Link>(4, Link{BytesPerSecond(10.0), Seconds()}), .most_prefixes = 500});
  REQUIRE(split.has_value());
  CHECK_FALSE(split->exact);
  for (const CutReport& cut : split->cuts) CHECK(cut.bytes.value() == Approx(1.0));
  CHECK(split->bottleneck.value() == Approx(2 * 8.2 + 0.4));
}

TEST_CASE("units: equal layers whose gathers are hidden stay apart, latency joins them") {
  const std::vector<UnitLayer> layers(4, UnitLayer{.time = Seconds(2.0), .parameters = Bytes(1.0)});
  // A gather of one layer takes 1 s: only the first is exposed.
  const auto apart = split_units(layers, {BytesPerSecond(1.0), Seconds()}, Bytes(100.0));
  CHECK(apart->unit_of == std::vector<int>{0, 1, 2, 3});
  CHECK(apart->exposed.value() == Approx(1.0));
  // 3 s of latency: single layers expose 4 + 3 x (4 - 2) = 10 s; one unit of four 3 + 4 = 7 s; [0], [1..3]: 4 + (3 + 3 - 2) = 8 s;
  // [0, 1], [2, 3]: 5 + (5 - 4) = 6 s.
  const auto joined = split_units(layers, {BytesPerSecond(1.0), Seconds(3.0)}, Bytes(100.0));
  CHECK(joined->exposed.value() == Approx(6.0));
  CHECK(joined->unit_of == std::vector<int>{0, 0, 1, 1});
  CHECK_FALSE(split_units(layers, {BytesPerSecond(1.0), Seconds()}, Bytes(1.5)).has_value());
}

TEST_CASE("units: equal brute force over all boundaries") {
  std::mt19937 random(17);
  std::uniform_int_distribution<int> amount(1, 9);
  for (int round = 0; round < 40; ++round) {
    std::vector<UnitLayer> layers;
    for (int i = 0; i < 8; ++i) layers.push_back({.time = Seconds(amount(random)), .parameters = Bytes(amount(random))});
    const Link link{BytesPerSecond(1.5), Seconds(round % 4)};
    const double capacity = round % 2 == 0 ? 25.0 : 100.0;
    double best = std::numeric_limits<double>::infinity();
    for (int cuts = 0; cuts < 128; ++cuts) {
      std::vector<std::pair<double, double>> units = {{0.0, 0.0}};  // time, bytes
      for (int i = 0; i < 8; ++i) {
        if (i > 0 && (cuts >> (i - 1) & 1) != 0) units.emplace_back(0.0, 0.0);
        units.back().first += layers[static_cast<std::size_t>(i)].time.value();
        units.back().second += layers[static_cast<std::size_t>(i)].parameters.value();
      }
      double exposed = link.time(Bytes(units[0].second)).value();
      bool fits = units[0].second <= capacity;
      for (std::size_t u = 1; u < units.size(); ++u) {
        exposed += std::max(0.0, link.time(Bytes(units[u].second)).value() - units[u - 1].first);
        fits = fits && units[u].second + units[u - 1].second <= capacity;
      }
      if (fits) best = std::min(best, exposed);
    }
    const auto split = split_units(layers, link, Bytes(capacity));
    CHECK(split.has_value() == (best < 1e300));
    if (split) CHECK(split->exposed.value() == Approx(best));
  }
}

// a -> b -> c -> d with running statistics e (of b) and f (of e) that nobody reads, and a constant g that c alone reads. e and f go to b, g to c.
TEST_CASE("split: loose ends go where they cannot be cut off") {
  split::WorkGraph graph;
  for (const char* name : {"a", "b", "e", "f", "g", "c", "d"}) graph.nodes.push_back({.name = name, .time = Seconds(std::string(name) < "e" ? 10.0 : 0.01), .memory = Bytes(1.0)});
  const auto edge = [&](std::uint32_t from, std::uint32_t to) { graph.edges.push_back({.from = from, .to = to, .bytes = Bytes(4.0), .value = static_cast<std::uint32_t>(graph.edges.size())}); };
  edge(0, 1), edge(1, 2), edge(2, 3), edge(4, 5), edge(1, 5), edge(5, 6);
  const split::WorkGraph merged = split::without_loose_ends(graph, 0.01);
  REQUIRE(merged.nodes.size() == 4);
  CHECK(merged.nodes[1].name == "b");
  CHECK(merged.nodes[1].time.value() == Approx(10.02));
  CHECK(merged.nodes[2].name == "c");
  CHECK(merged.nodes[2].memory.value() == Approx(2.0));
  CHECK(merged.edges.size() == 3);
  for (const split::WorkEdge& e : merged.edges) CHECK(e.from + 1 == e.to);
  CHECK(split::without_loose_ends(graph, 1e-6).nodes.size() == 6);  // nothing is that small: f alone, which nobody reads
}
