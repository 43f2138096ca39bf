#include <filesystem>
#include <fstream>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using namespace sgsim::testing;

namespace {
const std::string kScenario = "validate scenarios/validate/2gpu/gpt2-124m-1.json";
}

TEST_CASE("programs are written for another machine, scaled down where that is smaller") {
  const std::string path = scratch("step.program.json.gz");
  const auto written = run_sgsim(kScenario + " --write-program " + path);
  INFO(written.err);
  CHECK(written.code == 0);
  CHECK(std::filesystem::file_size(path) > 1000);
  const auto smaller = run_sgsim("validate scenarios/validate/2gpu/gpt2-350m-ddp2.json --gpus 1 --write-program " + path);
  INFO(smaller.err);
  CHECK(smaller.code == 0);
  CHECK_THAT(smaller.err, Catch::Contains("scaled down: 1 of 2 data-parallel replicas"));
  const auto shapes = run_sgsim("validate scenarios/validate/2gpu/llama-8b-tp2.json --gpus 1 --write-program " + path);
  CHECK(shapes.code == 2);
  CHECK_THAT(shapes.err, Catch::Contains("at least 2 GPUs"));
  std::filesystem::remove(path);
}

TEST_CASE("without GPUs the way in two steps is named") {
  const auto done = run_sgsim(kScenario);
  INFO(done.err);
  CHECK((done.code == 3 || done.code == 0));  // 0: on a machine with GPUs, in a build with CUDA
  if (done.code == 3) CHECK_THAT(done.err, Catch::Contains("sgsim-calibrate execute") || Catch::Contains("GPU"));
}

TEST_CASE("measurements that are none, or of another program, are refused") {
  const auto missing = run_sgsim(kScenario + " --measured /no/such/file");
  CHECK(missing.code == 2);
  const std::string path = scratch("broken.measured.json");
  std::ofstream(path) << "{}";
  const auto broken = run_sgsim(kScenario + " --measured " + path);
  CHECK(broken.code == 2);
  CHECK_THAT(broken.err, Catch::Contains("schema_version"));
  const auto other = run_sgsim(kScenario + " --measured docs/records/validate-2026-11-30/measured/llama-8b-tp2-compiled.measured.json.gz");
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Catch::Contains("the program of this scenario"));
  const auto both = run_sgsim(kScenario + " --measured " + path + " --write-program " + path);
  CHECK(both.code == 2);
  std::filesystem::remove(path);
}

TEST_CASE("a measurement whose optimizer had other bytes is compared, and says so") {
  const auto done = run_sgsim("validate scenarios/validate/2gpu/gpt3-175b-tp2.json --set training.execution=compiled --measured docs/records/validate-2026-11-30/measured/gpt3-175b-tp2-compiled.measured.json.gz");
  INFO(done.err);
  CHECK(done.code == 0);
  CHECK_THAT(done.out, Catch::Contains("not the same:") && Catch::Contains("of the optimizer's kernels"));
  const auto gpus = run_sgsim(kScenario + " --gpus 0");
  CHECK(gpus.code == 2);
  CHECK_THAT(gpus.err, !Catch::Contains("17976931"));
}
