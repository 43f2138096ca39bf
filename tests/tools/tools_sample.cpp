// For the checks with others' tools (others_tools_test.py): writes what they shall open, prints what they shall agree with.
//   tools_sample export OUT FILE|DIR   Chakra, Kineto and Perfetto files of a run
//   tools_sample sums FILE|DIR         numbers and total times (ns) of what was read of a run
//   tools_sample onnx FILE             name and shape of every value of the graph, a line each
#include <algorithm>
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
    const std::string groups = exporting::chakra_groups(*run, report);
    if (!groups.empty()) write_text_file(out + "/comm_group.json", groups);
    const auto unlisted = report.entries().find("export.chakra.group_without_members");
    std::size_t kernels = 0, steps = 0, ops = 0, calls = 0, collectives = 0, device = 0;
    for (const trace::RankTrace& rank : run->ranks) {
      steps += rank.steps.size();
      ops += rank.ops.size();
      calls += rank.calls.size();
      device += rank.device_ops.size();
      collectives += rank.collectives.size();
      for (const trace::DeviceOp& op : rank.device_ops) kernels += op.kind == trace::DeviceKind::kernel ? 1U : 0U;
    }
    fmt::print("ranks {} steps {} ops {} calls {} device {} kernels {} collectives {} groups_unlisted {}\n", run->ranks.size(), steps, ops, calls, device, kernels, collectives, unlisted == report.entries().end() ? 0 : unlisted->second.count);
  }
  return 0;
}

int print_sums(const std::string& input) {
  for (const import::Imported& imported : import::import_path(input, {})) {
    const auto* run = std::get_if<trace::ImportedRun>(&imported);
    if (run == nullptr) continue;
    std::size_t ops = 0, calls = 0, kernels = 0, copies = 0, sets = 0, collectives = 0, edges = 0;
    std::int64_t op_ns = 0, call_ns = 0, kernel_ns = 0, copy_ns = 0, set_ns = 0;
    double copy_bytes = 0.0, collective_bytes = 0.0;
    for (const trace::RankTrace& rank : run->ranks) {
      for (const trace::HostOp& op : rank.ops) ++ops, op_ns += op.duration;
      for (const trace::HostCall& call : rank.calls) ++calls, call_ns += call.duration;
      for (const trace::DeviceOp& op : rank.device_ops) {
        if (op.kind == trace::DeviceKind::kernel) ++kernels, kernel_ns += op.duration;
        if (op.kind == trace::DeviceKind::copy) ++copies, copy_ns += op.duration, copy_bytes += op.bytes;
        if (op.kind == trace::DeviceKind::set) ++sets, set_ns += op.duration;
      }
      collectives += rank.collectives.size();
      for (const trace::Collective& c : rank.collectives) collective_bytes += std::max(0.0, c.bytes);
      edges += rank.edges.size();
    }
    fmt::print("format {} ranks {} ops {} op_ns {} calls {} call_ns {} kernels {} kernel_ns {} copies {} copy_ns {} copy_bytes {:.0f} sets {} set_ns {} collectives {} collective_bytes {:.0f} edges {}\n", run->format,
               run->ranks.size(), ops, op_ns, calls, call_ns, kernels, kernel_ns, copies, copy_ns, copy_bytes, sets, set_ns, collectives, collective_bytes, edges);
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
    if (argc == 3 && std::string(argv[1]) == "sums") return print_sums(argv[2]);
    if (argc == 3 && std::string(argv[1]) == "onnx") return print_onnx(argv[2]);
  } catch (const InputError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  return 2;
}
