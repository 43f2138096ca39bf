#include "sim/scenario/labels.h"

namespace sgsim::scenario {

std::string_view label(cost::Source source) {
  constexpr std::string_view kWords[] = {"measured", "interpolated", "fitted", "analytic", "assumed"};
  return kWords[static_cast<std::size_t>(source)];
}

std::string_view label(cost::Bound bound) {
  constexpr std::string_view kWords[] = {"compute", "memory", "latency", "network"};
  return kWords[static_cast<std::size_t>(bound)];
}

std::string_view label(lower::MemoryClass kind) {
  constexpr std::string_view kWords[lower::kMemoryClasses] = {"parameters", "gradients", "optimizer", "activations", "buffers", "communication", "runtime"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view label(lower::TaskKind kind) {
  constexpr std::string_view kWords[] = {"compute", "collective", "send", "receive", "copy", "host_sync"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view phase_label(std::uint8_t phase) {
  constexpr std::string_view kWords[] = {"forward", "backward", "optimizer"};
  return phase < 3 ? kWords[phase] : "other";
}

std::string stage_name(std::string_view program) { return std::string(program.substr(0, program.find(','))); }

}  // namespace sgsim::scenario
