#include "calibrate/device/nccl_names.h"

#include <charconv>

namespace sgsim::calibrate {
namespace {

/// The part of `text` between `from` (taken away) and the first of `until`; empty when `from` is not there.
std::string_view between(std::string_view text, std::string_view from, std::string_view until) {
  const std::size_t at = text.find(from);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + from.size());
  return text.substr(0, text.find_first_of(until));
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<NcclChoice> parse_line(std::string_view line) {
  const std::size_t arrow = line.find(" Bytes -> Algo ");
  if (arrow == std::string_view::npos) return std::nullopt;
  const std::size_t colon = line.rfind(": ", arrow);
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view head = line.substr(0, colon);
  const std::size_t space = head.find_last_of(" ]");
  if (space != std::string_view::npos) head.remove_prefix(space + 1);
  NcclChoice choice;
  choice.operation = std::string(head);
  choice.bytes = number(line.substr(colon + 2, arrow - colon - 2));
  choice.algorithm = std::string(between(line, "Algo ", " "));
  choice.protocol = std::string(between(line, "proto ", " "));
  const std::string_view range = between(line, "={", "}");
  const std::size_t dots = range.find("..");
  if (dots != std::string_view::npos) choice.channels = static_cast<int>(number(range.substr(dots + 2)) - number(range.substr(0, dots)) + 1);
  return choice;
}

}  // namespace

std::optional<NcclKernelName> parse_nccl_kernel(std::string_view name) {
  std::string_view rest = between(name, "ncclDevKernel_", "(");
  if (rest.empty()) rest = between(name, "ncclKernel_", "(");
  if (rest.empty()) return std::nullopt;
  // A mangled name goes on with the length and name of the argument type: "..._RING_LL24ncclDevKernelArgsStorage...".
  if (const std::size_t type = rest.find("ncclDevKernelArgs"); type != std::string_view::npos) {
    rest = rest.substr(0, type);
    rest = rest.substr(0, rest.find_last_not_of("0123456789") + 1);
    // LL128 ends in digits of its own.
    if (rest.ends_with("_LL") && name.find("_LL128") != std::string_view::npos) {
      NcclKernelName whole = *parse_nccl_kernel("ncclDevKernel_" + std::string(rest));
      whole.protocol = "LL128";
      return whole;
    }
  }
  NcclKernelName result;
  result.operation = std::string(rest.substr(0, rest.find('_')));
  for (const std::string_view protocol : {"LL128", "LL", "SIMPLE"}) {
    if (!rest.ends_with("_" + std::string(protocol))) continue;
    result.protocol = std::string(protocol);
    rest.remove_suffix(protocol.size() + 1);
    result.algorithm = std::string(rest.substr(rest.rfind('_') + 1));
    break;
  }
  return result;
}

std::vector<NcclChoice> parse_tuning_log(std::string_view log) {
  std::vector<NcclChoice> choices;
  while (!log.empty()) {
    const std::size_t end = log.find('\n');
    if (const auto choice = parse_line(log.substr(0, end))) choices.push_back(*choice);
    if (end == std::string_view::npos) break;
    log.remove_prefix(end + 1);
  }
  return choices;
}

}  // namespace sgsim::calibrate
