#include "sim/import/nccl_topo/nccl_topo.h"

#include <set>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/import/nccl_topo/xml.h"
#include "sim/import/whole_file.h"

namespace sgsim::import::nccl_topo {
namespace {

constexpr std::size_t kLargest = std::size_t{64} << 20;

/// NCCL_TOPO_PATTERN_* of NCCL 2.x.
std::string pattern_name(const std::string& pattern) {
  if (pattern == "1") return "balanced tree";
  if (pattern == "2") return "split tree";
  if (pattern == "3") return "tree";
  if (pattern == "4") return "ring";
  if (pattern == "5") return "nvls";
  if (pattern == "6") return "collnet direct";
  return "pattern " + pattern;
}

std::string channel_text(const xml::Element& channel, ImportedFacts& result) {
  std::string text;
  std::set<std::string> seen;
  for (const xml::Element& member : channel.children) {
    if (!text.empty()) text += ' ';
    text += member.name + ' ' + member.attribute("dev");
    if (member.name == "gpu" && !seen.insert(member.attribute("dev")).second) {
      result.report.add("import.nccl_topo.repeated_gpu", Severity::warning, fmt::format("GPU {} twice in the channel of line {}", member.attribute("dev"), channel.line));
    }
  }
  return text;
}

Imported read(const std::vector<std::string>& paths, const Progress&) {
  if (paths.size() != 1) {
    throw InputError({.file = paths.at(1), .where = "", .found = fmt::format("{} topologies in one import", paths.size()), .expected = "one file", .hint = "import each by itself"});
  }
  Diagnostics packing;
  const std::string text = read_whole(paths.front(), "nccl_topo", packing, kLargest);
  Imported result = xml::root_name(text) == "graphs" ? Imported(read_graphs(text, paths.front())) : Imported(read_system(text, paths.front()));
  std::visit([&](auto& content) { content.report.merge(packing); }, result);
  return result;
}

}  // namespace

ImportedFacts read_graphs(std::string_view text, const std::string& file) {
  const xml::Element root = xml::parse(text, file);
  ImportedFacts result;
  result.format = "nccl_topo";
  for (const xml::Element& graph : root.children) {
    const std::string name = "graph " + graph.attribute("id");
    result.facts.emplace_back(name, fmt::format("{}, {} channels, {} GB/s inside a node ({}), {} GB/s between nodes ({})", pattern_name(graph.attribute("pattern")), graph.attribute("nchannels"),
                                                graph.attribute("speedintra"), graph.attribute("typeintra"), graph.attribute("speedinter"), graph.attribute("typeinter")));
    result.report.add("import.nccl_topo.graph", Severity::info, name);
    int channels = 0;
    for (const xml::Element& channel : graph.children) {
      if (channel.name != "channel") {
        result.report.add("import.nccl_topo.unknown_element", Severity::error, fmt::format("<{}> in line {}", channel.name, channel.line));
        continue;
      }
      result.facts.emplace_back(fmt::format("{} channel {}", name, channels++), channel_text(channel, result));
      result.report.add("import.nccl_topo.channel", Severity::info, name);
    }
    if (std::to_string(channels) != graph.attribute("nchannels")) {
      result.report.add("import.nccl_topo.channel_count", Severity::warning, fmt::format("{} says {} channels and lists {}", name, graph.attribute("nchannels"), channels));
    }
  }
  if (result.facts.empty()) throw InputError({.file = file, .where = "", .found = "<graphs> without <graph>", .expected = "at least one graph", .hint = ""});
  return result;
}

Format format() {
  return {.name = "nccl_topo",
          .description = "NCCL or RCCL topology XML (NCCL_TOPO_DUMP_FILE) or graph dump (NCCL_GRAPH_DUMP_FILE)",
          .confidence = [](const FileHead& head) {
            const std::string_view root = xml::root_name(head.bytes);
            return root == "system" || root == "graphs" ? 90 : 0;
          },
          .read = read,
          .one_by_one = true};
}

}  // namespace sgsim::import::nccl_topo
