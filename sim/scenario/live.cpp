#include "sim/scenario/live.h"

#include <algorithm>

#include "sim/core/units_text.h"
#include "sim/lower/binding/layout.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {
namespace {

double sum(const MemoryAt& at) {
  double total = 0.0;
  for (const Bytes bytes : at.by_class) total += bytes.value();
  return total;
}

}  // namespace

lower::MemoryLog memory_log(const Scenario& s, const Inputs& inputs, RankId rank) {
  return lower::memory_log({.graph = *inputs.graph, .model = inputs.shape, .plan = s.plan, .training = s.training, .cluster = s.cluster, .profile = *inputs.profile}, lower::coordinates_of(s.plan, rank).pp);
}

std::vector<lower::LiveItem> live_at(const lower::MemoryLog& log, const MemoryAt& at) {
  lower::MemoryPoint point{.task = at.task, .by_class = {}};
  std::copy(at.by_class.begin(), at.by_class.end(), std::begin(point.by_class));
  return lower::live_at(log, point);
}

const MemoryAt* fullest(const std::vector<MemoryAt>& curve) {
  const auto most = std::max_element(curve.begin(), curve.end(), [](const MemoryAt& a, const MemoryAt& b) { return sum(a) < sum(b); });
  return most == curve.end() ? nullptr : &*most;
}

const MemoryAt* at_time(const std::vector<MemoryAt>& curve, Seconds time) {
  if (curve.empty()) return nullptr;
  const auto after = std::upper_bound(curve.begin(), curve.end(), time, [](Seconds t, const MemoryAt& at) { return t < at.time; });
  return after == curve.begin() ? &curve.front() : &*(after - 1);
}

std::string place_words(const std::string& of) {
  return of == "before" || of == "after" ? of + " the layers" : of == "root" ? "outside the layers" : of;
}

std::string live_text(const std::vector<lower::LiveItem>& items, const std::string& title, std::size_t most) {
  TextTable table("rlll");
  table.row({"bytes", "what", "where", "micro-batch"});
  Bytes all, rest;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const lower::LiveItem& item = items[i];
    all += item.bytes;
    if (i >= most) {
      rest += item.bytes;
      continue;
    }
    table.row({to_text(item.bytes), item.what, place_words(item.of), item.micro_batch < 0 ? std::string() : std::to_string(item.micro_batch)});
  }
  if (items.size() > most) table.row({to_text(rest), std::to_string(items.size() - most) + " more"});
  return title + ": " + to_text(all) + " in " + grouped(static_cast<std::int64_t>(items.size())) + " items\n" + table.text();
}

}  // namespace sgsim::scenario
