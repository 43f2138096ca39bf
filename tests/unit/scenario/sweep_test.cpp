#include <csignal>
#include <filesystem>
#include <thread>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/scenario/sweep/csv.h"
#include "sim/scenario/sweep/store.h"
#include "sim/scenario/sweep/sweep.h"
#include "sim/scenario/sweep/worker_pool.h"
#include "tests/support/catch.h"

namespace {

using namespace sgsim;
using namespace sgsim::scenario;

Sweep read(std::string_view axes) {
  return sweep_from_text("{\"schema_version\":1,\"scenario\":\"s.json\",\"axes\":" + std::string(axes) + "}", "w.json", "/data");
}

std::string where(std::string_view axes) {
  try {
    (void)read(axes);
  } catch (const InputError& error) {
    return error.problem().where;
  }
  return "accepted";
}

std::string fresh(const char* name) {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/" + name;
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
  return path;
}

}  // namespace

TEST_CASE("axes: lists, ranges, fields that change together; the last runs fastest") {
  const Sweep sweep = read(R"([{"path":"plan.tp","values":[1,2]}, {"path":"cluster.nodes","from":1,"to":8,"times":2},
                               {"paths":["plan.sharding","plan.pp"],"values":[["fsdp",1],["ddp",2]]}])");
  CHECK(sweep.scenario == "/data/s.json");
  CHECK(sweep.points() == 2 * 4 * 2);
  CHECK(sweep.paths() == std::vector<std::string>{"plan.tp", "cluster.nodes", "plan.sharding", "plan.pp"});
  CHECK(settings_text(settings_of(sweep, 0)) == "plan.tp=1 cluster.nodes=1 plan.sharding=fsdp plan.pp=1");
  CHECK(settings_text(settings_of(sweep, 1)) == "plan.tp=1 cluster.nodes=1 plan.sharding=ddp plan.pp=2");
  CHECK(settings_text(settings_of(sweep, 15)) == "plan.tp=2 cluster.nodes=8 plan.sharding=ddp plan.pp=2");
  const Sweep fractions = read(R"([{"path":"cluster.faults[0].factor","from":0.1,"to":0.3,"step":0.1}])");
  CHECK(fractions.points() == 3);
  CHECK(read(R"([{"path":"plan.micro_batch","from":1,"to":7,"step":2}])").axes[0].values.back().front() == "7");
}

TEST_CASE("broken axes are refused where they are broken") {
  CHECK(where("[]") == "$.axes");
  CHECK(where(R"([{"path":"a"}])") == "$.axes[0].values");
  CHECK(where(R"([{"path":"a","values":[]}])") == "$.axes[0].values");
  CHECK(where(R"([{"path":"a","values":[1],"from":1}])") == "$.axes[0].values");
  CHECK(where(R"([{"path":"a","from":2,"to":1,"step":1}])") == "$.axes[0].to");
  CHECK(where(R"([{"path":"a","from":0,"to":8,"times":2}])") == "$.axes[0].to");
  CHECK(where(R"([{"path":"a","from":0,"to":8}])") == "$.axes[0].step");
  CHECK(where(R"([{"path":"a","from":0,"to":1e9,"step":1}])") == "$.axes[0].to");
  CHECK(where(R"([{"path":"a","valeus":[1]}])") == "$.axes[0].values");
  CHECK(where(R"([{"paths":["a","b"],"values":[[1]]}])") == "$.axes[0].values[0]");
  CHECK(where(R"([{"path":"a","values":[1]},{"path":"a","values":[2]}])") == "$.axes");
  const std::string thousand = R"({"path":"P","from":1,"to":1000,"step":1})";
  std::string second = thousand;
  second[9] = 'Q';
  CHECK(where("[" + thousand + "," + second + "]") == "$.axes");
}

TEST_CASE("a store keeps results by key, and a second writer is refused") {
  const std::string path = fresh("store_test.sqlite");
  const PointKeys::Key a{.hash = "aa", .effective = "A"}, collision{.hash = "aa", .effective = "other"};
  const PointOutcome ok{PointStatus::ok, "", R"({"step_time_s": 1.5, "ranks": 8})"}, bad{PointStatus::infeasible, "rule: x, \"y\"", ""};
  {
    ResultStore store(path);
    store.set_points({"p=1"}, {a});
    CHECK(store.find(a) == std::nullopt);
    store.put(a, ok);
    CHECK(store.find(a) == ok);
    CHECK(store.find(collision) == std::nullopt);  // the same hash of other inputs is no answer
    CHECK_THROWS_AS(ResultStore(path), EnvironmentError);
  }
  ResultStore store(path);
  CHECK(store.find(a) == ok);
  store.put(a, bad);
  CHECK(store.find(a) == bad);
  store.forget(a);
  CHECK(store.find(a) == std::nullopt);
  const Sweep sweep = read(R"([{"path":"p","values":["x,y",2]}])");
  const PointKeys::Key b{.hash = "bb", .effective = "B"};
  store.put(a, ok);
  store.put(b, bad);
  const std::string csv = std::string(SGSIM_BINARY_DIR) + "/store_test.csv";
  write_csv(csv, sweep, store, {a, b});
  const std::string text = read_text_file(csv);
  CHECK_THAT(text, Catch::StartsWith("number,p,status,reason,step_time_s,"));
  CHECK_THAT(text, Catch::Contains("\r\n0,\"x,y\",ok,,1.5,"));
  CHECK_THAT(text, Catch::Contains("\r\n1,2,infeasible,\"rule: x, \"\"y\"\"\",,"));
}

TEST_CASE("a file that is no result store is an environment error") {
  const std::string path = fresh("no_store_test.sqlite");
  write_text_file(path, std::string(4096, 'x'));
  CHECK_THROWS_AS(ResultStore(path), EnvironmentError);
}

TEST_CASE("workers answer; one that dies takes only its own number with it") {
  for (const bool fresh_process : {false, true}) {
    WorkerPool pool(2, fresh_process, [](std::uint64_t number) {
      if (number == 3) std::raise(SIGKILL);
      return std::string(number == 4 ? 5'000'000 : 1, static_cast<char>('a' + number));
    });
    std::map<std::uint64_t, std::string> answers;
    std::uint64_t next = 0;
    while (next < 8 || pool.has_busy()) {
      while (next < 8 && pool.has_idle()) pool.submit(next++);
      if (const auto answer = pool.wait(1000)) answers[answer->number] = answer->text ? answer->text->substr(0, 1) : answer->death;
    }
    REQUIRE(answers.size() == 8);
    CHECK(answers[0] == "a");
    CHECK(answers[4] == "e");
    CHECK(answers[7] == "h");
    CHECK_THAT(answers[3], Catch::Contains("signal 9"));
  }
}
