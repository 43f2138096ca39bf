#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cli/commands/program.h"
#include "tests/support/catch.h"

using namespace sgsim::testing;

namespace {

/// Runs until a shell has ended; output goes where `arguments` sends it.
int code_of(const std::string& arguments) {
  const int status = std::system(("cd " SGSIM_SOURCE_DIR " && " SGSIM_BINARY_DIR "/bin/sgsim " + arguments + " 2>/dev/null").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Processes whose parent is `parent`.
std::string children_of(pid_t parent) {
  return content("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
}

}  // namespace

TEST_CASE("output that cannot be written is the environment's error, in every subcommand") {
  const std::string scenario = "scenarios/gpt2-124m-1xh200-cuda-graph.json";
  for (const std::string& arguments : {"simulate " + scenario, "simulate " + scenario + " --json", "scenario " + scenario, "info " + scenario, std::string("--help")}) {
    INFO(arguments);
    CHECK(code_of(arguments + " >/dev/full") == 3);
    CHECK(code_of(arguments + " >/dev/null") == 0);
  }
}

TEST_CASE("directories, empty names and endless files are bad input") {
  const std::string scenario = "scenarios/gpt2-124m-1xh200-cuda-graph.json";
  for (const std::string& arguments : {std::string("simulate scenarios"), std::string("info scenarios"), std::string("simulate ''"), "simulate " + scenario + " --set profile=\"\"",
                                       "simulate " + scenario + " --set model.config=scenarios", "simulate " + scenario + " --set model.config=\"\"",
                                       "simulate " + scenario + " --set model.config=/dev/zero"}) {
    const auto done = run_sgsim(arguments);
    INFO(arguments << ": " << done.err);
    CHECK(done.code == 2);
    CHECK_THAT(done.err, Catch::Contains("bad input"));
  }
}

TEST_CASE("autocast to float32 casts nothing, and flash attention refuses it") {
  const std::string command = "simulate scenarios/gpt2-124m-1xh200-cuda-graph.json --set training.compute_dtype=float32";
  const auto flash = run_sgsim(command), unfused = run_sgsim(command + " --set model.attention=unfused");
  CHECK(flash.code == 2);
  CHECK_THAT(flash.err, Catch::Contains("flash attention takes bfloat16 and float16 only"));
  INFO(unfused.err);
  CHECK(unfused.code == 0);
}

TEST_CASE("a sweep of nothing but mistakes is bad input") {
  const std::string path = scratch("mistaken_sweep.json");
  std::ofstream(path) << R"({"schema_version": 1, "scenario": ")" SGSIM_SOURCE_DIR R"(/scenarios/gpt2-124m-1xh200-cuda-graph.json", "axes": {"plan.micro_batches_typo": [1, 2]}})";
  CHECK(run_sgsim("sweep " + path + " --out " + scratch("mistaken")).code == 2);
}

TEST_CASE("without its module the simgrid engine says what is missing, and the fast engine works") {
  const std::string program = scratch("sgsim_alone");
  std::filesystem::copy_file(SGSIM_BINARY_DIR "/bin/sgsim", program, std::filesystem::copy_options::overwrite_existing);
  const std::string command = "cd " SGSIM_SOURCE_DIR " && " + program + " simulate scenarios/llama3-70b-1024xa100.json >/dev/null 2>" + program + ".err --engine ";
  CHECK(WEXITSTATUS(std::system((command + "fast").c_str())) == 0);
  CHECK(WEXITSTATUS(std::system((command + "simgrid").c_str())) == 3);
  CHECK_THAT(content(program + ".err"), Catch::Contains("sgsim_simgrid.so"));
}

TEST_CASE("the simgrid process ends with the program that started it") {
  const pid_t program = fork();
  if (program == 0) {
    if (chdir(SGSIM_SOURCE_DIR) != 0 || freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr) _exit(9);
    execl(SGSIM_BINARY_DIR "/bin/sgsim", "sgsim", "simulate", "scenarios/llama3-70b-1024xa100-3d.json", "--engine", "simgrid", static_cast<char*>(nullptr));
    _exit(9);
  }
  REQUIRE(program > 0);
  std::string child;
  for (int i = 0; i < 600 && child.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    child = children_of(program);
  }
  REQUIRE_FALSE(child.empty());
  const pid_t simgrid = static_cast<pid_t>(std::stol(child));
  kill(program, SIGKILL);
  int status = 0;
  REQUIRE(waitpid(program, &status, 0) == program);
  REQUIRE(WIFSIGNALED(status));
  // Ended: gone, or a zombie that nobody has waited for yet.
  bool ended = false;
  for (int i = 0; i < 500 && !ended; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const std::string state = content("/proc/" + std::to_string(simgrid) + "/stat");
    ended = state.empty() || state.find(") Z") != std::string::npos;
  }
  CHECK(ended);
}
