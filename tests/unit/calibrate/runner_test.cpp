// The runner over fakes of all its seams: no GPU, no CUPTI, no NVML.
#include <filesystem>
#include <fstream>

#include "calibrate/bench/clocks.h"
#include "calibrate/bench/runner.h"
#include "sim/core/error.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::calibrate;

namespace {

/// Delivers what the fake task "launches", in reverse order, and loses every `lose`-th record.
class FakeActivities final : public ActivitySource {
 public:
  void set_mark(std::uint64_t mark) override {
    if (held) throw ActivitiesHeld("another tool is there");
    mark_ = mark;
  }
  void clear_mark() override { mark_ = 0; }
  void pause() override { paused = true; ++pauses; }
  void resume() override { paused = false; }
  ActivityBatch collect() override {
    std::reverse(batch_.activities.begin(), batch_.activities.end());
    return std::exchange(batch_, {});
  }
  void launch(std::int64_t duration_ns) {
    ++correlation_;
    if (marks) batch_.marks.push_back({correlation_, mark_});
    if (lose > 0 && ++launched_ % lose == 0) {
      ++batch_.dropped;
    } else {
      batch_.activities.push_back({.name = "fake_kernel", .start_ns = now_, .end_ns = now_ + duration_ns, .correlation = correlation_});
    }
    now_ += duration_ns + 100;
  }
  int lose = 0, pauses = 0;
  bool marks = true, paused = false, held = false;

 private:
  ActivityBatch batch_;
  std::uint64_t mark_ = 0;
  std::uint32_t correlation_ = 0;
  int launched_ = 0;
  std::int64_t now_ = 0;
};

class FakeMachine final : public MachineSource {
 public:
  Machine describe() override { return {}; }
  std::optional<GpuState> state(int) override { return GpuState{.sm_clock_mhz = clock, .temperature_c = 50}; }
  int clock = 1980;
};

struct Fixture {
  FakeActivities activities;
  FakeMachine machine;
  std::filesystem::path path = std::filesystem::temp_directory_path() / "sgsim_runner_test.samples.jsonl";
  double seconds = 0.0;
  std::vector<std::string> lines;
  Effort effort;
  ClockProbe probe;

  Fixture() {
    std::filesystem::remove(path);
    effort.rest_ratio = 0.0;  // tests do not sleep
  }
  ~Fixture() { std::filesystem::remove(path); }

  RunReport run(const std::vector<Key>& points, const Prepare& prepare) {
    const Samples known = load_samples(path);
    SamplesWriter writer(path);
    return run_points(points, {{"fake", prepare}}, known, effort,
                      {.activities = activities, .machine = machine, .writer = writer, .clock = [this] { return seconds += 0.001; },
                       .report = [this](const Progress& p) { lines.push_back(p.last); }, .probe = probe});
  }
  Task task(std::int64_t duration_ns, double error = 0.0) {
    return {.timing = DeviceTimed{[this, duration_ns](int) { activities.launch(duration_ns); }}, .synchronize = [] {}, .check = [error] { return Check{error, 0.01}; }, .holds = nullptr};
  }
};

Key key(std::int64_t n) { return {.group = "fake", .labels = {}, .sizes = {{"n", n}}}; }

}  // namespace

TEST_CASE("points are measured, kept, and not measured again") {
  Fixture f;
  const Prepare prepare = [&](const Key& k) { return f.task(k.size("n") * 1000); };
  const RunReport first = f.run({key(1), key(2)}, prepare);
  CHECK(first.measured == 2);
  CHECK(first.losses == AssemblyLosses{});
  const Samples samples = load_samples(f.path);
  REQUIRE(samples.measured.size() == 2);
  CHECK(samples.measured.at(key(2)).time.median == Approx(2e-6));
  CHECK(samples.measured.at(key(2)).kernels == std::vector<std::string>{"fake_kernel"});
  CHECK(samples.measured.at(key(2)).sm_clock_mhz == 1980);
  const RunReport second = f.run({key(1), key(2), key(3)}, prepare);  // "--only merges": old points stay, new ones come
  CHECK(second.kept == 2);
  CHECK(second.measured == 1);
  CHECK(load_samples(f.path).measured.size() == 3);
}

