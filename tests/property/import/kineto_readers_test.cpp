// Events that are well-formed are read by read_strict_event, all others by the forgiving reader of EventLexer. Where the strict one takes an
// event, the forgiving one must read the same.
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "sim/core/byte_source.h"
#include "sim/import/kineto/lexer.h"
#include "sim/import/kineto/strict_event.h"
#include "tests/support/catch.h"

using namespace sgsim;
using import::kineto::Event;
using import::kineto::EventLexer;

namespace {

void write(std::string& into, const Event& e) {
  for (const std::string_view part : {e.phase, e.category, e.name, e.pid, e.tid, e.time, e.duration}) into.append(part).append("|");
  for (const auto& m : e.args) into.append(m.key).append(m.quoted ? "='" : "=").append(m.value).append(";");
  into += '\n';
}

std::string events_of(const std::string& text, bool strict_first) {
  const std::string path = std::string(SGSIM_BINARY_DIR) + "/kineto_readers_test.json";
  std::ofstream(path, std::ios::binary) << text;
  ByteSource source(path);
  EventLexer lexer(source, strict_first);
  std::string result;
  for (Event e; lexer.next(e);) write(result, e);
  const auto& f = lexer.forgiven();
  result += "malformed " + std::to_string(f.malformed_events) + " quotes " + std::to_string(f.unescaped_quotes) + " ends " + std::to_string(f.unterminated) + std::to_string(f.trailing_garbage);
  return result;
}

std::vector<std::string> texts() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(SGSIM_SOURCE_DIR) + "/tests/fuzz/corpus/kineto")) {
    if (entry.path().extension() != ".json" || entry.file_size() > 8000) continue;
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    result.push_back(text.str());
  }
  result.push_back(R"TEXT({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a\"b\\","pid":1,"tid":2,"ts":1.5,"dur":2,"args":{"External id":3,"Concrete Inputs":["","[1, 2]","x\\\"y"],"Input Dims":[[4, 8], [], [[1], {"k": "v]"}]],"deep":[[[[[[[[{"a":[{"b":"c"}]}]]]]]]]]}},
{"ph":"X","cat":"kernel","name":"void f<int, (g)1>(x, y)","pid":0,"tid":7,"ts":3,"dur":1,"args":{"grid":[1,2,3], "empty":[], "object":{}, "flag":true, "none":null, "text" : "a, b" }}]})TEXT");
  return result;
}

}  // namespace

TEST_CASE("a well-formed event is read by the strict reader, and as the forgiving reader has it") {
  const std::string event = R"({"ph": "X", "cat": "kernel", "name": "k<\"a\">", "pid": 0, "tid": 7, "ts": 110.5, "dur": 10, "args": {"stream": 7, "grid": [1, [2], 3], "names": ["a", "b c", ""]}})";
  std::string padded = event + std::string(import::kineto::kReadBeyond, '\0');
  Event e;
  CHECK(import::kineto::read_strict_event(padded.data(), padded.data() + event.size(), e) == padded.data() + event.size());
  CHECK(e.name == "k<\\\"a\\\">");
  CHECK(e.time == "110.5");
  CHECK(e.arg("grid") == "[1, [2], 3]");
  CHECK(e.arg("names") == R"(["a", "b c", ""])");
  for (std::size_t size = 0; size < event.size(); ++size) {  // cut anywhere: not taken
    Event cut;
    padded = event.substr(0, size) + std::string(import::kineto::kReadBeyond, '\0');
    INFO(size);
    CHECK(import::kineto::read_strict_event(padded.data(), padded.data() + size, cut) == nullptr);
  }
  for (const char* text : {R"({"ph":"X","name":"a"b"})", R"({"ph":"X","args":{"x":["a"b", "c"]}})", R"({"ph":"X","args":{"x":[1}]}})", R"({"ph":"X",})", R"({"ph":"X","ts":1{2})", R"({"ph":"X" "ts":1})",
                           R"({"ph":"X","args":{"x":["a", b"]}})", R"({"ph":"X","ts":})"}) {
    INFO(text);
    padded = text + std::string(import::kineto::kReadBeyond, '\0');
    Event none;
    CHECK(import::kineto::read_strict_event(padded.data(), padded.data() + std::string(text).size(), none) == nullptr);
  }
}

TEST_CASE("both readers agree on damaged text") {
  std::mt19937 random(20261130);
  const std::string bytes = "\"\\,:{}[] \n0a\x01\xff";
  std::size_t compared = 0;
  for (const std::string& whole : texts()) {
    REQUIRE(events_of(whole, true) == events_of(whole, false));
    for (int round = 0; round < 60; ++round) {
      std::string text = whole;
      for (auto changes = 1 + random() % 3; changes > 0; --changes) {
        const std::size_t at = random() % text.size();
        switch (random() % 3) {
          case 0: text[at] = bytes[random() % bytes.size()]; break;
          case 1: text.insert(at, 1, bytes[random() % bytes.size()]); break;
          default: text.erase(at, 1 + random() % 4);
        }
      }
      INFO(text);
      REQUIRE(events_of(text, true) == events_of(text, false));
      ++compared;
    }
  }
  CHECK(compared > 2000);
}
