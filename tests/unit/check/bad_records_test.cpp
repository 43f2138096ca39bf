// Records that are lacking, out of range or in words of another language: skipped with the field, never predicted.
#include <functional>

#include "sim/check/collectives.h"
#include "sim/check/doubts.h"
#include "sim/check/facts.h"
#include "sim/check/to_scenario.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;

namespace {

const char* kRow = R"row({
  "id": "a", "source": "a page", "kind": "measured", "framework": "PyTorch 2.5", "precision": "bf16", "execution": "eager", "optimizer": "adamw",
  "hardware": {"gpu": "A100", "gpus": 8, "gpus_per_node": 8},
  "model": {"name": "GPT-x", "family": "gpt2", "layers": 24, "hidden": 2048, "heads": 16, "vocab": 50257, "seq": 1024},
  "parallel": {"dp": 8, "tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8}, "measured": {"step_time_s": 0.4}})row";

check::Record good() { return check::records_from_text("[" + std::string(kRow) + "]", "rows.json").at(0); }

/// The row's text with one part of it replaced.
check::Record with(const std::string& part, const std::string& instead) {
  std::string text = kRow;
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  text.replace(at, part.size(), instead);
  return check::records_from_text("[" + text + "]", "rows.json").at(0);
}

std::string skipped(const check::Record& r) {
  static const check::Sources sources = check::shipped_sources();
  return check::question_of(r, sources).skipped;
}

}  // namespace

TEST_CASE("the record that the others are made of is a question") { CHECK(skipped(good()) == ""); }

TEST_CASE("every size has a range") {
  using Field = std::optional<std::int64_t> check::Record::*;
  const std::pair<const char*, Field> fields[] = {
      {"hardware.gpus", &check::Record::gpus},     {"hardware.gpus_per_node", &check::Record::gpus_per_node}, {"model.layers", &check::Record::layers},
      {"model.hidden", &check::Record::hidden},    {"model.heads", &check::Record::heads},                    {"model.kv_heads", &check::Record::kv_heads},
      {"model.ffn", &check::Record::ffn},          {"model.vocab", &check::Record::vocab},                    {"model.seq", &check::Record::sequence},
      {"model.experts", &check::Record::experts},  {"parallel.dp", &check::Record::dp},                       {"parallel.tp", &check::Record::tp},
      {"parallel.pp", &check::Record::pp},         {"parallel.vpp", &check::Record::vpp},                     {"parallel.cp", &check::Record::cp},
      {"parallel.ep", &check::Record::ep},         {"parallel.micro_batch", &check::Record::micro_batch},     {"parallel.global_batch", &check::Record::global_batch},
      {"parallel.grad_accum", &check::Record::grad_accum}};
  for (const auto& [name, field] : fields) {
    for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, check::kLargestSize + 1}) {
      check::Record r = good();
      r.*field = value;
      CHECK(skipped(r) == std::string(name) + ": " + std::to_string(value) + ", expected a whole number from 1 to 1e9");
    }
  }
}

TEST_CASE("sizes that would divide by nothing or never end are skipped") {
  check::Record r = good();
  r.heads.reset();
  r.tp = -1;
  CHECK_THAT(skipped(r), Catch::StartsWith("parallel.tp: -1"));
  r = good();
  r.heads.reset();
  r.hidden = check::kLargestSize;  // heads of 128 are found without a walk over a thousand million
  CHECK_THAT(skipped(r), !Catch::Contains("model.heads"));
  r = good();
  r.params_b = 1e300;
  CHECK_THAT(skipped(r), Catch::StartsWith("model.params_b"));
  r = good();
  r.notes = "transformer|embedding";
  r.pp = 1000;
  CHECK_THAT(skipped(r), Catch::StartsWith("parallel.pp: 1000"));
}

TEST_CASE("networks that no server has are skipped") {
  for (const char* text : {"99999999999999999999 x 100Gb RoCE", "0 x 100Gb RoCE", "4 x 0Gb RoCE", "4 x 99999999999999999999999Gb RoCE", "0 Gbps per node"}) {
    check::Record r = good();
    r.interconnect = text;
    CHECK_THAT(skipped(r), Catch::StartsWith("hardware.interconnect: \"" + std::string(text)));
  }
}

