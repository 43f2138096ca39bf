#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/scenario/read.h"
#include "sim/scenario/sweep/sweep.h"
#include "tests/support/catch.h"
#include "tests/support/json_schema.h"

namespace {

using namespace sgsim;
using nlohmann::json;
namespace fs = std::filesystem;

const std::string kScenarios = std::string(SGSIM_SOURCE_DIR) + "/scenarios";

json schema(const std::string& name) { return json::parse(read_text_file(kScenarios + "/schema/" + name + ".schema.json")); }

std::vector<std::string> files(const std::string& folder) {
  std::vector<std::string> found;
  if (!fs::is_directory(folder)) return found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") found.push_back(entry.path().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("every scenario that ships is sound, as the schema and as the reader see it") {
  const json rules = schema("scenario");
  const auto found = files(kScenarios);
  REQUIRE(found.size() >= 9);
  for (const std::string& path : found) {
    INFO(path);
    CHECK(testing::problems(rules, json::parse(read_text_file(path))) == std::vector<std::string>{});
    const scenario::Scenario s = scenario::read_scenario(path);
    CHECK(fs::exists(s.model.path));
    CHECK(fs::exists(s.profile));
    CHECK(testing::problems(rules, json::parse(scenario::effective_text(s))) == std::vector<std::string>{});
  }
}

TEST_CASE("clusters and sweeps that ship are sound") {
  for (const std::string& path : files(kScenarios + "/clusters")) {
    INFO(path);
    CHECK(testing::problems(schema("cluster"), json::parse(read_text_file(path))) == std::vector<std::string>{});
    CHECK_NOTHROW(scenario::read_cluster(path));
  }
  for (const std::string& path : files(kScenarios + "/sweeps")) {
    INFO(path);
    CHECK(testing::problems(schema("sweep"), json::parse(read_text_file(path))) == std::vector<std::string>{});
    CHECK_NOTHROW(scenario::read_sweep(path));
  }
}

TEST_CASE("the schema refuses what the reader refuses") {
  const json rules = schema("scenario");
  const json good = json::parse(read_text_file(kScenarios + "/llama3-70b-1024xa100.json"));
  REQUIRE(testing::problems(rules, good).empty());
  const std::vector<std::pair<const char*, json>> changes = {
      {"/plan/tp", 0}, {"/plan/tpp", 1}, {"/plan/sharding", "fdsp"}, {"/plan/buckets/bucket", 25}, {"/plan/buckets/bucket", "25"},
      {"/schema_version", 2}, {"/model/graph", "x"}, {"/training/compute_dtype", "int8"}, {"/cluster/faults", json::array({json::object()})}};
  for (const auto& [path, value] : changes) {
    json changed = good;
    changed[json::json_pointer(path)] = value;
    INFO(path);
    CHECK_FALSE(testing::problems(rules, changed).empty());
    CHECK_THROWS_AS(scenario::scenario_from_text(changed.dump(), "x.json", kScenarios), InputError);
  }
}
