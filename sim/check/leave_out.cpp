#include "sim/check/leave_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/cost/profile.h"
#include "sim/cost/profile_names.h"
#include "sim/scenario/read.h"

namespace sgsim::check {
namespace {

namespace fs = std::filesystem;

bool names_file(const cost::Provenance& p, const std::string& file) {
  // Facts of the GPU itself (its memory, its datasheet) are no fit.
  if (p.kind == cost::ProvenanceKind::published) return false;
  const std::string text = p.source + " " + p.note;
  if (file == "h200") return text.find("shared/truth/h200/") != std::string::npos || text.find("h200/*.trace") != std::string::npos;
  return text.find("/" + file + ".json") != std::string::npos;
}

std::vector<std::string> shipped_profiles() {
  std::vector<std::string> paths;
  for (const auto& entry : fs::directory_iterator(fs::path(scenario::data_folder()) / "profiles")) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace

Dependence dependence_on(const std::string& profile_path, const std::string& file) {
  const cost::Profile p = cost::load_profile(profile_path);
  Dependence result{.profile = fs::path(profile_path).stem().string(), .constants = {}};
  const auto add = [&](const std::string& source, const std::string& what) {
    const auto found = p.sources.find(source);
    if (found == p.sources.end() || !names_file(found->second, file)) return;
    if (std::find(result.constants.begin(), result.constants.end(), what) == result.constants.end()) result.constants.push_back(what);
  };
  for (const auto& m : p.matmul_models) add(m.source, "matmul_models");
  for (const auto& t : p.matmul_tables) add(t.source, "matmul_tables");
  for (const auto& m : p.attention_models) add(m.source, "attention_models");
  for (const auto& t : p.attention_tables) add(t.source, "attention_tables");
  for (const auto& c : p.convolutions) add(c.source, "convolutions");
  for (const auto& c : p.bandwidth_curves) add(c.source, fmt::format("bandwidth_curves {}", cost::name_of(c.kind)));
  for (const auto& c : p.protocols) add(c.source, "protocols");
  for (const auto& c : p.sweeps) add(c.source, "sweeps");
  for (const auto& [name, value] : p.factors) add(value.source, "factors " + name);
  for (const auto& [name, value] : p.times) add(value.source, "times " + name);
  for (const auto& [name, value] : p.rates) add(value.source, "rates " + name);
  return result;
}

std::map<std::string, std::string> profiles_without(const std::string& file, std::vector<std::string>& notes) {
  std::map<std::string, std::string> instead;
  bool any = false;
  for (const std::string& path : shipped_profiles()) {
    const Dependence dependence = dependence_on(path, file);
    if (dependence.constants.empty() || dependence.profile.ends_with("-measured")) continue;
    any = true;
    const std::string measured = (fs::path(path).parent_path() / (dependence.profile + "-measured.json")).string();
    if (fs::exists(measured) && dependence_on(measured, file).constants.empty()) {
      instead[dependence.profile] = measured;
      notes.push_back(fmt::format("without {}: {} gives way to {}-measured (it owes {} to that file)", file, dependence.profile, dependence.profile, fmt::join(dependence.constants, ", ")));
    } else {
      notes.push_back(fmt::format("without {}: {} still owes to it: {}", file, dependence.profile, fmt::join(dependence.constants, ", ")));
    }
  }
  if (!any) notes.push_back(fmt::format("without {}: no constant was fitted on it, so its rows are out of sample as they are", file));
  return instead;
}

}  // namespace sgsim::check
