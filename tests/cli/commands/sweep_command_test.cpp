#include <sqlite3.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using sgsim::testing::content;
using sgsim::testing::scratch;
using sgsim::testing::run_sgsim;

namespace {

/// 24 points: some break a rule (tp 5), some are bad input (sequence 0), some are equal to others.
std::string sweep_file() {
  const std::string path = scratch("sweep.json");
  std::ofstream(path) << R"({"schema_version": 1, "scenario": ")" SGSIM_SOURCE_DIR R"(/scenarios/gpt2-124m-1xh200-compiled.json",
    "axes": [{"paths": ["plan.micro_batch", "plan.global_batch"], "values": [[1, 1], [2, 2], [4, 4]]},
             {"path": "model.sequence", "values": [0, 256, 512, 1024]},
             {"path": "plan.tp", "values": [1, 5]}]})";
  return path;
}

void remove_results(const std::string& name) {
  for (const char* end : {".sqlite", ".sqlite-wal", ".sqlite-shm", ".csv"}) std::filesystem::remove(name + end);
}

/// A CSV without its last column, wall_s, which no two runs share.
std::string without_wall(const std::string& csv) {
  std::string out;
  for (std::size_t at = 0; at < csv.size();) {
    const std::size_t end = csv.find("\r\n", at);
    const std::string line = csv.substr(at, end - at);
    out += line.substr(0, line.rfind(',')) + "\n";
    at = end + 2;
  }
  return out;
}

int count_results(const std::string& path) {
  sqlite3* database = nullptr;
  int count = -1;
  if (sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_exec(database, "SELECT COUNT(*) FROM result", [](void* to, int, char** row, char**) { *static_cast<int*>(to) = std::atoi(row[0]); return 0; }, &count, nullptr);
  }
  sqlite3_close(database);
  return count;
}

/// Starts a sweep as its own process group, so that it can be killed as hard as can be.
pid_t start(const std::string& file, const std::string& out) {
  const pid_t process = fork();
  if (process == 0) {
    (void)!freopen("/dev/null", "w", stdout);
    (void)!freopen("/dev/null", "w", stderr);
    execl(SGSIM_BINARY_DIR "/bin/sgsim", "sgsim", "sweep", file.c_str(), "--out", out.c_str(), "-j", "2", nullptr);
    _exit(127);
  }
  return process;
}

}  // namespace

TEST_CASE("a sweep into SQLite and CSV; started again it knows everything") {
  const std::string file = sweep_file(), out = scratch("sweep_whole");
  remove_results(out);
  const auto done = run_sgsim("sweep " + file + " --out " + out);
  INFO(done.err);
  REQUIRE(done.code == 0);
  CHECK_THAT(done.out, Catch::Contains("24 points: 9 ok") && Catch::Contains("9 infeasible") && Catch::Contains("6 bad_input"));
  CHECK_THAT(done.err, Catch::Contains("24 of 24 (100 %)"));
  const std::string csv = content(out + ".csv");
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 25);
  CHECK_THAT(csv, Catch::Contains("world_size"));
  const auto again = run_sgsim("sweep " + file + " --out " + out);
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Catch::Contains("24 were known already"));
  CHECK(content(out + ".csv") == csv);
}

TEST_CASE("a sweep that is killed goes on where it stopped and loses nothing") {
  const std::string file = sweep_file(), whole = scratch("sweep_whole2"), killed = scratch("sweep_killed");
  remove_results(whole);
  remove_results(killed);
  REQUIRE(run_sgsim("sweep " + file + " --out " + whole).code == 0);
  // Kill it -9 as soon as some results are there; then let it finish.
  const pid_t process = start(file, killed);
  REQUIRE(process > 0);
  using namespace std::chrono_literals;
  for (int i = 0; i < 2000 && !std::filesystem::exists(killed + ".sqlite-wal"); ++i) std::this_thread::sleep_for(5ms);
  // The write-ahead log grows with each result; a few pages are the tables and the first results.
  for (int i = 0; i < 4000 && std::filesystem::file_size(killed + ".sqlite-wal") < 150'000; ++i) std::this_thread::sleep_for(1ms);
  kill(process, SIGKILL);
  int status = 0;
  waitpid(process, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  CHECK_FALSE(std::filesystem::exists(killed + ".csv"));
  const int kept = count_results(killed + ".sqlite");
  INFO("kept " << kept);
  CHECK(kept > 0);
  CHECK(kept < 24);
  const auto resumed = run_sgsim("sweep " + file + " --out " + killed);
  INFO(resumed.err);
  REQUIRE(resumed.code == 0);
  CHECK_THAT(resumed.out, Catch::Contains("24 points: 9 ok"));
  CHECK(count_results(killed + ".sqlite") == count_results(whole + ".sqlite"));
  CHECK(without_wall(content(killed + ".csv")) == without_wall(content(whole + ".csv")));
}

TEST_CASE("a broken sweep file is bad input") {
  const std::string path = scratch("broken_sweep.json");
  std::ofstream(path) << R"({"schema_version": 1, "scenario": "x.json", "axes": []})";
  CHECK(run_sgsim("sweep " + path).code == 2);
  CHECK(run_sgsim("sweep nothing.json").code == 2);
}
