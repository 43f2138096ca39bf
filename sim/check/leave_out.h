#pragma once

#include <map>
#include <string>
#include <vector>

namespace sgsim::check {

/// What a profile's numbers owe to one file of the validation data set.
struct Dependence {
  std::string profile;                 // name
  std::vector<std::string> constants;  // "times launch.eager.host_per_operator", "matmul_tables bfloat16", by source
};

/// The parts of a profile whose provenance names `file` (a file of records without ".json[.gz]"; "h200" stands for the whole
/// folder). Throws InputError.
[[nodiscard]] Dependence dependence_on(const std::string& profile_path, const std::string& file);

/// Profiles to use when `file` is left out: for each that ships and depends on it, the one of the same GPU that was measured
/// apart (NAME-measured), if that does not depend on it. `notes` says what was exchanged and what could not be.
[[nodiscard]] std::map<std::string, std::string> profiles_without(const std::string& file, std::vector<std::string>& notes);

}  // namespace sgsim::check
