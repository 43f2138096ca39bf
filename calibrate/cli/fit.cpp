#include "calibrate/record/fit.h"

#include <fmt/format.h>

#include "calibrate/cli/commands.h"
#include "sim/core/error.h"

namespace sgsim::calibrate {

std::string samples_path(const std::string& profile) {
  constexpr std::string_view kEnding = ".json";
  const std::string stem = profile.ends_with(kEnding) ? profile.substr(0, profile.size() - kEnding.size()) : profile;
  return stem + ".samples.jsonl";
}

int fit_command(const FitFlags& flags) {
  Samples all;
  std::string files;
  for (const std::string& file : flags.samples) {
    const Samples more = load_samples(file);
    if (more.measured.empty()) throw InputError({.file = file, .where = "", .found = "no measurements", .expected = "a samples file", .hint = "sgsim-calibrate run writes NAME.samples.jsonl"});
    all.machines.insert(all.machines.end(), more.machines.begin(), more.machines.end());
    all.commands.insert(all.commands.end(), more.commands.begin(), more.commands.end());
    all.findings.insert(all.findings.end(), more.findings.begin(), more.findings.end());
    for (const auto& [key, m] : more.measured) all.add(m);
    for (const auto& [key, m] : more.missing) all.add(m);
    files += (files.empty() ? "" : ", ") + file.substr(file.rfind('/') + 1);
  }
  FitOptions options{.name = flags.name, .base = std::nullopt, .samples_file = files, .host_files = {flags.hosts.begin(), flags.hosts.end()}, .native = flags.native};
  if (!flags.base.empty()) options.base = cost::load_profile(flags.base);
  const cost::Profile profile = fit_profile(all, options);
  cost::save_profile(profile, flags.out);
  fmt::print("profile {} of {} points: {}\n", profile.name, all.measured.size(), flags.out);
  for (const auto& [key, missing] : all.missing) {
    if (missing.why == Missing::waived) fmt::print("WAIVED {}: {}\n", to_text(key), missing.reason);
    else fmt::print("FAILED {}: {}\n", to_text(key), missing.reason);
  }
  return 0;
}

}  // namespace sgsim::calibrate
