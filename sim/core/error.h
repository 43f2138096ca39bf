#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace sgsim {

/// Exit codes of every program.
enum class ExitCode { good = 0, check_failed = 1, bad_input = 2, environment = 3, infeasible = 4, our_bug = 70 };

/// What is wrong with an input, where, and how to mend it.
struct InputProblem {
  std::string file;      // path as the user gave it, or "--set", or "<stdin>"
  std::string where;     // JSON path ("$.plan.tp"), or "line 12", or empty
  std::string found;     // what is there
  std::string expected;  // what would be accepted
  std::string hint;      // how to mend it; may be empty
};

/// Bad input: ends the program with exit code 2 and one readable paragraph.
class InputError : public std::runtime_error {
 public:
  explicit InputError(InputProblem problem);
  [[nodiscard]] const InputProblem& problem() const { return problem_; }

 private:
  InputProblem problem_;
};

/// The machine fails us (a file cannot be written, CUDA, NCCL): exit code 3.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A broken invariant of ours: exit code 70.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(std::string_view condition, std::string_view file, int line, const std::string& message);

}  // namespace sgsim

/// Always on. `SGSIM_CHECK(x > 0, "x is " + std::to_string(x))`.
#define SGSIM_CHECK(condition, message)                                   \
  do {                                                                    \
    if (!(condition)) ::sgsim::fail_check(#condition, __FILE__, __LINE__, (message)); \
  } while (false)
