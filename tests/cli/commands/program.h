#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

/// Runs the program that was built beside the tests.
namespace sgsim::testing {

struct Finished {
  int code = 0;
  std::string out, err;
};

inline std::string scratch(const std::string& name) { return std::string(SGSIM_BINARY_DIR) + "/cli_test_" + name; }

inline std::string content(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// `arguments` as a shell takes them; runs in the source tree.
inline Finished run_sgsim(const std::string& arguments) {
  const std::string out = scratch("out"), err = scratch("err");
  const std::string command = "cd " SGSIM_SOURCE_DIR " && " SGSIM_BINARY_DIR "/bin/sgsim " + arguments + " >" + out + " 2>" + err;
  const int status = std::system(command.c_str());
  return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = content(out), .err = content(err)};
}

}  // namespace sgsim::testing
