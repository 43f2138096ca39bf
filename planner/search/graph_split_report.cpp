#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "planner/search/graph_split.h"
#include "sim/core/units_text.h"
#include "sim/scenario/text_table.h"

namespace sgsim::search {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kUnitsShown = 400;

std::string shown(const std::string& name) { return name.empty() ? "(root)" : name; }

/// Names of the runs of stage or unit `part`, in order.
std::vector<std::string> runs_of(const std::vector<int>& part_of, int part, const std::vector<std::string>& names) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < part_of.size(); ++i) {
    if (part_of[i] == part) runs.push_back(shown(names[i]));
  }
  return runs;
}

std::vector<std::string> names_of(const split::WorkGraph& graph) {
  std::vector<std::string> names;
  for (const split::WorkNode& node : graph.nodes) names.push_back(node.name);
  return names;
}

/// Where a part begins: the run's name and, since a module's own kernels may be several runs with its parts' between them, what it comes after.
std::string begin_text(const std::vector<std::string>& names, std::size_t run) {
  const bool once = std::count(names.begin(), names.end(), names[run]) == 1;
  return once || run == 0 ? shown(names[run]) : fmt::format("{} after {}", shown(names[run]), shown(names[run - 1]));
}

std::string stages_table(const ModelSplit& m) {
  scenario::TextTable table("rrrl");
  table.row({"stage", "time", "memory", "from"});
  const std::vector<std::string> names = names_of(m.graph);
  for (std::size_t k = 0; k < m.split->stage_time.size(); ++k) {
    const auto first = std::find(m.split->stage_of.begin(), m.split->stage_of.end(), static_cast<int>(k));
    table.row({std::to_string(k), to_text(m.split->stage_time[k]), to_text(m.split->stage_memory[k]), first == m.split->stage_of.end() ? "-" : begin_text(names, static_cast<std::size_t>(first - m.split->stage_of.begin()))});
  }
  return table.text();
}

std::string cuts_table(const ModelSplit& m) {
  scenario::TextTable table("rlrrrrl");
  table.row({"cut", "over", "bytes", "communication", "computation", "max/sum", "overlaps within"});
  for (std::size_t c = 0; c < m.split->cuts.size(); ++c) {
    const split::CutReport& cut = m.split->cuts[c];
    table.row({std::to_string(c), fmt::format("{} {}", m.between_nodes[c] ? "network" : "node", to_text(m.links[c].bandwidth)), to_text(cut.bytes), to_text(cut.communication), to_text(cut.computation),
               fmt::format("{:.2f}{}", cut.share, cut.overlaps ? "" : "!"), fmt::format("{} to {}", to_text(cut.slowest), to_text(cut.fastest))});
  }
  return table.text();
}

std::string units_text(const std::optional<ModelUnits>& units) {
  if (!units) return "";
  if (!units->split) return "\nFSDP units: two neighbouring runs take more than a quarter of the memory\n";
  const split::UnitSplit& split = *units->split;
  std::string text = fmt::format("\nFSDP units (and graph breaks) over {} GPUs: {} units, {} of gathers exposed in a forward pass, {} whole at once\n", units->gpus, split.unit_of.back() + 1, to_text(split.exposed),
                                 to_text(split.most_gathered));
  for (std::size_t i = 0; i < units->names.size() && i < kUnitsShown; ++i) {
    if (i == 0 || split.unit_of[i] != split.unit_of[i - 1]) text += (i == 0 ? "  begin at " : ", ") + begin_text(units->names, i);
  }
  return text + "\n";
}

ordered_json stages_json(const ModelSplit& m) {
  ordered_json stages = ordered_json::array();
  const std::vector<std::string> names = names_of(m.graph);
  for (std::size_t k = 0; m.split && k < m.split->stage_time.size(); ++k) {
    stages.push_back({{"time_s", m.split->stage_time[k].value()}, {"memory_bytes", m.split->stage_memory[k].value()}, {"runs", runs_of(m.split->stage_of, static_cast<int>(k), names)}});
  }
  return stages;
}

ordered_json cuts_json(const ModelSplit& m) {
  ordered_json cuts = ordered_json::array();
  for (std::size_t c = 0; m.split && c < m.split->cuts.size(); ++c) {
    const split::CutReport& cut = m.split->cuts[c];
    cuts.push_back({{"between_nodes", static_cast<bool>(m.between_nodes[c])}, {"link_bytes_per_s", m.links[c].bandwidth.value()}, {"link_latency_s", m.links[c].latency.value()}, {"bytes", cut.bytes.value()},
                    {"communication_s", cut.communication.value()}, {"computation_s", cut.computation.value()}, {"share", cut.share}, {"overlaps", cut.overlaps},
                    {"overlaps_from_bytes_per_s", cut.slowest.value()}, {"overlaps_to_bytes_per_s", cut.fastest.value()}});
  }
  return cuts;
}

ordered_json units_json(const std::optional<ModelUnits>& units) {
  if (!units || !units->split) return nullptr;
  const split::UnitSplit& split = *units->split;
  ordered_json list = ordered_json::array();
  for (int u = 0; u <= split.unit_of.back(); ++u) list.push_back(runs_of(split.unit_of, u, units->names));
  return {{"gpus", units->gpus}, {"exposed_s", split.exposed.value()}, {"most_gathered_bytes", split.most_gathered.value()}, {"units", list}};
}

}  // namespace

std::string split_text(const ModelSplit& m) {
  std::string text = fmt::format("\ngraph split: {} runs of kernels, {} values between them, into {} stages of one GPU each\n", m.graph.nodes.size(), m.graph.edges.size(), m.stages);
  if (!m.fits) text += fmt::format("  no split into {} stages holds undivided state and one micro-batch in {}; without that limit:\n", m.stages, to_text(m.gpu_memory));
  if (!m.split) return text + "  too few runs for so many stages\n" + units_text(m.units);
  text += stages_table(m) + cuts_table(m);
  if (!m.split->cuts.empty()) text += fmt::format("  max/sum: \"!\" where it is above {:.2g} (--overlap-share); the range are the link rates between which it is not\n", m.overlap_share);
  return text + (m.split->exact ? "  exact: every prefix of the graph was tried\n" : "  from a chain of minimum cuts: the graph has too many prefixes to try all\n") + units_text(m.units);
}

std::string split_json(const ModelSplit& m, const std::string& scenario_file) {
  const ordered_json out = {{"schema_version", 1},
                            {"scenario", scenario_file},
                            {"graph", {{"runs", m.graph.nodes.size()}, {"values", m.graph.edges.size()}}},
                            {"stages", stages_json(m)},
                            {"cuts", cuts_json(m)},
                            {"bottleneck_s", m.split ? ordered_json(m.split->bottleneck.value()) : ordered_json(nullptr)},
                            {"fits_in_memory", m.split ? ordered_json(m.fits) : ordered_json(nullptr)},
                            {"exact", m.split ? ordered_json(m.split->exact) : ordered_json(nullptr)},
                            {"overlap_share", m.overlap_share},
                            {"fsdp_units", units_json(m.units)}};
  return out.dump(2) + "\n";
}

}  // namespace sgsim::search
