#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/scenario/scenario.h"

namespace sgsim::scenario {

/// Reads a scenario file (docs/formats/scenario.md) with `settings` applied to it first, in order. Throws InputError:
/// file (or the --set that is at fault), JSON path, found, expected, and the nearest known key.
[[nodiscard]] Scenario read_scenario(const std::string& path, std::span<const Setting> settings = {});

/// The same from text; `file` names it in errors and paths inside it are relative to `folder`.
[[nodiscard]] Scenario scenario_from_text(std::string_view text, const std::string& file, const std::string& folder,
                                          std::span<const Setting> settings = {});

/// Reads a cluster file (docs/formats/scenario.md, Cluster files).
[[nodiscard]] cluster::Cluster read_cluster(const std::string& path);
[[nodiscard]] cluster::Cluster cluster_from_text(std::string_view text, const std::string& file);

/// Splits "plan.tp=8". Throws InputError when there is no "=" or no path.
[[nodiscard]] Setting parse_setting(std::string_view text);

/// The scenario as a file with every default written out, and a list "defaults" of the paths that were left out of the
/// original. Reading it again gives the same scenario. Paths are absolute.
[[nodiscard]] std::string effective_text(const Scenario& scenario);

/// Folder of the data that ships with the program (profiles/, models/): $SGSIM_DATA, else ../share/sgsim beside the
/// program's folder, else scenarios/ of the source tree. Throws EnvironmentError when none exists.
[[nodiscard]] std::string data_folder();

}  // namespace sgsim::scenario
