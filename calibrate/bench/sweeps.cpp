#include "calibrate/bench/sweeps.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgsim::calibrate {

// The held-out part of each group, beside its sweep.
std::vector<Key> held_out_products();
std::vector<Key> held_out_attention();
std::vector<Key> held_out_memory();
std::vector<Key> held_out_collectives(int gpus);

namespace {

void append(std::vector<Key>& points, const std::vector<Key>& more) { points.insert(points.end(), more.begin(), more.end()); }

std::vector<Key> sweep_of(const std::string& group, bool held_out, int gpus) {
  if (group == "matmul") return held_out ? held_out_products() : matmul_sweep();
  if (group == "attention") return held_out ? held_out_attention() : attention_sweep();
  if (group == "memory") return held_out ? held_out_memory() : memory_sweep();
  if (group == "collective") return held_out ? held_out_collectives(gpus) : collective_sweep(gpus);
  if (held_out) return {};
  if (group == "convolution") return convolution_sweep();
  if (group == "host_copy") return host_copy_sweep();
  if (group == "launch") return launch_sweep();
  if (group == "clock") return clock_sweep();
  if (group == "interference") return interference_sweep(gpus);
  throw InternalError("no sweep for group " + group);
}

}  // namespace

const std::vector<std::string>& group_names() {
  // Host costs first: before CUPTI is attached and before anything compiles beside them. Attention and convolutions late
  // among the kernels: their plans are compiled in the background meanwhile.
  static const std::vector<std::string> names = {"launch", "host_copy", "matmul", "memory", "attention", "convolution", "clock", "collective", "interference"};
  return names;
}

std::vector<Key> held_out_sweep(int gpus) { return select_points({}, true, gpus); }

std::vector<Key> select_points(const std::vector<std::string>& groups, bool held_out, int gpus) {
  for (const std::string& wanted : groups) {
    if (std::find(group_names().begin(), group_names().end(), wanted) == group_names().end()) {
      std::string known;
      for (const std::string& name : group_names()) known += (known.empty() ? "" : ", ") + name;
      throw InputError({.file = "--only", .where = "", .found = "'" + wanted + "'", .expected = "one of " + known, .hint = ""});
    }
  }
  std::vector<Key> points;
  for (const std::string& name : group_names()) {
    if (groups.empty() || std::find(groups.begin(), groups.end(), name) != groups.end()) append(points, sweep_of(name, held_out, gpus));
  }
  return points;
}

std::vector<Key> smoke_points(int gpus) {
  constexpr int kEach = 3;
  std::vector<Key> points;
  for (const std::string& name : group_names()) {
    // One of each combination of labels, and never more than a few of one combination.
    std::map<std::map<std::string, std::string>, int> seen;
    const std::vector<Key> all = sweep_of(name, false, gpus);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t place = (i * 7919) % all.size();  // not only the smallest sizes
      if (++seen[all[place].labels] <= (name == "matmul" ? kEach : 1)) points.push_back(all[place]);
    }
  }
  return points;
}

}  // namespace sgsim::calibrate
