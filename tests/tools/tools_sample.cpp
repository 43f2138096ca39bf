// For the checks with others' tools (others_tools_test.py): writes what they shall open, prints what they shall agree with.
//   tools_sample export OUT FILE|DIR   Chakra, Kineto and Perfetto files of a run
//   tools_sample onnx FILE             name and shape of every value of the graph, a line each
#include <cstdio>
#include <filesystem>
#include <string>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/export/export.h"
#include "sim/import/format.h"

namespace {

using namespace sgsim;

int export_run(const std::string& out, const std::string& input) {
  std::filesystem::create_directories(out);
  for (const import::Imported& imported : import::import_path(input, {})) {
    const auto* run = std::get_if<trace::ImportedRun>(&imported);
    if (run == nullptr) continue;
    Diagnostics report;
    write_text_file(out + "/trace.perfetto", exporting::perfetto(*run, report));
    for (std::size_t i = 0; i < run->ranks.size(); ++i) {
      write_text_file(fmt::format("{}/trace.{}.et", out, i), exporting::chakra(*run, i, report));
      write_text_file(fmt::format("{}/rank-{}.json.gz", out, i), exporting::kineto(*run, i, report));
    }
    std::size_t kernels = 0, ops = 0, calls = 0, collectives = 0, device = 0;
    for (const trace::RankTrace& rank : run->ranks) {
      ops += rank.ops.size();
      calls += rank.calls.size();
      device += rank.device_ops.size();
      collectives += rank.collectives.size();
      for (const trace::DeviceOp& op : rank.device_ops) kernels += op.kind == trace::DeviceKind::kernel ? 1U : 0U;
    }
    fmt::print("ranks {} ops {} calls {} device {} kernels {} collectives {}\n", run->ranks.size(), ops, calls, device, kernels, collectives);
  }
  return 0;
}

int print_onnx(const std::string& file) {
  for (const import::Imported& imported : import::import_path(file, {})) {
    for (const auto& [name, graph] : std::get<import::ImportedGraphs>(imported).graphs) {
      for (const graph::Node& node : graph.nodes) fmt::print("{} {}\n", node.name, fmt::join(node.outputs[0].shape, ","));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 4 && std::string(argv[1]) == "export") return export_run(argv[2], argv[3]);
    if (argc == 3 && std::string(argv[1]) == "onnx") return print_onnx(argv[2]);
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 2;
}
