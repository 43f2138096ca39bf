#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/scenario/simulate.h"
#include "sim/scenario/sweep/sweep.h"

namespace sgsim::scenario {

enum class PointStatus : std::uint8_t {
  ok,
  does_not_fit,  // has figures; needs more memory than a GPU has
  infeasible,    // the plan breaks a rule
  bad_input,     // a setting or a file is wrong
  failed,        // the process that simulated it died, or the environment failed it
};
[[nodiscard]] std::string_view label(PointStatus status);
[[nodiscard]] PointStatus status_from(std::string_view label);

/// What became of a point.
struct PointOutcome {
  PointStatus status = PointStatus::failed;
  std::string reason;   // empty when ok
  std::string report;   // json_report of a run; empty without figures
  bool operator==(const PointOutcome&) const = default;
};

/// Names points by all that their result depends on: the effective scenario, the content of the files it names, the
/// program. Remembers what it has hashed.
class PointKeys {
 public:
  explicit PointKeys(std::string program_version) : version_(std::move(program_version)) {}
  struct Key {
    std::string hash;
    std::string effective;  // what was hashed, to be compared on a match
    bool own_process = false;  // the reference engine runs once a process
  };
  /// Of a point whose settings the reader refuses: by the refusal.
  [[nodiscard]] Key key(const Sweep& sweep, std::uint64_t point);

 private:
  const std::string& content_of(const std::string& path);
  std::string version_;
  std::map<std::string, std::string> hashes_;
};

/// All settings of a point: those of the sweep, then its own.
[[nodiscard]] std::vector<Setting> all_settings(const Sweep& sweep, std::uint64_t point);

/// Simulates a point; never throws for what the point itself is to blame for.
[[nodiscard]] PointOutcome simulate_point(const Sweep& sweep, std::uint64_t point, InputCache& cache, const RunEngine& engine);

}  // namespace sgsim::scenario
