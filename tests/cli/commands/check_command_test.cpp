// `sgsim check` as a gate: what is misspelt or compares nothing must not be green.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using sgsim::testing::run_sgsim;
using sgsim::testing::scratch;

namespace {

constexpr const char* kRow = R"({"id": "%", "source": "me", "kind": "measured", "framework": "PyTorch 2.5", "precision": "bf16", "execution": "eager", "optimizer": "adamw",
  "hardware": {"gpu": "A100", "gpus": 8, "gpus_per_node": 8}, "model": {"name": "GPT-x", "family": "gpt2", "layers": 2, "hidden": 512, "heads": 8, "vocab": 50257, "seq": 256},
  "parallel": {"dp": 8, "tp": 1, "pp": 1, "micro_batch": 1, "global_batch": 8}, "measured": {"step_time_s": 0.4}})";

std::string row(const std::string& id) {
  std::string text = kRow;
  return text.replace(text.find('%'), 1, id);
}

std::string file(const std::string& name, const std::string& text) {
  const std::string path = scratch(name);
  std::ofstream(path) << text;
  return path;
}

std::string suite(const std::string& entry, const std::string& baseline) {
  return file("check_suite.json", R"({"schema_version": 1, "tolerances": [)" + entry + R"(], "baseline": )" + baseline + "}");
}

}  // namespace

TEST_CASE("check is green only where something was compared") {
  const std::string good = file("check_good.json", "[" + row("a") + "]");
  CHECK(run_sgsim("check " + good).code == 0);
  const auto nobody = run_sgsim("check " + good + " --id zzz");
  CHECK(nobody.code == 2);
  CHECK_THAT(nobody.err, Catch::Contains("no row whose id contains zzz"));
  CHECK(run_sgsim("check " + file("check_empty.json", "[]")).code == 2);
  const auto skipped = run_sgsim("check " + file("check_null.json", R"([{"id": "a", "hardware": null}])"));
  CHECK(skipped.code == 2);
  CHECK_THAT(skipped.out, Catch::Contains("a: skipped: no hardware"));
  CHECK_THAT(skipped.err, Catch::Contains("one row, skipped"));
}

TEST_CASE("check refuses names that mean nothing") {
  const std::string good = file("check_good.json", "[" + row("a") + "]");
  const auto profile = run_sgsim("check " + good + " --profile h999=scenarios/profiles/h200.json");
  CHECK(profile.code == 2);
  CHECK_THAT(profile.err, Catch::Contains("h999") && Catch::Contains("a100"));
  CHECK(run_sgsim("check " + good + " --profile h200=foo").code == 2);
  const auto entry = run_sgsim("check " + good + " --suite " + suite(R"({"file": "misspelt", "mean": 9})", R"({"a": 0.1})"));
  CHECK(entry.code == 2);
  CHECK_THAT(entry.err, Catch::Contains("misspelt") && Catch::Contains("cli_test_check_good"));
  const std::string both = file("check_good.json", "[" + row("a") + "," + row("a") + "]");
  CHECK(run_sgsim("check " + both + " --suite " + suite(R"({"file": "*", "got_worse": 9})", R"({"a": 0.1})")).code == 2);
}

TEST_CASE("a row that the baseline has and nobody compares any more breaks the check") {
  const std::string good = file("check_good.json", "[" + row("a") + "]"), judge = suite(R"({"file": "*", "got_worse": 9})", R"({"a": 0.1, "b": 0.1})");
  const auto gone = run_sgsim("check " + good + " --suite " + judge);
  CHECK(gone.code == 1);
  CHECK_THAT(gone.out, Catch::Contains("BROKEN: baseline b: in the baseline, and no longer among the records"));
  CHECK(run_sgsim("check " + good + " --id a --suite " + judge).code == 0);
}

TEST_CASE("a stack of one's own serves records of a framework of one's own") {
  const std::string stack = file("check_stack.json", R"({"schema_version": 1, "name": "ours", "description": "ours", "frameworks": ["our-trainer"],
    "statements": [{"set": {"training.execution": "eager"}, "source": "README"}]})");
  std::string text = "[" + row("a") + "]";
  text.replace(text.find("PyTorch 2.5"), 11, "our-trainer 3");
  const std::string records = file("check_ours.json", text);
  const auto without = run_sgsim("check " + records);
  CHECK(without.code == 2);
  CHECK_THAT(without.out, Catch::Contains("no stack for the framework \"our-trainer 3\"; known beginnings: ") && Catch::Contains("PyTorch"));
  const auto with = run_sgsim("check " + records + " --json --stack " + stack);
  INFO(with.err);
  REQUIRE(with.code == 0);
  CHECK(nlohmann::json::parse(with.out).at("rows").at(0).at("stack") == "ours");
}

TEST_CASE("stacks with a misspelt path or no source are refused") {
  const auto code = [](const std::string& statement) {
    const std::string path = file("check_stack.json", R"({"schema_version": 1, "name": "ours", "description": "ours", "frameworks": ["our-trainer"], "statements": [)" + statement + "]}");
    return run_sgsim("check " + file("check_good.json", "[" + row("a") + "]") + " --stack " + path).code;
  };
  CHECK(code(R"({"set": {"training.execution": "eager"}, "source": "README"})") == 0);
  CHECK(code(R"({"set": {"training.execution": "eager"}, "source": " "})") == 2);
  CHECK(code(R"({"set": {"training.execuiton": "eager"}, "source": "README"})") == 2);
  CHECK(code(R"({"when": {"training.foo": [null]}, "set": {"training.execution": "eager"}, "source": "README"})") == 2);
  CHECK(code(R"({"when": {"model.config.n_layer": [2], "training.compute_dtype": "bfloat16"}, "set": {"training.execution": "eager"}, "source": "README"})") == 0);
}

TEST_CASE("kernels without traces say so") {
  const auto done = run_sgsim("check " + file("check_good.json", "[" + row("a") + "]") + " --kernels");
  CHECK(done.code == 2);
  CHECK_THAT(done.out, Catch::Contains("1 records name no trace"));
  std::string text = "[" + row("a") + "]";
  text.insert(text.find("\"source\""), R"("trace": "nowhere.json.gz", )");
  const auto missing = run_sgsim("check " + file("check_trace.json", text) + " --kernels --json");
  CHECK(missing.code == 2);
  CHECK_THAT(missing.out, Catch::Contains("nowhere.json.gz is not there"));
}
