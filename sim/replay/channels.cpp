#include "sim/replay/channels.h"

#include <set>

namespace sgsim::replay {

const std::vector<std::uint16_t>* Channels::slots_of(const trace::Matched& m) const {
  const auto slot = slots.find({m.group, m.channel});
  return slot == slots.end() || m.members.size() != members.at({m.group, m.channel}) ? nullptr : &slot->second;
}

void count_collectives(const trace::ImportedRun& run, Built& built) {
  for (std::size_t r = 0; r < run.ranks.size(); ++r) {
    for (const trace::Collective& c : run.ranks[r].collectives) {
      if (c.device_op == trace::kNone) continue;
      const bool out = built.task_of[r][c.device_op] != kNoTask;
      built.report.add(std::string(out ? "import.replay.collectives." : "import.replay.collectives_left_out.") + trace::name_of(c.kind), out ? Severity::info : Severity::error, run.strings.at(c.name));
    }
  }
}

Channels add_channels(const trace::ImportedRun& run, const trace::Matching& matching, lower::Workload& workload) {
  Channels channels;
  std::map<Channel, std::set<std::uint32_t>> members;
  for (const trace::Matched& m : matching.operations) {
    for (const trace::Member& member : m.members) members[{m.group, m.channel}].insert(member.rank);
  }
  for (const auto& [channel, ranks] : members) {
    channels.members[channel] = ranks.size();
    if (ranks.size() < 2) continue;
    lower::Group group{.kind = run.strings.at(run.groups[channel.first].name), .members = {}};
    auto& slot = channels.slots[channel];
    slot.resize(run.ranks.size());
    for (const std::uint32_t r : ranks) {
      group.members.push_back(RankId{r});
      slot[r] = static_cast<std::uint16_t>(workload.ranks[r].groups.size());
      workload.ranks[r].groups.push_back(GroupId{static_cast<std::uint32_t>(workload.groups.size())});
    }
    workload.groups.push_back(std::move(group));
  }
  return channels;
}

}  // namespace sgsim::replay