TEST_CASE("lost records cost repetitions, not the point") {
  Fixture f;
  f.activities.lose = 10;
  const RunReport report = f.run({key(1)}, [&](const Key&) { return f.task(1000); });
  CHECK(report.measured == 1);
  CHECK(report.losses.incomplete_runs > 0);
  CHECK(report.losses.dropped > 0);
  const Samples samples = load_samples(f.path);
  CHECK(samples.measured.at(key(1)).lost_runs > 0);
  CHECK(samples.measured.at(key(1)).time.median == Approx(1e-6));
  CHECK_FALSE(samples.findings.empty());
}

TEST_CASE("a source without marks is assembled by order, and the sample says so") {
  Fixture f;
  f.activities.marks = false;
  const RunReport report = f.run({key(1)}, [&](const Key&) { return f.task(1000); });
  CHECK(report.measured == 1);
  CHECK(report.losses.by_order);
  CHECK(load_samples(f.path).measured.at(key(1)).notes.at("assembly") == "by order");
}

TEST_CASE("a wrong result is a failure and leaves no time") {
  Fixture f;
  const RunReport report = f.run({key(1), key(2)}, [&](const Key& k) { return f.task(1000, k.size("n") == 1 ? 0.5 : std::nan("")); });
  CHECK(report.failed == 2);
  const Samples samples = load_samples(f.path);
  CHECK(samples.measured.empty());
  CHECK(samples.missing.at(key(1)).why == Missing::failed);
  CHECK(samples.missing.at(key(1)).reason.find("wrong result") == 0);
}

TEST_CASE("what the machine cannot run is waived with the reason") {
  Fixture f;
  const RunReport report = f.run({key(1)}, [](const Key&) -> Task { throw Waived{"no FP8 on this GPU"}; });
  CHECK(report.waived == 1);
  CHECK(report.failed == 0);
  CHECK(load_samples(f.path).missing.at(key(1)).reason == "no FP8 on this GPU");
  CHECK(f.lines.back().find("WAIVED: no FP8 on this GPU") != std::string::npos);
  // Once measured, it is no longer missing.
  CHECK(f.run({key(1)}, [&](const Key&) { return f.task(1000); }).measured == 1);
  CHECK(load_samples(f.path).missing.empty());
}

TEST_CASE("time runs out between points, and the rest is counted") {
  Fixture f;
  f.effort.most_minutes = 0.01;  // 0.6 s of a clock that ticks a millisecond a look
  std::vector<Key> points;
  for (std::int64_t n = 1; n <= 2000; ++n) points.push_back(key(n));
  const RunReport report = f.run(points, [&](const Key&) { return f.task(1000); });
  CHECK(report.left > 0);
  CHECK(report.measured > 0);
  CHECK(report.measured + report.left == 2000);
}

TEST_CASE("a machine that is gone ends the run, after the points before were kept") {
  Fixture f;
  const Prepare prepare = [&](const Key& k) -> Task {
    if (k.size("n") >= 2) throw EnvironmentError("CUDA could not wait for a stream: device lost");
    return f.task(1000);
  };
  CHECK_THROWS_AS(f.run({key(1), key(2), key(3), key(4), key(5)}, prepare), EnvironmentError);
  CHECK(load_samples(f.path).measured.size() == 1);
}

