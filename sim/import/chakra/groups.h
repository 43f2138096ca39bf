#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/import/chakra/document.h"
#include "sim/trace/imported_run.h"

namespace sgsim::import::chakra {

/// Whether a file, of which these are the first bytes or all, is ASTRA-sim's list of communicators, whose names are whole numbers: {"1": [0, 1], "2": [2, 3]}.
[[nodiscard]] bool begins_as_groups(std::string_view bytes);

/// Communicators of a run's files, by what their nodes call them ("pg_name").
class Groups {
 public:
  /// The group of a node, added to the run when it is new. Name, description and size are those that `sgsim export` wrote, where it did.
  std::uint32_t of(const Node& node, trace::ImportedRun& run);
  /// Members from a list of communicators. Throws InputError where it is none to its end.
  void read(std::string_view bytes, const std::string& file, Diagnostics& report);
  /// An all-gather whose size is what its rank puts in (Chakra's comm_size), by place in the run.
  void add_part(std::uint32_t rank, std::uint32_t collective) { parts_.emplace_back(rank, collective); }
  /// Gives the groups their members, and all-gathers the gathered size. `run` has its ranks in the order in which they were read.
  void finish(trace::ImportedRun& run) const;

 private:
  std::map<std::string, std::uint32_t> by_name_;
  std::map<std::string, std::vector<std::int32_t>> members_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> parts_;
};

}  // namespace sgsim::import::chakra
