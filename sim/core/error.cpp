#include "sim/core/error.h"

#include <utility>

namespace sgsim {
namespace {

std::string describe(const InputProblem& p) {
  std::string text = p.file.empty() ? std::string("input") : p.file;
  if (!p.where.empty()) text += ": " + p.where;
  text += ": found " + (p.found.empty() ? std::string("nothing") : p.found);
  if (!p.expected.empty()) text += "; expected " + p.expected;
  if (!p.hint.empty()) text += ". " + p.hint;
  return text;
}

}  // namespace

InputError::InputError(InputProblem problem) : std::runtime_error(describe(problem)), problem_(std::move(problem)) {}

void fail_check(std::string_view condition, std::string_view file, int line, const std::string& message) {
  throw InternalError("broken invariant " + std::string(condition) + " at " + std::string(file) + ":" +
                      std::to_string(line) + ": " + message + ". This is a bug in SGSim; please report it.");
}

}  // namespace sgsim