TEST_CASE("what was measured beside another tool is not kept") {
  Fixture f;
  f.activities.held = true;
  const Prepare prepare = [&](const Key& k) {
    // The first point measures itself and needs no records, as launch costs do.
    if (k.size("n") == 1) return Task{.timing = SelfTimed{.measure = [] { return std::vector<double>(9, 1e-6); }, .records_off = true}, .synchronize = [] {}, .check = {}};
    return f.task(1000);
  };
  CHECK_THROWS_AS(f.run({key(1), key(2)}, prepare), ActivitiesHeld);
  const Samples samples = load_samples(f.path);
  CHECK(samples.measured.empty());
  REQUIRE(samples.missing.contains(key(1)));
  CHECK(samples.missing.at(key(1)).why == Missing::failed);
}

TEST_CASE("a probe behind each repetition tells its clock, and cycles instead of time") {
  // The clock falls from 2 GHz to 1 GHz half way: the kernel of 2,000 cycles takes 1 us, then 2 us; its cycles stay. The
  // probe spins 20,000 cycles and takes 500 ns to start and end.
  Fixture f;
  int launched = 0;
  double clock = 2e9;
  const Prepare prepare = [&](const Key&) -> Task {
    Task task = f.task(0);
    task.timing = DeviceTimed{[&](int) {
      clock = ++launched <= 12 ? 2e9 : 1e9;  // 2 warm-ups and 10 of the repetitions
      f.activities.launch(static_cast<std::int64_t>(2000.0 / clock * 1e9));
    }};
    task.probe = [&] { f.activities.launch(static_cast<std::int64_t>(20000.0 / clock * 1e9) + 500); };
    return task;
  };
  f.effort.least_runs = f.effort.most_runs = 20;
  f.probe = {.cycles = 20000.0, .overhead_seconds = 500e-9};
  CHECK(f.run({key(1)}, prepare).measured == 1);
  const Measurement m = load_samples(f.path).measured.at(key(1));
  CHECK(m.cycles == Approx(2000.0));
  CHECK(m.time.median == Approx(1.5e-6));  // ten of 1 us, ten of 2 us
  CHECK(m.sm_clock_mhz == 1750);  // ten at 2 GHz, nine at 1 GHz, and 1.5 GHz between the probes at the change
}

TEST_CASE("host measurements switch the records off, and on again when they fail") {
  Fixture f;
  const Prepare prepare = [&](const Key& k) -> Task {
    return {.timing = SelfTimed{.measure =
                                    [&f, k]() -> std::vector<double> {
                                      CHECK(f.activities.paused);
                                      if (k.size("n") == 2) throw EnvironmentError("failed");
                                      return {1e-6, 2e-6, 3e-6};
                                    },
                                .records_off = true},
            .synchronize = [] {},
            .check = {},
            .holds = nullptr};
  };
  const RunReport report = f.run({key(1), key(2)}, prepare);
  CHECK(report.measured == 1);
  CHECK(report.failed == 1);
  CHECK_FALSE(f.activities.paused);
  CHECK(load_samples(f.path).measured.at(key(1)).time.median == 2e-6);
}

TEST_CASE("repetitions fill the target time within limits") {
  const Effort effort{.least_runs = 5, .most_runs = 40, .target_seconds = 0.01};
  CHECK(runs_for(1e-3, effort) == 10);
  CHECK(runs_for(1.0, effort) == 5);
  CHECK(runs_for(1e-6, effort) == 40);
  CHECK(runs_for(0.0, effort) == 40);
}

TEST_CASE("clocks that moved or were held back are noticed") {
  std::vector<GpuState> states(30, GpuState{.sm_clock_mhz = 1980, .temperature_c = 45});
  CHECK(clock_findings(states).empty());
  for (std::size_t i = 20; i < 30; ++i) states[i] = {.sm_clock_mhz = 1700, .temperature_c = 70, .throttle_reasons = 0x4};
  const std::vector<std::string> found = clock_findings(states);
  REQUIRE(found.size() == 3);
  CHECK(found[0] == "held back by power cap in 10 of 30 readings");
  CHECK(found[1] == "SM clock moved by -14.1 % from the first to the last third of the run");
  CHECK(found[2] == "warmed from 45 to 70 degrees C");
  CHECK(clock_findings({}).empty());
}
