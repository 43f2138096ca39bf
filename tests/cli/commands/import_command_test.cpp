// sgsim import, replay and diff as users run them, on small traces of ours.
#include <filesystem>
#include <fstream>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using sgsim::testing::run_sgsim;

namespace {

const std::string kCorpus = "tests/fuzz/corpus/kineto/";

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("import says what was read and what became of every record") {
  const auto plain = run_sgsim("import " + kCorpus + "plain.json");
  CHECK(plain.code == 0);
  CHECK(says(plain.out, "kineto: 1 rank"));
  CHECK(says(plain.out, "1 kernels"));
  CHECK(says(plain.out, "import.kineto.no_steps_marked"));
  CHECK_FALSE(says(plain.out, "import.kineto.operators"));
  CHECK(says(run_sgsim("import " + kCorpus + "plain.json --report").out, "import.kineto.operators"));
  CHECK(says(run_sgsim("import " + kCorpus + "malformed.json").out, "import.kineto.dropped.malformed_events"));
  CHECK(says(run_sgsim("import --formats").out, "kineto"));
}

TEST_CASE("import refuses in words") {
  const auto missing = run_sgsim("import /nonexistent.json");
  CHECK(missing.code == 2);
  CHECK(says(missing.err, "/nonexistent.json"));
  CHECK(run_sgsim("import").code == 2);
}

TEST_CASE("replay prints measured against simulated, and fails past a limit") {
  const auto replay = run_sgsim("replay " + kCorpus + "plain.json --trace " + sgsim::testing::scratch("replay.json"));
  CHECK(replay.code == 0);
  CHECK(says(replay.out, "measured ms"));
  CHECK(says(sgsim::testing::content(sgsim::testing::scratch("replay.json")), "traceEvents"));
  CHECK(run_sgsim("replay " + kCorpus + "plain.json --limit 1").code == 0);
  const auto wanted = run_sgsim("replay " + kCorpus + "plain.json --dp 8");
  CHECK(wanted.code == 2);
  CHECK(says(wanted.err, "--captured-machine"));
  CHECK(run_sgsim("replay " + kCorpus + "empty.json").code == 2);
}

TEST_CASE("replay takes a cluster file as a machine, as large as it says") {
  const std::string workload = "replay tests/fuzz/corpus/import_chakra/gather.0.json ", file = sgsim::testing::scratch("two_gpus.json");
  std::ofstream(file) << R"({"schema_version": 1, "builtin": "dgx-h100", "name": "mine", "nodes": 1, "node": {"gpus": 4}})";
  const auto four = run_sgsim(workload + "--captured-dp 4 --machine " + file);
  CHECK(four.code == 0);
  CHECK(says(four.out, "4 ranks on mine ("));
  const auto eight = run_sgsim(workload + "--captured-dp 8 --machine " + file);
  CHECK(eight.code == 2);
  CHECK(says(eight.err, "4 GPUs"));
  const auto neither = run_sgsim(workload + "--captured-dp 8 --machine no-such-machine");
  CHECK(neither.code == 2);
  CHECK(says(neither.err, "dgx-h100"));
  CHECK(says(neither.err, "a cluster file"));
}

TEST_CASE("a trace against its own replay: the same kernels, each as long") {
  const std::string out = sgsim::testing::scratch("own_replay.json");
  CHECK(run_sgsim("replay " + kCorpus + "overrun.json --trace " + out).code == 0);
  CHECK(says(run_sgsim("import " + out).out, "own_timeline: 1 rank"));
  const auto diff = run_sgsim("diff " + kCorpus + "overrun.json " + out);
  CHECK(diff.code == 0);
  CHECK(says(diff.out, "B / A 1.0"));
  CHECK(says(diff.out, "+0.000    1.000  2, 2"));
}

TEST_CASE("rescaling prints one step and what binds it") {
  const auto wanted = run_sgsim("replay " + kCorpus + "rank-0.json --captured-machine dgx-a100-80gb --captured-tp 2 --tp 4");
  INFO(wanted.err);
  CHECK(wanted.code == 0);
  for (const char* part : {"captured: dp 1 x tp 2 x pp 1", " a step (", "device busy", "exposed comm.", "host-bound", "as wanted"}) CHECK(says(wanted.out, part));
  const auto odd = run_sgsim("replay " + kCorpus + "rank-0.json --captured-machine dgx-a100-80gb --captured-tp 2 --tp 3");
  CHECK(odd.code == 2);
  CHECK(says(odd.err, "tensor parallel size 3"));
}

TEST_CASE("diff compares two traces") {
  const auto diff = run_sgsim("diff " + kCorpus + "plain.json " + kCorpus + "overrun.json");
  CHECK(diff.code == 0);
  for (const char* part : {"kind", "stream", "layer", "B - A ms"}) CHECK(says(diff.out, part));
}

TEST_CASE("export refuses in words what cannot be written to") {
  const std::string file = sgsim::testing::scratch("export_here.txt"), trace = kCorpus + "plain.json";
  std::ofstream(file) << "a file";
  for (const char* format : {"chakra", "kineto"}) {
    const auto over = run_sgsim("export " + trace + " --to " + format + " -o " + file);
    CHECK(over.code == 2);
    CHECK(says(over.err, "found a file; expected a folder"));
    const auto under = run_sgsim("export " + trace + " --to " + format + " -o " + file + "/below/it");
    CHECK(under.code == 2);
    CHECK(says(under.err, "export_here.txt\", which is a file"));
  }
  const auto folder = run_sgsim("export " + trace + " --to perfetto -o tests");
  CHECK(folder.code == 2);
  CHECK(says(folder.err, "expected a file"));
}

TEST_CASE("a run written as Chakra or Kineto is replayed as its source is") {
  const std::string source = sgsim::testing::scratch("export_source"), target = sgsim::testing::scratch("export_target");
  const auto table = [](const std::string& path) {
    const std::string text = run_sgsim("replay " + path).out;
    return text.substr(0, text.find("a step of "));
  };
  std::filesystem::remove_all(source);
  std::filesystem::create_directories(source);
  for (const char* file : {"rank-0.json", "rank-1.json"}) std::filesystem::copy_file(std::string(SGSIM_SOURCE_DIR "/") + kCorpus + file, source + "/" + file);
  const std::string expected = table(source);
  REQUIRE(says(expected, "error of a step"));
  for (const char* format : {"chakra", "kineto"}) {
    std::filesystem::remove_all(target);
    REQUIRE(run_sgsim("export " + source + " --to " + format + " -o " + target).code == 0);
    CHECK(table(target) == expected);
    CHECK(std::filesystem::exists(target + "/comm_group.json") == (std::string(format) == "chakra"));
  }
}

TEST_CASE("folders are read with their subfolders, and what is passed over is told") {
  const std::string top = sgsim::testing::scratch("nested");
  std::filesystem::remove_all(top);
  for (const char* rank : {"0", "1"}) {
    std::filesystem::create_directories(top + "/logs/rank_" + rank);
    std::filesystem::copy_file(std::string(SGSIM_SOURCE_DIR "/") + kCorpus + "rank-" + rank + ".json", top + "/logs/rank_" + rank + "/trace.json");
  }
  std::filesystem::create_directories(top + "/.cache");
  std::ofstream(top + "/notes.txt") << "nothing";
  const auto nested = run_sgsim("import --report " + top);
  CHECK(nested.code == 0);
  CHECK(says(nested.out, "kineto: 2 ranks"));
  CHECK(says(nested.out, "2  import.file.in_subfolder"));
  CHECK(says(nested.out, "1  import.file.hidden_folder_passed_over"));
  CHECK(says(nested.out, "1  import.file.unknown"));
  std::ofstream(top + "/logs/cut.json") << "{\"traceEvents\": 5}";
  std::ofstream(top + "/logs/empty.json");
  const auto bad = run_sgsim("import " + top);
  CHECK(bad.code == 0);
  CHECK(says(bad.out, "kineto: 2 ranks"));
  CHECK(says(bad.out, "2  import.file.not_readable"));
  CHECK(says(bad.out, "empty.json: found an empty file"));
  std::filesystem::remove_all(top + "/logs");
  const auto nothing = run_sgsim("import " + top);
  CHECK(nothing.code == 2);
  CHECK(says(nothing.err, "found 1 files (0 of them in subfolders), none of a known format, for example"));
  CHECK(says(nothing.err, ".cache"));
}

TEST_CASE("a folder with two runs is imported as two, and neither replayed, compared nor exported as one") {
  const std::string top = sgsim::testing::scratch("two_runs");
  std::filesystem::remove_all(top);
  std::filesystem::create_directories(top);
  for (const char* file : {"rank-0.json", "rank-2-of-4.json"}) std::filesystem::copy_file(std::string(SGSIM_SOURCE_DIR "/") + kCorpus + file, top + "/" + file);
  const auto both = run_sgsim("import " + top);
  CHECK(both.code == 0);
  CHECK(says(both.out, "import.kineto.other_run"));
  for (const std::string& command : {"replay " + top, "diff " + top + " " + top, "export --to chakra -o " + top + "/out " + top}) {
    const auto refused = run_sgsim(command);
    CHECK(refused.code == 2);
    CHECK(says(refused.err, "found 2 runs: kineto of"));
    CHECK(says(refused.err, "world sizes 4 and 2"));
  }
}
