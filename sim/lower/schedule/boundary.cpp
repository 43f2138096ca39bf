#include "sim/lower/schedule/boundary.h"

#include "sim/core/error.h"

namespace sgsim::lower {
namespace {

struct Way {
  Slot slot;
  TaskKind kind;
  const char* name;
};
constexpr Way kForwardIn{Slot::forward_in, TaskKind::receive, "receive activation"};
constexpr Way kForwardOut{Slot::forward_out, TaskKind::send, "send activation"};
constexpr Way kBackwardIn{Slot::backward_in, TaskKind::receive, "receive gradient"};
constexpr Way kBackwardOut{Slot::backward_out, TaskKind::send, "send gradient"};

class Exchange {
 public:
  Exchange(const plan::Plan& plan, const Stack& stack, const std::function<Token()>& new_token)
      : pieces_(stack.scatter_gather_boundary && plan.tp > 1 && !plan.sequence_parallel ? plan.tp : 1), host_sync_(stack.pipeline_host_sync), new_token_(new_token) {}

  std::vector<Action> receive(const Way& way, Bytes boundary) const {
    const Token arrived = new_token_();
    std::vector<Action> actions{message(way, boundary, arrived)};
    if (pieces_ > 1) {
      actions.push_back(Communicate{.slot = Slot::tensor, .op = graph::CollectiveOp::all_gather, .payload = boundary, .name = "all_gather boundary", .stream = "tp",
                                    .after_compute = false, .waits = {arrived}, .produces = arrived});
    }
    if (host_sync_) actions.push_back(HostWork{.name = "wait for the exchange", .host = {}, .after_compute = true, .waits = {arrived}});
    actions.push_back(Wait{arrived});
    return actions;
  }
  std::vector<Action> send(const Way& way, Bytes boundary, Token sent) const {
    return {message(way, boundary, sent)};
  }

 private:
  [[nodiscard]] Communicate message(const Way& way, Bytes boundary, Token done) const {
    return {.slot = way.slot, .op = graph::CollectiveOp::send_receive, .kind = way.kind, .payload = boundary / pieces_, .name = way.name,
            .stream = std::string("pp ") + way.name, .after_compute = way.kind == TaskKind::send, .produces = done};
  }

  int pieces_;
  bool host_sync_;
  const std::function<Token()>& new_token_;
};

}  // namespace

ChunkBoundary chunk_boundary(const SegmentedModel& model, const std::vector<std::vector<Chunk>>& stages, const Chunk& chunk, const plan::Plan& plan,
                             const Stack& stack, const SendTokens& sent, const std::function<Token()>& new_token) {
  const int pp = static_cast<int>(stages.size());
  const int chunks = pp * static_cast<int>(stages[0].size());
  const auto boundary_after = [&](int index) {
    const Chunk& before = stages[static_cast<std::size_t>(index % pp)][static_cast<std::size_t>(index / pp)];
    SGSIM_CHECK(!before.positions.empty(), "a chunk has positions");
    return model.segments[before.positions.back().segment].boundary;
  };
  const Exchange exchange(plan, stack, new_token);
  ChunkBoundary boundary;
  if (pp == 1) return boundary;
  if (chunk.index > 0) {
    boundary.before_forward = exchange.receive(kForwardIn, boundary_after(chunk.index - 1));
    boundary.after_backward = exchange.send(kBackwardOut, boundary_after(chunk.index - 1), sent.backward);
  }
  if (chunk.index + 1 < chunks) {
    boundary.after_forward = exchange.send(kForwardOut, boundary_after(chunk.index), sent.forward);
    boundary.before_backward = exchange.receive(kBackwardIn, boundary_after(chunk.index));
  }
  const bool waits = plan.schedule == plan::Schedule::one_f_one_b ? stack.pipeline_waits_for_sends
                                                                   : plan.schedule == plan::Schedule::interleaved && stack.interleaved_waits_for_sends;
  if (waits) {
    // After the receive has been posted: sender and receiver of two opposite messages would wait for each other otherwise.
    for (auto* actions : {&boundary.before_forward, &boundary.before_backward}) {
      actions->push_back(Wait{sent.forward});
      actions->push_back(Wait{sent.backward});
    }
  }
  return boundary;
}

}  // namespace sgsim::lower
