#include <algorithm>
#include <tuple>

#include "sim/engine/check/check.h"
#include "sim/engine/fast/fast_engine.h"

namespace sgsim::engine {

timeline::Timeline run_fast(const Folded& folded, const Options& options) { return FastEngine().run(folded, options); }

void FastEngine::load(const Folded& folded, const Options& options) {
  const lower::Workload& workload = folded.workload;
  workload_ = &workload;
  now_ = 0.0;
  interference_ = false;
  numbers_.clear();
  events_.clear();
  transfers_.clear();
  arrivals_.clear();
  dirty_.clear();
  spans_.clear();
  programs_.resize(workload.programs.size());
  for (std::size_t p = 0; p < programs_.size(); ++p) {
    rewrite(workload.programs[p], numbers_, programs_[p]);
    interference_ = interference_ || programs_[p].compute_slowdown != 1.0 || programs_[p].transfer_slowdown != 1.0;
  }
  load_ranks(workload);
  events_.reserve_activities(streams_.size());
  for (Rank& rank : ranks_) rank.spans = options.all_spans;
  for (const std::uint32_t rank : options.spans_of) {
    SGSIM_CHECK(rank < ranks_.size(), "spans of a rank that is not simulated");
    ranks_[rank].spans = true;
  }
  const bool spans = options.all_spans || !options.spans_of.empty();
  times_.assign(spans ? streams_.size() : 0, {});
}

void FastEngine::load_ranks(const lower::Workload& workload) {
  ranks_.assign(workload.ranks.size(), {});
  groups_.assign(workload.groups.size(), {});
  streams_.clear();
  groups_of_.clear();
  host_.clear();
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const lower::RankBinding& binding = workload.ranks[r];
    Rank& rank = ranks_[r];
    rank.program = &programs_[binding.program.value];
    rank.slowness = 1.0 / binding.speed;
    rank.first_stream = static_cast<std::uint32_t>(streams_.size());
    rank.streams = static_cast<std::uint16_t>(rank.program->stream_begin.size() - 1);
    for (std::uint16_t s = 0; s < rank.streams; ++s) {
      streams_.push_back({.next = rank.program->stream_begin[s], .end = rank.program->stream_begin[s + 1u], .rank = r});
    }
    rank.first_group = static_cast<std::uint32_t>(groups_of_.size());
    for (const GroupId group : binding.groups) {
      groups_of_.push_back(group.value);
      if (group.valid()) ++groups_[group.value].expected;
    }
    rank.first_host = static_cast<std::uint32_t>(host_.size());
    host_.resize(host_.size() + rank.program->syncs + 1, 0.0);
  }
}

void FastEngine::check_finished() const {
  std::vector<Stuck> stuck;
  for (const Stream& s : streams_) {
    if (s.state == State::finished) continue;
    stuck.push_back({.rank = s.rank, .task = ranks_[s.rank].program->index[s.next], .arrived = s.state == State::arrived});
  }
  if (!stuck.empty()) throw deadlock(*workload_, stuck);
}

timeline::Timeline FastEngine::collect(const Folded& folded) {
  double step = 0.0;
  for (const Rank& rank : ranks_) step = std::max(step, rank.clock.end());
  timeline::Timeline result;
  result.step_time = Seconds(step);
  result.engine = "fast";
  result.ranks.reserve(ranks_.size());
  for (const Rank& rank : ranks_) {
    result.ranks.push_back(rank.clock.close(step));
    result.tasks += rank.program->tasks.size() - 1;
  }
  result.multiplicity = folded.multiplicity;
  result.representative = folded.representative;
  std::sort(spans_.begin(), spans_.end(), [](const timeline::Span& a, const timeline::Span& b) {
    return std::tuple(a.rank, a.start, a.task) < std::tuple(b.rank, b.start, b.task);
  });
  result.spans = spans_;
  result.engine_settings = {"transfers: closed form, with the static share of their links"};
  return result;
}

}  // namespace sgsim::engine
