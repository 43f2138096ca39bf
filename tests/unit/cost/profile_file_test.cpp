#include <chrono>
#include <filesystem>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/cost/profile.h"
#include "tests/support/catch.h"
#include "tests/unit/cost/small_profile.h"

namespace sgsim::cost {
namespace {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string where_of(const std::string& text) {
  try {
    (void)profile_from_text(text, "p.json");
  } catch (const InputError& e) {
    CHECK(e.problem().file == "p.json");
    return e.problem().where;
  }
  return "read without complaint";
}

TEST_CASE("a profile comes back from its file as it was") {
  Profile p = small_profile();
  p.environment["driver"] = "580.1";
  p.matmul_models[0].tiles = {{128, 256, 0.9}};
  p.matmul_tables = {{.dtype = graph::DType::bfloat16, .a_transposed = true, .b_transposed = false, .batch = {1, 8}, .m = {16}, .n = {32}, .k = {64}, .time_ns = {5000, 0}, .held_out = {.rows = 3, .median = 0.01, .p90 = 0.05}, .source = "s"}};
  p.convolutions = {{.work = {.batch = 2, .in_channels = 3, .out_channels = 4, .in_height = 5, .in_width = 6}, .time_ns = 7, .source = "s"}};
  p.sweeps = {{.op = graph::CollectiveOp::all_gather, .ranks = 4, .bytes = {1024}, .time_ns = {9000}, .source = "s"}};
  const std::string text = to_text(p);
  CHECK(profile_from_text(text, "p.json") == p);
  CHECK(to_text(profile_from_text(text, "p.json")) == text);
}

TEST_CASE("bad profiles are refused with the place") {
  const std::string good = to_text(small_profile());
  CHECK(where_of(good.substr(0, good.size() / 2)).starts_with("line"));
  CHECK(where_of(replaced(good, "\"version\": 1", "\"version\": 2")) == "$.version");
  CHECK(where_of(replaced(good, "\"sms\": {\"count\":100", "\"sms\": {\"count\":0")) == "$.gpu.sms.count");
  CHECK(where_of(replaced(good, "\"sms\": {\"count\":100", "\"sms\": {\"cores\":1,\"count\":100")) == "$.gpu.sms.cores");
  CHECK(where_of(replaced(good, "\"kind\": \"pointwise\"", "\"kind\": \"quick\"")) == "$.bandwidth_curves[0].kind");
  CHECK(where_of(replaced(good, "\"bytes\": [1000,1000000,", "\"bytes\": [1000,1000,")) == "$.bandwidth_curves[0].bytes");
  CHECK(where_of(replaced(good, "\"time_ns\": [1000,", "\"time_ns\": [")) == "$.bandwidth_curves[0].time_ns");
  CHECK(where_of(replaced(good, "\"source\":\"s\"", "\"source\":\"rumour\"")).ends_with(".source"));
  CHECK(where_of(replaced(good, "\"launch.eager.device_gap\"", "\"launch.eager.devise_gap\"")) == "$.times");
  CHECK_THROWS_AS(load_profile("/no/such/profile.json"), InputError);
}

TEST_CASE("shipped profiles load fast and are canonical") {
  for (const char* name : {"a100-80gb", "a100-40gb", "h100", "h200", "h200-measured", "h200-native"}) {
    const std::string path = std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/" + name + ".json";
    const Profile p = load_profile(path);  // warms the file cache
    CHECK(p.name == name);
    double best = 1.0;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      (void)load_profile(path);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    INFO(name << " loads in " << best * 1e3 << " ms");
    CHECK(best < 0.025);  // under 5 ms in a release build; debug builds and busy machines are slower
    CHECK(to_text(p) == read_text_file(path));
  }
}

}  // namespace
}  // namespace sgsim::cost
