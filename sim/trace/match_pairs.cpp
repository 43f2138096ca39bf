#include <algorithm>
#include <map>

#include "sim/trace/match.h"

namespace sgsim::trace {
namespace {

/// Sends and receives of one direction within a group, by place of the ranks in ImportedRun::ranks.
struct Direction {
  std::uint32_t from = 0, to = 0;
  auto operator<=>(const Direction&) const = default;
};
struct Ends {
  std::vector<Member> sent, received;
};

class PairMatcher {
 public:
  PairMatcher(const ImportedRun& run, std::uint32_t group, const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists, Matching& result)
      : run_(run), group_(group), lists_(lists), result_(result), name_("group \"" + run.strings.at(run.groups[group].name) + "\"") {}

  void match() {
    std::map<Direction, Ends> directions;
    std::map<std::uint32_t, std::vector<Member>> fused;
    for (const auto& [r, list] : lists_) {
      for (const std::uint32_t c : list) {
        const Collective& operation = run_.ranks[r].collectives[c];
        const std::uint32_t peer = peer_of(r, operation);
        if (peer == kNone) {
          result_.report.add("import.match.peer_not_imported", Severity::warning, name_ + ": " + rank_name(run_.ranks[r]) + " has " + operation_name(run_, operation));
        } else if (operation.kind == CommKind::send_receive) {
          fused[r].push_back({r, c});
        } else if (operation.kind == CommKind::send) {
          directions[{r, peer}].sent.push_back({r, c});
        } else {
          directions[{peer, r}].received.push_back({r, c});
        }
      }
    }
    for (const auto& [direction, ends] : directions) match_list(direction.from, direction.to, ends.sent, ends.received);
    if (fused.size() == 2) match_list(fused.begin()->first, std::next(fused.begin())->first, fused.begin()->second, std::next(fused.begin())->second);
  }

 private:
  // The file's peer: a rank within the group where its ranks are known, else of the run. Without one: the other of two.
  std::uint32_t peer_of(std::uint32_t rank, const Collective& c) const {
    const Group& group = run_.groups[group_];
    if (c.peer < 0 || c.kind == CommKind::send_receive) {
      if (lists_.size() != 2 || group.size > 2) return kNone;
      return lists_.begin()->first == rank ? std::next(lists_.begin())->first : lists_.begin()->first;
    }
    const auto place = static_cast<std::size_t>(c.peer);
    const auto number_is = [&](std::int32_t number) {
      return std::find_if(run_.ranks.begin(), run_.ranks.end(), [&](const RankTrace& r) { return r.rank == number; });
    };
    const auto found = number_is(place < group.ranks.size() ? group.ranks[place] : c.peer);
    const auto at = static_cast<std::uint32_t>(found - run_.ranks.begin());
    return found == run_.ranks.end() || at == rank ? kNone : at;  // to itself: as good as not known
  }

  void match_list(std::uint32_t from, std::uint32_t to, const std::vector<Member>& sent, const std::vector<Member>& received) {
    const std::string ranks = rank_name(run_.ranks[from]) + " to " + rank_name(run_.ranks[to]);
    if (sent.size() != received.size()) {
      result_.report.add("import.match.sends_and_receives_differ", Severity::error, name_ + ", " + ranks + ": " + std::to_string(sent.size()) + " sends, " + std::to_string(received.size()) + " receives",
                         std::max(sent.size(), received.size()) - std::min(sent.size(), received.size()));
    }
    const std::size_t count = std::min(sent.size(), received.size());
    for (std::uint32_t i = 0; i < count; ++i) add(from, to, i, ranks, sent[i], received[i]);
  }

  void add(std::uint32_t from, std::uint32_t to, std::uint32_t index, const std::string& ranks, const Member& sent, const Member& received) {
    const Collective &a = run_.ranks[sent.rank].collectives[sent.collective], &b = run_.ranks[received.rank].collectives[received.collective];
    if (a.bytes != b.bytes && a.bytes >= 0.0 && b.bytes >= 0.0) {
      result_.report.add("import.match.sizes_differ", Severity::error, name_ + ", " + ranks + ", transfer " + std::to_string(index) + ": " + operation_name(run_, a) + ", " + operation_name(run_, b));
    }
    if (a.device_op == kNone || b.device_op == kNone) return;
    const DeviceOp &left = run_.ranks[sent.rank].device_ops[a.device_op], &right = run_.ranks[received.rank].device_ops[b.device_op];
    const auto untimed = [](const DeviceOp& op) { return op.start == kNoTime && op.duration == 0; };
    const std::uint32_t channel = 1 + from * static_cast<std::uint32_t>(run_.ranks.size()) + to;
    Matched m{.group = group_, .sequence = index, .kind = a.kind == CommKind::send_receive ? CommKind::send_receive : CommKind::send, .bytes = std::max(a.bytes, b.bytes), .members = {sent, received}, .channel = channel};
    std::sort(m.members.begin(), m.members.end());
    m.transfer = untimed(left) ? right.duration : untimed(right) ? left.duration : std::min(left.duration, right.duration);
    m.waiting = untimed(left) || untimed(right) ? 0 : std::max(left.duration, right.duration) - m.transfer;
    result_.report.add("import.match.transfers_matched", Severity::info, name_ + ", " + ranks);
    result_.operations.push_back(std::move(m));
  }

  const ImportedRun& run_;
  std::uint32_t group_;
  const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists_;
  Matching& result_;
  std::string name_;
};

}  // namespace

void match_pairs(const ImportedRun& run, std::uint32_t group, const std::map<std::uint32_t, std::vector<std::uint32_t>>& lists, Matching& result) {
  PairMatcher(run, group, lists, result).match();
}

}  // namespace sgsim::trace