TEST_CASE("a part that is absent or null, or a fact of the wrong type, skips its row alone") {
  CHECK(skipped(with(R"("hardware": {"gpu": "A100", "gpus": 8, "gpus_per_node": 8},)", R"("hardware": null,)")) == "no hardware");
  CHECK(skipped(with(R"("hardware": {"gpu": "A100", "gpus": 8, "gpus_per_node": 8},)", "")) == "no hardware");
  CHECK(skipped(with(R"("parallel": {"dp": 8, "tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8},)", "")) == "no parallel");
  CHECK_THAT(skipped(with(R"("gpus": 8)", R"("gpus": "eight")")), Catch::StartsWith("hardware.gpus: \"eight\", expected"));
  CHECK_THAT(skipped(with(R"("layers": 24)", R"("layers": 24.5)")), Catch::StartsWith("model.layers: 24.5"));
  const auto rows = check::records_from_text("[" + std::string(kRow) + R"(, {"id": "b", "model": [1]}])", "rows.json");
  REQUIRE(rows.size() == 2);
  CHECK(skipped(rows[0]) == "");
  CHECK(skipped(rows[1]) == "no hardware");
  CHECK_THROWS_AS(check::records_from_text(R"([{"source": "nameless"}])", "rows.json"), InputError);
  CHECK_THROWS_AS(check::records_from_text("[3]", "rows.json"), InputError);
}

TEST_CASE("a figure that is no time skips the row") {
  for (const char* value : {"\"0.4 s\"", "0", "-1"}) {
    CHECK_THAT(skipped(with(R"("step_time_s": 0.4)", R"("step_time_s": )" + std::string(value))), Catch::StartsWith("measured.step_time_s: ") && Catch::Contains("expected a number above 0"));
  }
  CHECK_THAT(skipped(with(R"("step_time_s": 0.4)", R"("peak_mem_gib_per_rank": [3, -1])")), Catch::StartsWith("measured.peak_mem_gib_per_rank[1]: -1"));
  CHECK(skipped(with(R"("step_time_s": 0.4)", R"("step_time_s": null, "loss": -3, "note": "x")")) == "");  // null says nothing; other keys are the source's
}

TEST_CASE("stated words that nothing understands skip the row and name what would do") {
  const std::pair<std::string check::Record::*, std::vector<const char*>> wrong[] = {
      {&check::Record::family, {"mamba", "t5"}},          {&check::Record::precision, {"int3", "mixed"}}, {&check::Record::execution, {"jit"}},
      {&check::Record::optimizer, {"lion"}},              {&check::Record::recompute, {"weird"}},         {&check::Record::sharding, {"zero9", "ZeRO-7"}},
      {&check::Record::schedule, {"foo", "zb_v"}},        {&check::Record::activation, {"tanhshrink"}}};
  for (const auto& [field, words] : wrong) {
    for (const char* word : words) {
      check::Record r = good();
      r.*field = word;
      CHECK_THAT(skipped(r), Catch::Contains(": \"" + std::string(word) + "\", expected one of "));
      r.*field = "not stated";
      CHECK(skipped(r) == "");
    }
  }
  check::Record r = good();
  r.schedule = "interleaved 1F1B";
  r.pp = 2;
  r.dp = 4;
  CHECK_THAT(skipped(r), Catch::StartsWith("parallel.vpp: lacking"));
}

TEST_CASE("heads and experts that the family cannot have") {
  check::Record r = good();
  r.kv_heads = 3;
  CHECK(skipped(r) == "model.kv_heads: 3, expected a divisor of the 16 heads");
  r.kv_heads = 4;
  CHECK(skipped(r) == "model.kv_heads: 4, and the family gpt2 has as many as heads, 16");
  r.kv_heads = 16;
  CHECK(skipped(r) == "");
  r.experts = 8;
  CHECK(skipped(r) == "model.experts: 8, and the family gpt2 has none");
}

TEST_CASE("denials are no statements") {
  check::Record r = good();
  r.notes = "full fine-tuning, no LoRA";
  CHECK_FALSE(check::trains_adapters(r));
  r.notes = "LoRA of rank 16";
  CHECK(check::trains_adapters(r));
  r.execution = "eager, no torch.compile";
  CHECK(*check::execution_of(r) == "eager");
  r.execution = "torch.compile without CUDA graphs";
  CHECK(*check::execution_of(r) == "compiled");
  r.sharding = "ZeRO stage 2";
  CHECK(*check::sharding_of(r) == "zero2");
  r.schedule = "GPipe";
  CHECK(*check::schedule_of(r) == "gpipe");
}

TEST_CASE("collectives that cannot be are skipped, each by itself") {
  const auto rows = check::predict_collectives(R"([
    {"gpu": "A100", "nodes": 0, "gpus": 8, "op": "all_reduce", "bytes": 1024, "time_us": 10},
    {"gpu": "A100", "nodes": 1, "gpus": 8, "op": "all_reduce", "bytes": -5, "time_us": 10},
    {"gpu": "A100", "nodes": 1, "gpus": 8, "op": "all_reduce", "bytes": 1024, "time_us": 0},
    {"gpu": "A100", "nodes": 1, "gpus": 16, "op": "all_reduce", "bytes": 1024, "time_us": 5},
    {"gpu": "A100", "nodes": 10000000, "gpus": 80000000, "op": "all_reduce", "bytes": 1024, "time_us": 5},
    {"gpu": "A100", "nodes": 1, "gpus": 8, "op": "all_reduce", "bytes": "big", "time_us": 5},
    {"gpu": "A100", "nodes": 2, "gpus": 16, "op": "all_reduce", "bytes": 1024, "time_us": 5, "interconnect": "99999999999999999999 x 100Gb"},
    {"gpu": "A100", "nodes": 1, "gpus": 8, "op": "all_reduce", "bytes": 1048576, "time_us": 50}])", "c.json", {});
  const char* reasons[] = {"nodes: 0", "bytes: -5", "time_us: 0", "gpus: 16 on 1 nodes", "nodes: 10000000", "found \"big\"", "hardware.interconnect"};
  REQUIRE(rows.size() == 8);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK_THAT(rows[i].skipped, Catch::Contains(reasons[i]));
    CHECK_FALSE(rows[i].predicted_s.has_value());
  }
  CHECK(rows[7].skipped == "");
  CHECK(*rows[7].predicted_s > 0.0);
}
