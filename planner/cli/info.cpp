#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "planner/cli/subcommand.h"
#include "sim/check/info.h"
#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/import/format.h"
#include "sim/scenario/info.h"
#include "sim/scenario/sweep/results_info.h"

namespace sgsim::cli {
namespace {

constexpr std::size_t kLargest = std::size_t{512} << 20;  // unpacked; what is larger is a trace of others

/// Files of other programs: sgsim import says what is in them. Nothing where no reader knows the file.
std::optional<std::string> foreign_text(const std::string& path) {
  try {
    const import::Format& format = import::recognise(import::read_head(path));
    if (format.name == "known" || format.name == "own_timeline") return std::nullopt;
    return fmt::format("{}: {}\n  sgsim import {} says what it holds\n", path, format.description, path);
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string text_of(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) return scenario::info_text(path);
  try {
    if (scenario::is_result_store(import::read_head(path).bytes)) return scenario::results_text(path);
    const std::string text = read_text_file(path, kLargest);
    if (scenario::kind_of(text) == scenario::FileKind::unknown) {
      if (const auto ours = check::info_text(path, text)) return *ours;
      if (const auto others = foreign_text(path)) return *others;
    }
  } catch (const InputError&) {
    if (const auto others = foreign_text(path)) return *others;
    throw;
  }
  return scenario::info_text(path);
}

}  // namespace

void add_info(CLI::App& app, Action& chosen) {
  auto file = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("info", "Say what a file is and what it holds");
  command->add_option("FILE", *file, "Graph, model config, scenario, sweep, cluster, profile, stack, records, suite, result, sweep results, timeline, or a file that sgsim import reads")->required();
  command->callback([file, &chosen] {
    chosen = [file] {
      fmt::print("{}", text_of(*file));
      return ExitCode::good;
    };
  });
}

}  // namespace sgsim::cli
