#include <fmt/format.h>

#include "calibrate/bench/sweeps.h"
#include "calibrate/cli/commands.h"

namespace sgsim::calibrate {

int list_command(const Selection& selection) {
  const int gpus = selection.gpus > 0 ? selection.gpus : 1;
  const std::vector<Key> points = selection.smoke ? smoke_points(gpus) : select_points(selection.groups, selection.held_out, gpus);
  std::map<std::string, int> count;
  for (const Key& key : points) ++count[key.group];
  for (const std::string& group : group_names()) {
    if (count.contains(group)) fmt::print("{:<14} {:>6} points\n", group, count[group]);
  }
  fmt::print("{:<14} {:>6} points on {} GPU{}\n", "together", points.size(), gpus, gpus == 1 ? "" : "s");
  if (selection.groups.size() != 1) return 0;
  for (const Key& key : points) fmt::print("{}\n", to_text(key));
  return 0;
}

}  // namespace sgsim::calibrate
