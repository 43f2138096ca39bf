#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/rank_clock.h"
#include "sim/engine/simgrid/network.h"
#include "sim/engine/simgrid/script.h"

namespace sgsim::engine {

/// Runs programs as graphs of tasks; operations between nodes become flows of the network. Written apart from the fast
/// engine (counted predecessors against stream cursors, operations with phases against closed forms), so that their
/// agreement says something; they share check_workload, the error texts and RankClock.
class Replay {
 public:
  Replay(const Folded& folded, const cluster::Cluster& cluster, const Options& options);
  [[nodiscard]] timeline::Timeline run();

 private:
  struct Running {                 // a computation in progress
    std::uint32_t task = 0;
    std::uint32_t ticket = 0;      // of its event; an event with another ticket is void
    double left = 0.0, since = 0.0;  // s of work at full speed, at time `since`
  };

  struct Rank {
    const Script* script = nullptr;
    std::size_t first_count = 0;   // in waiting_for_
    double speed = 1.0;
    bool spans = false;
    std::vector<double> ready_at, started_at;  // of the last task that became ready, by stream
    std::vector<double> host_free; // when the host went on after its k-th host_sync; [0] is the step's beginning
    std::vector<Running> running;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> transferring;  // (group, use)
    RankClock clock;
  };

  struct Member {
    std::uint32_t rank = 0, task = 0;
    double arrival = 0.0;
  };

  /// The k-th use of a group, from its first arrival to its end.
  struct Operation {
    enum class Phase : std::uint8_t { gathering, timed, flowing, over };
    Phase phase = Phase::gathering;
    std::vector<Member> members;
    std::uint32_t longest = 0;     // member with the longest task
    std::uint32_t computing = 0;   // members that compute now
    double slowdown = 1.0;         // while a member computes
    std::uint32_t ticket = 0;
    double left = 0.0, since = 0.0;  // timed phase: s undisturbed, at time `since`
    double bytes = 0.0, flow_seconds = 0.0;  // flows to come; 0: none
    std::uint32_t channel = 0;     // flowing
  };

  struct GroupState {
    std::uint32_t bindings = 0;    // (member, slot) pairs: arrivals that an operation waits for
    std::uint32_t first_use = 0;   // of operations
    std::deque<Operation> operations;
    std::map<Pattern, std::vector<std::uint32_t>> free_channels;
  };

  struct Event {
    double time = 0.0;
    std::uint32_t ticket = 0;
    enum class Kind : std::uint8_t { launch, task_end, operation } kind = Kind::launch;
    std::uint32_t owner = 0, item = 0;  // (rank, task) or (group, use)
    bool operator<(const Event& other) const { return std::pair(time, ticket) > std::pair(other.time, other.ticket); }
  };

  void add_channels(const cluster::Cluster& cluster);
  void add_channels_of(std::uint32_t group, const cluster::Cluster& cluster);
  void start_all();
  void handle(const Event& event);
  void end_flows(const std::vector<std::uint32_t>& channels);

  void ready(std::uint32_t rank, std::uint32_t task);
  void launch(std::uint32_t rank, std::uint32_t task);
  void complete(std::uint32_t rank, std::uint32_t task);
  void begin_compute(std::uint32_t rank, std::uint32_t task);
  void end_task(std::uint32_t rank, std::uint32_t task);
  void arrive(std::uint32_t rank, std::uint32_t task);
  void check_agreement(std::uint32_t group, const Operation& operation, const Member& member) const;
  void begin_operation(std::uint32_t group, std::uint32_t use);
  void plan_phases(std::uint32_t group, Operation& operation) const;
  void start_flows(std::uint32_t group, std::uint32_t use);
  void end_operation(std::uint32_t group, std::uint32_t use);

  void update_computations(Rank& rank, std::uint32_t index, bool was_transferring);
  void update_operations(Rank& rank, bool was_computing);
  void reschedule(std::uint32_t group, std::uint32_t use, double before);

  [[nodiscard]] const lower::Task& task_of(std::uint32_t rank, std::uint32_t task) const { return ranks_[rank].script->program->tasks[task]; }
  [[nodiscard]] const lower::Comm& comm_of(std::uint32_t rank, std::uint32_t task) const {
    return ranks_[rank].script->program->comms[task_of(rank, task).comm];
  }
  [[nodiscard]] Operation& operation(std::uint32_t group, std::uint32_t use) { return groups_[group].operations[use - groups_[group].first_use]; }
  [[nodiscard]] Pattern pattern_of(std::uint32_t group, std::uint32_t rank, std::uint32_t task) const;
  [[nodiscard]] static double slowness(const Operation& operation) { return operation.computing > 0 ? operation.slowdown : 1.0; }
  [[nodiscard]] std::uint32_t schedule(double time, Event::Kind kind, std::uint32_t owner, std::uint32_t item);
  void check_finished() const;
  [[nodiscard]] timeline::Timeline collect();

  const Folded& folded_;
  const lower::Workload& workload_;
  double now_ = 0.0;
  std::uint32_t tickets_ = 0;
  std::vector<Script> scripts_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> waiting_for_;   // predecessors left of each task of each rank; kDone when it has ended
  std::vector<GroupState> groups_;
  std::priority_queue<Event> events_;
  std::unique_ptr<Network> network_;         // only if something crosses the fabric
  std::vector<std::pair<std::uint32_t, std::uint32_t>> on_channel_;  // (group, use) by channel
  std::vector<Pattern> channel_pattern_;
  std::vector<timeline::Span> spans_;
};

}  // namespace sgsim::engine
