#include <filesystem>
#include <fstream>

#include "calibrate/record/samples_file.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::calibrate;

namespace {

struct TempFile {
  std::filesystem::path path = std::filesystem::temp_directory_path() / "sgsim_samples_test.jsonl";
  TempFile() { std::filesystem::remove(path); }
  ~TempFile() { std::filesystem::remove(path); }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path);
    return {(std::istreambuf_iterator<char>(file)), {}};
  }
  void append(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
};

Measurement measurement(std::int64_t m) {
  return {.key = {.group = "matmul", .labels = {{"dtype", "bfloat16"}}, .sizes = {{"m", m}}}, .time = {.count = 9, .outliers = 1, .median = 1.5e-5, .spread = 1e-7, .least = 1.4e-5, .greatest = 3e-5},
          .warmups = 3, .check_error = 0.001, .check_tolerance = 0.01, .drift = 0.01, .lost_runs = 1, .sm_clock_mhz = 1900, .kernels = {"a", "b"}, .notes = {{"grid", "132x1x1"}}};
}

}  // namespace

TEST_CASE("samples come back as they were written") {
  const TempFile file;
  Samples want;
  {
    SamplesWriter writer(file.path);
    const Machine machine{.host_cpu = "cpu", .host_cores = 16, .driver = "580.1", .libraries = {{"nccl", "2.28.9"}},
                          .gpus = {{.name = "NVIDIA H200", .compute_capability = "9.0", .sms = 132, .memory_bytes = 150109880320, .l2_bytes = 62914560, .max_sm_clock_mhz = 1980,
                                    .max_memory_clock_mhz = 3201, .power_limit_w = 700.0, .nvlinks = 18, .nvlink_version = 4, .pcie_generation = 5, .pcie_width = 16}},
                          .topology_xml = "<system/>", .date = "2026-11-29"};
    writer.write(machine, "sgsim-calibrate run");
    writer.write(measurement(1));
    writer.write(measurement(2));
    writer.write(NotMeasured{.key = measurement(3).key, .why = Missing::waived, .reason = "no"});
    writer.write_finding("warm");
    want.machines = {machine};
    want.commands = {"sgsim-calibrate run"};
    want.findings = {"warm"};
    want.add(measurement(1));
    want.add(measurement(2));
    want.add(NotMeasured{.key = measurement(3).key, .why = Missing::waived, .reason = "no"});
  }
  CHECK(load_samples(file.path) == want);
}

TEST_CASE("a line cut short by an interruption is left out, and the next run writes on a line of its own") {
  const TempFile file;
  { SamplesWriter(file.path).write(measurement(1)); }
  file.append(R"({"type":"measured","key":{"group":"mat)");
  CHECK(load_samples(file.path).measured.size() == 1);
  { SamplesWriter(file.path).write(measurement(2)); }
  CHECK(load_samples(file.path).measured.size() == 2);
}

TEST_CASE("a bad line within the file is an error that names it") {
  const TempFile file;
  { SamplesWriter(file.path).write(measurement(1)); }
  file.append("nonsense\n");
  { SamplesWriter(file.path).write(measurement(2)); }
  try {
    (void)load_samples(file.path);
    FAIL("read it");
  } catch (const InputError& error) {
    CHECK(error.problem().where == "line 2");
  }
  std::filesystem::remove(file.path);
  file.append("{\"type\":\"other\"}\n");
  CHECK_THROWS_AS(load_samples(file.path), InputError);
}

TEST_CASE("a file that does not exist is empty samples") { CHECK(load_samples("/nowhere/at/all.jsonl") == Samples{}); }

TEST_CASE("a later measurement replaces an earlier one") {
  Samples samples;
  samples.add(NotMeasured{.key = measurement(1).key, .why = Missing::failed, .reason = "x"});
  samples.add(measurement(1));
  CHECK(samples.missing.empty());
  Measurement again = measurement(1);
  again.time.median = 2.0;
  samples.add(again);
  CHECK(samples.measured.at(again.key).time.median == 2.0);
  samples.add(NotMeasured{.key = again.key, .why = Missing::waived, .reason = "y"});
  CHECK(samples.missing.empty());  // what was measured stays measured
}

TEST_CASE("keys read as text") {
  CHECK(to_text(Key{.group = "matmul", .labels = {{"layout", "nt"}, {"dtype", "bfloat16"}}, .sizes = {{"n", 2}, {"m", 1}}}) == "matmul dtype=bfloat16 layout=nt m=1 n=2");
  CHECK_THROWS_AS(Key{}.size("m"), InternalError);
  CHECK_THROWS_AS(Key{}.label("m"), InternalError);
}
