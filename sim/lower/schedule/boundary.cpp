#include "sim/lower/schedule/boundary.h"

#include <utility>

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

Action wait_for_exchange(std::vector<Token> waits) {
  return HostWork{.name = "wait for the exchange", .host = {}, .after_compute = true, .waits = std::move(waits)};
}

class Exchange {
 public:
  Exchange(const plan::Plan& plan, const Stack& stack, const std::function<Token()>& new_token)
      : pieces_(stack.scatter_gather_boundary && plan.tp > 1 && !plan.sequence_parallel ? plan.tp : 1), new_token_(new_token) {}

  /// `host_waits`: the host goes on only when the exchange is done.
  std::vector<Action> receive(const Way& way, Bytes boundary, bool host_waits) const {
    const Token arrived = new_token_();
    std::vector<Action> actions{message(way, boundary, arrived)};
    if (pieces_ > 1) {
      actions.push_back(Communicate{.slot = Slot::tensor, .op = graph::CollectiveOp::all_gather, .payload = boundary, .name = "all_gather boundary", .stream = "tp",
                                    .after_compute = false, .waits = {arrived}, .produces = arrived});
    }
    if (host_waits) actions.push_back(wait_for_exchange({arrived}));
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
  // Megatron-LM's interleaved schedule runs a forward and a backward pass and then sends and receives for both at once
  // (schedules.py, send_forward_backward_recv_forward_backward): its exchange stands before the forward pass.
  const bool interleaved = plan.schedule == plan::Schedule::interleaved;
  const bool host_sync = stack.pipeline_host_sync;
  if (chunk.index > 0) {
    boundary.before_forward = exchange.receive(kForwardIn, boundary_after(chunk.index - 1), host_sync);
    boundary.after_backward = exchange.send(kBackwardOut, boundary_after(chunk.index - 1), sent.backward);
  }
  if (chunk.index + 1 < chunks) {
    boundary.after_forward = exchange.send(kForwardOut, boundary_after(chunk.index), sent.forward);
    boundary.before_backward = exchange.receive(kBackwardIn, boundary_after(chunk.index), host_sync && !interleaved);
  }
  const bool waits = plan.schedule == plan::Schedule::one_f_one_b ? stack.pipeline_waits_for_sends : interleaved && stack.interleaved_waits_for_sends;
  // After the receive has been posted: sender and receiver of two opposite messages would wait for each other otherwise.
  const auto wait_for_sends = [&](std::vector<Action>& actions) {
    actions.push_back(Wait{sent.forward});
    actions.push_back(Wait{sent.backward});
  };
  if (waits) wait_for_sends(boundary.before_forward);
  if (waits && !interleaved) wait_for_sends(boundary.before_backward);
  return boundary;
}

}  // namespace sgsim::lower
