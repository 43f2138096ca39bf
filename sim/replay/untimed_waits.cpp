#include "sim/replay/untimed_waits.h"

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/order.h"
#include "sim/trace/match.h"

namespace sgsim::replay {
namespace {

/// Tasks of all ranks, numbered through; members of one operation have the number of its first.
class Waits {
 public:
  Waits(const trace::ImportedRun& run, const Built& built, const std::vector<OneOperation>& operations) : run_(run), built_(built) {
    for (const lower::Program& program : built.workload.programs) {
      first_.push_back(static_cast<std::uint32_t>(same_.size()));
      for (std::size_t i = 0; i < program.tasks.size(); ++i) same_.push_back(static_cast<std::uint32_t>(same_.size()));
    }
    for (const OneOperation& operation : operations) {
      const std::uint32_t head = number(operation.front());
      for (const auto& member : operation) same_[number(member)] = head, members_[head].push_back(member);
    }
  }

  void check() const {
    const Order order = order_of(static_cast<std::uint32_t>(same_.size()), pairs());
    if (order.cycle.empty()) return;
    std::vector<std::string> names;
    for (const std::uint32_t n : order.cycle) names.push_back(name(n));
    throw InputError({.file = run_.ranks.front().file, .where = "", .found = fmt::format("{} operations that wait for each other in a circle: {}", names.size(), cycle_text(names)),
                      .expected = "ranks that come to what they do together in one order", .hint = "of two ranks that exchange, one sends first and the other receives first"});
  }

 private:
  std::uint32_t number(const std::pair<std::uint32_t, std::uint32_t>& task) const { return first_[task.first] + task.second; }

  Pairs pairs() const {
    Pairs result;
    for (std::uint32_t r = 0; r < first_.size(); ++r) {
      const lower::Program& program = built_.workload.programs[r];
      std::vector<std::vector<std::uint32_t>> streams(program.streams.size());
      for (std::uint32_t t = 0; t < program.tasks.size(); ++t) {
        const lower::Task& task = program.tasks[t];
        const std::uint32_t to = same_[number({r, t})];
        std::vector<std::uint32_t>& stream = streams[task.stream];
        if (!stream.empty()) result.emplace_back(stream.back(), to);
        for (std::uint32_t d = task.first_dependency; d < task.first_dependency + task.dependency_count; ++d) {
          const lower::Dependency& dependency = program.dependencies[d];
          result.emplace_back(streams[dependency.stream][dependency.position - 1], to);
        }
        stream.push_back(to);
      }
    }
    return result;
  }

  std::string name(std::uint32_t n) const {
    if (const auto found = members_.find(n); found != members_.end()) {
      std::string text;
      for (std::size_t i = 0; i < found->second.size() && i < 2; ++i) text += (i == 0 ? "" : " with ") + name_of(found->second[i]);
      return found->second.size() > 2 ? text + fmt::format(" and {} more", found->second.size() - 2) : text;
    }
    const auto rank = static_cast<std::uint32_t>(std::upper_bound(first_.begin(), first_.end(), n) - first_.begin()) - 1;
    return name_of({rank, n - first_[rank]});
  }

  std::string name_of(const std::pair<std::uint32_t, std::uint32_t>& task) const {
    const lower::Program& program = built_.workload.programs[task.first];
    const std::string text = program.names[program.segments[program.tasks[task.second].segment].name.value];
    const trace::RankTrace& rank = run_.ranks[task.first];
    const auto device_op = built_.notes[task.first].tasks[task.second].device_op;
    const std::uint32_t c = device_op == trace::kNone ? trace::kNone : rank.device_ops[device_op].collective;
    return fmt::format("{} of {}", c == trace::kNone ? "\"" + text + "\"" : fmt::format("{} \"{}\"", trace::name_of(rank.collectives[c].kind), text), trace::rank_name(rank));
  }

  const trace::ImportedRun& run_;
  const Built& built_;
  std::vector<std::uint32_t> first_, same_;
  std::map<std::uint32_t, OneOperation> members_;
};

}  // namespace

void check_waits(const trace::ImportedRun& run, const Built& built, const std::vector<OneOperation>& operations) { Waits(run, built, operations).check(); }

}  // namespace sgsim::replay
