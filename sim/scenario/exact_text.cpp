#include "sim/scenario/exact_text.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>

#include "sim/core/error.h"
#include "sim/core/units_text.h"

namespace sgsim::scenario {
namespace {

struct Step {
  std::string_view unit;
  double factor;
};

template <class Value, class Parse>
std::string shortest(Value value, std::initializer_list<Step> steps, Parse parse) {
  std::string best;
  for (const Step& step : steps) {
    const std::string text = fmt::format("{} {}", value.value() / step.factor, step.unit);
    if ((best.empty() || text.size() < best.size()) && parse(text) == value) best = text;
  }
  SGSIM_CHECK(!best.empty(), "no unit prints " + std::to_string(value.value()) + " exactly");
  return best;
}

}  // namespace

std::string exact_text(Bytes value) {
  return shortest(value, {{"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"GB", 1e9}, {"MB", 1e6}, {"B", 1.0}}, parse_bytes);
}

std::string exact_text(Seconds value) {
  return shortest(value, {{"us", 1e-6}, {"ns", 1e-9}, {"ms", 1e-3}, {"s", 1.0}}, parse_seconds);
}

std::string exact_text(BytesPerSecond value) {
  return shortest(value, {{"GB/s", 1e9}, {"MB/s", 1e6}, {"B/s", 1.0}}, parse_bandwidth);
}

}  // namespace sgsim::scenario
