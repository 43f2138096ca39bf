#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "sim/core/units_text.h"
#include "sim/scenario/content_hash.h"
#include "sim/scenario/exact_text.h"
#include "sim/scenario/names.h"
#include "sim/scenario/nearest.h"
#include "sim/scenario/pretty_json.h"
#include "sim/scenario/text_table.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::scenario;

TEST_CASE("exact text is short and reads back to the same number") {
  CHECK(exact_text(80_GiB) == "80 GiB");
  CHECK(exact_text(Bytes(79.15 * 1073741824.0)) == "79.15 GiB");
  CHECK(exact_text(25.0_GBps) == "25 GB/s");
  CHECK(exact_text(0.6_us) == "0.6 us");
  CHECK(exact_text(Seconds(0.0)) == "0 s");
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    // 53 random bits of mantissa, from a trillionth to a quadrillion.
    const double value = static_cast<double>(random() >> 11) * std::pow(2.0, static_cast<int>(random() % 90) - 93);
    REQUIRE(parse_bytes(exact_text(Bytes(value))) == Bytes(value));
    REQUIRE(parse_seconds(exact_text(Seconds(value))) == Seconds(value));
    REQUIRE(parse_bandwidth(exact_text(BytesPerSecond(value))) == BytesPerSecond(value));
  }
}

TEST_CASE("the nearest word") {
  const std::vector<std::string> words = {"micro_batch", "global_batch", "tp", "pp", "sequence_parallel"};
  CHECK(nearest("micro_bacth", words) == "micro_batch");  // a swap is one slip
  CHECK(nearest("globalbatch", words) == "global_batch");
  CHECK(nearest("TP", words) == "tp");
  CHECK(nearest("qq", words) == std::nullopt);
  CHECK(nearest("zebra", words) == std::nullopt);
  CHECK(nearest(std::string(100000, 'x'), words) == std::nullopt);
  CHECK(or_list(std::vector<std::string>{"a", "b", "c"}) == "a, b or c");
}

TEST_CASE("tables align, numbers group") {
  TextTable table("lr", 0);
  table.row({"a", "1"});
  table.row({"long", "22"});
  table.row({"x"});
  CHECK(table.text() == "a      1\nlong  22\nx\n");
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1234567) == "1,234,567");
  CHECK(grouped(-1000) == "-1,000");
}

TEST_CASE("JSON for people: indented, numbers on one line") {
  const nlohmann::ordered_json value = {{"z", 1}, {"a", {1, 2.5}}, {"empty", nlohmann::ordered_json::object()}, {"words", {"x\xff", "y"}}};
  CHECK(pretty(value) == "{\n  \"z\": 1,\n  \"a\": [1,2.5],\n  \"empty\": {},\n  \"words\": [\n    \"x\xEF\xBF\xBD\",\n    \"y\"\n  ]\n}\n");
}

TEST_CASE("content hashes tell contents apart") {
  CHECK(content_hash("") != content_hash(std::string_view("\0", 1)));
  CHECK(content_hash("abcdefgh") != content_hash("abcdefgi"));
  CHECK(content_hash("abcdefgh") != content_hash(std::string_view("abcdefgh\0", 9)));
  CHECK(content_hash("a") == content_hash("a"));
  CHECK(content_hash("a").size() == 16);
}

TEST_CASE("every switch of a software stack has a word") {
  // Five numbers and as many bools as there are words, with the padding before the number that stands among them and at the end: a new
  // member changes the size or fills the padding, which flipping every known switch and comparing bytes cannot see, so count on both.
  lower::Stack flipped;
  for (const auto& [word, member] : words::kStackSwitches) flipped.*member = !(flipped.*member);
  CHECK(flipped != lower::Stack{});
  const std::size_t least = sizeof(Bytes) + 3 * sizeof(double) + sizeof(int) + std::size(words::kStackSwitches) * sizeof(bool);
  CHECK(sizeof(lower::Stack) >= least);
  CHECK(sizeof(lower::Stack) < least + 2 * alignof(Bytes));
}
