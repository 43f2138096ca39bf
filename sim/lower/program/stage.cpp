#include "sim/lower/program/stage.h"

#include <fmt/format.h>

#include <map>
#include <tuple>
#include <utility>

#include "sim/core/stop.h"
#include "sim/lower/program/chunk_piece.h"
#include "sim/lower/schedule/boundary.h"
#include "sim/lower/schedule/order.h"

namespace sgsim::lower {
namespace {

class StageBuilder {
 public:
  StageBuilder(const StageInput& input, int stage)
      : in_(input), stage_(stage), chunks_(input.stages[static_cast<std::size_t>(stage)]),
        program_(input.stages.size() == 1 ? std::string("step") : fmt::format("stage {}", stage)) {}

  Stage build();

 private:
  PieceWriter writer() { return {program_, in_.training.execution, in_.costs, in_.model.modules, in_.training.stack, in_.merge_lockstep}; }
  std::uint32_t pass_piece(const PassStep& pass, std::size_t variant);
  std::uint32_t once(const std::vector<Action>& actions);
  void offload_activations();
  void begin_step();
  void end_step();

  const StageInput& in_;
  int stage_;
  const std::vector<Chunk>& chunks_;
  StageProgram program_;
  StateActions state_;
  int sharded_tensors_ = 0;  // trained parameters divided over the tensor-parallel group
  std::vector<ChunkBoundary> boundaries_;
  std::map<std::tuple<bool, int, Gradients, std::size_t>, std::uint32_t> pieces_;
};

bool same_forward(const ChunkActions& a, const ChunkActions& b) {
  if (a.begin_forward != b.begin_forward || a.end_forward != b.end_forward) return false;
  static const PositionActions none;
  for (std::size_t p = 0; p < std::max(a.positions.size(), b.positions.size()); ++p) {
    const PositionActions& x = p < a.positions.size() ? a.positions[p] : none;
    const PositionActions& y = p < b.positions.size() ? b.positions[p] : none;
    if (x.before_forward != y.before_forward || x.after_forward != y.after_forward) return false;
  }
  return true;
}

bool same_backward(const ChunkActions& a, const ChunkActions& b) {
  if (a.begin_backward != b.begin_backward || a.end_backward != b.end_backward) return false;
  static const PositionActions none;
  for (std::size_t p = 0; p < std::max(a.positions.size(), b.positions.size()); ++p) {
    const PositionActions& x = p < a.positions.size() ? a.positions[p] : none;
    const PositionActions& y = p < b.positions.size() ? b.positions[p] : none;
    if (x.before_backward != y.before_backward || x.in_backward != y.in_backward || x.after_backward != y.after_backward) return false;
  }
  return true;
}

auto writer_of(const PassStep& pass) {
  if (pass.forward) return &write_forward;
  switch (pass.gradients) {
    case Gradients::all: return &write_backward;
    case Gradients::inputs: return &write_input_gradients;
    case Gradients::weights: return &write_weight_gradients;
  }
  return &write_backward;
}

void take(PieceWriter& writer, const std::vector<Action>& actions) {
  for (const Action& action : actions) writer.act(action);
}

std::uint32_t StageBuilder::pass_piece(const PassStep& pass, std::size_t variant) {
  const auto v = static_cast<std::size_t>(pass.virtual_stage);
  const auto key = std::tuple(pass.forward, pass.virtual_stage, pass.gradients, variant);
  if (const auto found = pieces_.find(key); found != pieces_.end()) return found->second;
  const ChunkActions& actions = state_.chunks[v][variant];
  for (const auto& [other, piece] : pieces_) {
    const auto& [forward, virtual_stage, gradients, other_variant] = other;
    if (forward != pass.forward || virtual_stage != pass.virtual_stage || gradients != pass.gradients) continue;
    const ChunkActions& written = state_.chunks[v][other_variant];
    if (forward ? same_forward(actions, written) : same_backward(actions, written)) return pieces_[key] = piece;
  }
  PieceWriter out = writer();
  const ChunkBoundary& boundary = boundaries_[v];
  if (pass.forward && in_.training.stack.forward_host_sync) out.act(HostWork{.name = "wait for the last pass", .host = {}, .after_compute = true});
  const bool sends = pass.gradients != Gradients::weights;
  if (sends) take(out, pass.forward ? boundary.before_forward : boundary.before_backward);
  writer_of(pass)(out, chunks_[v], in_.segments, actions);
  if (sends) take(out, pass.forward ? boundary.after_forward : boundary.after_backward);
  return pieces_[key] = program_.add_piece(out.finish());
}

std::uint32_t StageBuilder::once(const std::vector<Action>& actions) {
  PieceWriter out = writer();
  for (const Action& action : actions) out.act(action);
  return program_.add_piece(out.finish());
}

void StageBuilder::offload_activations() {
  for (std::size_t v = 0; v < chunks_.size(); ++v) {
    std::vector<OffloadedPosition> offloaded = offloaded_positions(in_.model, chunks_[v]);
    for (OffloadedPosition& position : offloaded) position.tokens = {program_.new_token(), program_.new_token()};
    for (ChunkActions& actions : state_.chunks[v]) add_activation_offload(actions, chunks_[v].positions.size(), offloaded, in_.host_link);
  }
}

void StageBuilder::begin_step() {
  std::vector<Action> actions;
  const Seconds host = in_.costs.launch.host_per_step;
  // Between steps without synchronisation the host is ahead of the device: its per-step work then stands at the end,
  // where it only shows when the host is what the step waits for.
  if (in_.training.stack.synchronize_each_step && host.value() > 0.0) actions.push_back(HostWork{.name = "step set-up", .host = host});
  actions.insert(actions.end(), state_.step.begin.begin(), state_.step.begin.end());
  if (!actions.empty()) program_.lay(once(actions), -1);
}

void StageBuilder::end_step() {
  std::vector<Action> actions;
  if (in_.costs.wrapper && in_.training.optimizer != Optimizer::none) {
    const Seconds each = in_.training.optimizer_fused ? in_.costs.wrapper->optimizer_fused : in_.costs.wrapper->optimizer_loop;
    if (sharded_tensors_ > 0) actions.push_back(HostWork{.name = "optimizer over DTensors", .host = each * sharded_tensors_});
  }
  actions.insert(actions.end(), state_.step.finish.begin(), state_.step.finish.end());
  actions.insert(actions.end(), state_.step.after_optimizer.begin(), state_.step.after_optimizer.end());
  const Seconds host = in_.costs.launch.host_per_step;
  if (!in_.training.stack.synchronize_each_step && host.value() > 0.0) actions.push_back(HostWork{.name = "step set-up", .host = host});
  if (!actions.empty()) program_.lay(once(actions), -1);
}

Stage StageBuilder::build() {
  const auto parameters = owned_parameters(in_.model, in_.stages, stage_);
  for (const auto& chunk : parameters) {
    for (const OwnedParameter& p : chunk) sharded_tensors_ += p.shard->tensor_sharded && p.shard->trained ? 1 : 0;
  }
  const auto new_token = [this] { return program_.new_token(); };
  state_ = state_actions({.chunks = chunks_, .parameters = parameters, .plan = in_.plan, .training = in_.training, .shard_group = in_.shard_group, .host_link = in_.host_link, .new_token = new_token});
  if (in_.plan.offload.activations) offload_activations();
  const SendTokens sent{.forward = new_token(), .backward = new_token()};
  for (const Chunk& chunk : chunks_) boundaries_.push_back(chunk_boundary(in_.model, in_.stages, chunk, in_.plan, in_.training.stack, sent, new_token));
  begin_step();
  const auto micro_batches = in_.plan.micro_batches();
  const auto order = pass_order(in_.plan.schedule, in_.plan.pp, in_.plan.virtual_stages, static_cast<int>(micro_batches), stage_);
  std::vector<std::uint32_t> pieces;
  StopWatch watch;
  for (const PassStep& pass : order) {
    pieces.push_back(pass_piece(pass, variant_of(pass.micro_batch, micro_batches)));
    watch.turn();
  }
  program_.reserve(pieces);
  for (std::size_t i = 0; i < order.size(); ++i) {
    program_.lay(pieces[i], order[i].micro_batch);
    if (i % 16 == 0) stop_if_asked();  // a piece has hundreds of tasks
  }
  end_step();
  Stage stage{.skeleton = std::move(program_).finish(), .persistent = std::move(state_.persistent), .parameters = 0.0};
  for (const auto& chunk : parameters) stage.parameters += elements_of(chunk);
  return stage;
}

}  // namespace

Stage build_stage(const StageInput& input, int stage) { return StageBuilder(input, stage).build(); }

}  // namespace sgsim::lower
