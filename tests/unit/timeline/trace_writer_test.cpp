#include "sim/timeline/trace_writer.h"

#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "tests/support/catch.h"

namespace {

using namespace sgsim;
using timeline::TraceArgument;
using timeline::TraceWriter;

std::string scratch(const char* name) { return std::string(SGSIM_BINARY_DIR) + "/" + name; }

void write_small(const std::string& path) {
  TraceWriter writer(path, {{"program", "sgsim"}, {"odd", "a\"b\\c\n\xff"}});
  writer.process(3, "rank 3 (stage \"0\")", 3);
  writer.thread(3, 1, "compute");
  const std::array arguments = {TraceArgument{"bytes", 1.5e9}, TraceArgument{"layer", std::string_view("m.0")}, TraceArgument{"micro_batch", std::int64_t{-1}}};
  // 1.2345678 us is 1234.5678 ns, written as 1.235 us; the end 2.0000004 us as 2.000 us.
  writer.slice(3, 1, Seconds(1.2345678e-6), Seconds(2.0000004e-6), "mm", "kernel", arguments);
  writer.slice(3, 1, Seconds(2.0000004e-6), Seconds(3.0e-6), "add", "kernel", {});
  writer.arrow(7, "send", 3, 1, Seconds(1.5e-6), 4, 0, Seconds(2.5e-6));
  const std::array<std::pair<std::string_view, double>, 2> memory = {{{"parameters", 1.25}, {"activations", 0.5}}};
  writer.counter(3, "memory (GiB)", Seconds(3.0e-6), memory);
  writer.close();
  CHECK(writer.events() == 7);  // process, thread, two slices, an arrow's two ends, a counter
}

}  // namespace

TEST_CASE("a trace is JSON that says what was written, packed or not") {
  for (const char* name : {"trace_writer_test.json", "trace_writer_test.json.gz"}) {
    const std::string path = scratch(name);
    write_small(path);
    const auto tree = nlohmann::json::parse(read_text_file(path));
    CHECK(tree.at("otherData").at("odd") == "a\"b\\c\n\xEF\xBF\xBD");
    const auto& events = tree.at("traceEvents");
    REQUIRE(events.size() == 9);  // a process and a thread have a name and a sort index each
    CHECK(events[0].at("args").at("name") == "rank 3 (stage \"0\")");
    const auto& slice = events[4];
    CHECK(slice.at("ph") == "X");
    CHECK(slice.at("ts").get<double>() == Approx(1.235));
    CHECK(slice.at("dur").get<double>() == Approx(0.765));
    CHECK(slice.at("args").at("micro_batch") == -1);
    CHECK(slice.at("args").at("layer") == "m.0");
    CHECK(events[6].at("ph") == "s");
    CHECK(events[7].at("ph") == "f");
    CHECK(events[6].at("id") == events[7].at("id"));
    CHECK(events[8].at("args").at("activations") == 0.5);
  }
}

TEST_CASE("slices that touch still touch after rounding") {
  const std::string path = scratch("trace_touch_test.json");
  {
    TraceWriter writer(path, {});
    double at = 0.0;
    for (int i = 0; i < 200; ++i) {
      const double next = at + 1.7e-9 * (i % 5);  // 0 to 6.8 ns
      writer.slice(0, 0, Seconds(at), Seconds(next), "k", "kernel", {});
      at = next;
    }
  }
  const auto tree = nlohmann::json::parse(read_text_file(path));
  std::int64_t last_end = 0;
  for (const auto& event : tree.at("traceEvents")) {
    const auto start = std::llround(event.at("ts").get<double>() * 1000), length = std::llround(event.at("dur").get<double>() * 1000);
    CHECK(start == last_end);
    CHECK(length >= 0);
    last_end = start + length;
  }
}

TEST_CASE("a trace that cannot be written is an environment error") {
  CHECK_THROWS_AS(TraceWriter("/nonexistent-folder/t.json.gz", {}), EnvironmentError);
}

TEST_CASE("JSON strings: quotes, control bytes, broken UTF-8") {
  const auto round = [](std::string_view text) {
    std::string json;
    timeline::append_json_string(json, text);
    return nlohmann::json::parse(json).get<std::string>();
  };
  CHECK(round("plain") == "plain");
  CHECK(round("q\"b\\n\n\t\x01") == "q\"b\\n\n\t\x01");
  CHECK(round("\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80") == "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  CHECK(round("\xC3") == "\xEF\xBF\xBD");
  CHECK(round("\xC0\xAF") == "\xEF\xBF\xBD\xEF\xBF\xBD");                // overlong
  CHECK(round("\xED\xA0\x80").size() == 9);                              // a surrogate: three bytes, each replaced
  CHECK(round(std::string_view("a\0b", 3)) == std::string("a\0b", 3));
}
