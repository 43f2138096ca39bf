#include <fmt/format.h>

#include <memory>

#include "planner/cli/imported_run.h"
#include "planner/cli/subcommand.h"
#include "sim/trace/diff.h"

namespace sgsim::cli {
namespace {

struct Flags {
  std::string a, b;
  std::size_t rows = 12;
};

}  // namespace

void add_diff(CLI::App& app, Action& chosen) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("diff", "Compare two timelines: what got slower, by kind of kernel, stream, layer and kernel");
  command->add_option("A", flags->a, "Trace, folder of traces, or timeline of sgsim simulate --trace")->required();
  command->add_option("B", flags->b, "The other one")->required();
  command->add_option("--rows", flags->rows, "Rows of each table (12)");
  command->callback([flags, &chosen] {
    chosen = [flags] {
      fmt::print("{}", trace::diff_text(trace::diff_runs(read_run(flags->a), read_run(flags->b)), flags->rows));
      return ExitCode::good;
    };
  });
}

}  // namespace sgsim::cli
