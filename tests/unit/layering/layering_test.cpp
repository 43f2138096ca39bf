// Who may include whom: docs/design.md, section 3. Reads the sources themselves.
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>

#include "tests/support/catch.h"

namespace fs = std::filesystem;

namespace {

using Allowed = std::map<std::string, std::set<std::string>>;

const Allowed kAllowed = {
    {"sim/core", {}},
    {"sim/graph", {"sim/core"}},
    {"sim/cluster", {"sim/core"}},
    {"sim/plan", {"sim/core", "sim/graph", "sim/cluster"}},
    {"sim/trace", {"sim/core", "sim/graph"}},
    {"sim/import", {"sim/core", "sim/graph", "sim/cluster", "sim/plan", "sim/trace"}},
    {"sim/export", {"sim/core", "sim/timeline", "sim/trace"}},
    {"sim/replay", {"sim/core", "sim/graph", "sim/cluster", "sim/cost", "sim/lower", "sim/timeline", "sim/trace"}},
    {"sim/compile", {"sim/core", "sim/graph"}},
    {"sim/cost", {"sim/core", "sim/graph", "sim/cluster"}},
    {"sim/lower", {"sim/core", "sim/graph", "sim/compile", "sim/cluster", "sim/plan", "sim/cost"}},
    {"sim/timeline", {"sim/core"}},
    {"sim/engine", {"sim/core", "sim/cluster", "sim/lower", "sim/cost", "sim/timeline"}},
    {"sim/scenario", {"sim/core", "sim/graph", "sim/import", "sim/compile", "sim/cluster", "sim/cost", "sim/plan", "sim/lower", "sim/timeline"}},
    {"sim/check", {"sim/core", "sim/graph", "sim/cluster", "sim/cost", "sim/plan", "sim/lower", "sim/timeline", "sim/scenario"}},
    {"planner/split", {"sim/core", "sim/graph", "sim/plan"}},
    {"planner/search", {"planner/split", "sim/core", "sim/graph", "sim/import", "sim/compile", "sim/cluster", "sim/cost", "sim/plan", "sim/lower", "sim/timeline", "sim/scenario"}},
    {"calibrate/device", {"sim/core"}},
    {"calibrate/stats", {"sim/core"}},
};

std::string folder_of(const std::string& path) {
  const auto first = path.find('/');
  const auto second = path.find('/', first + 1);
  return second == std::string::npos ? path.substr(0, first) : path.substr(0, second);
}

bool starts_with_any(const std::string& text, std::initializer_list<const char*> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](const char* p) { return text.rfind(p, 0) == 0; });
}

// Third-party headers that belong in one place only.
std::string misplaced(const std::string& file, const std::string& include) {
  if (starts_with_any(include, {"simgrid/", "xbt/"}) && file.rfind("sim/engine/simgrid/", 0) != 0) return "SimGrid outside sim/engine/simgrid";
  if (starts_with_any(include, {"boost/graph/"}) && file.rfind("planner/split/", 0) != 0) return "Boost.Graph outside planner/split";
  if (starts_with_any(include, {"QtCore", "QtGui", "QtWidgets", "QtCharts", "QApplication", "QWidget"}) && file.rfind("gui/", 0) != 0) return "Qt outside gui";
  if (starts_with_any(include, {"cuda", "nccl", "cupti", "cublas", "cudnn", "nvml"}) && !starts_with_any(file, {"calibrate/", "planner/validate/"})) return "CUDA outside calibrate and planner/validate";
  return {};
}

}  // namespace

TEST_CASE("folders include only what the design allows") {
  const fs::path root = SGSIM_SOURCE_DIR;
  const std::regex include_line(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<std::string> wrong;
  int files = 0;
  for (const char* top : {"sim", "planner", "calibrate", "gui"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const auto extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") continue;
      ++files;
      const std::string file = fs::relative(entry.path(), root).generic_string();
      const std::string folder = folder_of(file);
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        std::smatch match;
        if (!std::regex_search(line, match, include_line)) continue;
        const std::string include = match[1];
        if (const std::string why = misplaced(file, include); !why.empty()) wrong.push_back(file + ": " + why + " (" + include + ")");
        const auto rule = kAllowed.find(folder);
        if (rule == kAllowed.end() || !starts_with_any(include, {"sim/", "planner/", "calibrate/", "gui/"})) continue;
        const std::string target = folder_of(include);
        if (target != folder && rule->second.count(target) == 0) wrong.push_back(file + " includes " + include);
      }
    }
  }
  CHECK(files > 20);
  for (const std::string& line : wrong) FAIL_CHECK(line);
}
