#include "sim/lower/data_parallel/data_parallel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/lower/data_parallel/buckets.h"
#include "sim/lower/data_parallel/fsdp.h"

namespace sgsim::lower {
namespace {

void append(std::vector<Action>& to, std::vector<Action> from) { std::move(from.begin(), from.end(), std::back_inserter(to)); }

using Chunks = std::vector<std::vector<OwnedParameter>>;

double elements_of(const Chunks& chunks) {
  double total = 0.0;
  for (const auto& chunk : chunks) total += lower::elements_of(chunk);
  return total;
}

int tensors_of(const Chunks& chunks) {
  std::size_t count = 0;
  for (const auto& chunk : chunks) count += chunk.size();
  return static_cast<int>(count);
}

double elements_where(const Chunks& chunks, bool (*test)(const OwnedParameter&)) {
  double total = 0.0;
  for (const auto& chunk : chunks) {
    for (const OwnedParameter& p : chunk) {
      if (test(p)) total += static_cast<double>(p.shard->elements);
    }
  }
  return total;
}

bool is_expert(const OwnedParameter& p) { return p.shard->expert; }
bool is_dense(const OwnedParameter& p) { return !p.shard->expert; }
bool is_replicated(const OwnedParameter& p) { return !p.shard->tensor_sharded && !p.shard->expert; }
bool is_tied(const OwnedParameter& p) { return p.tied_elsewhere; }

class State {
 public:
  explicit State(const StateInput& input) : in_(input), trained_(trained_of(input.parameters)), types_(state_types(input.training, input.plan.sharding)) {}
  StateActions build();

 private:
  [[nodiscard]] const Stack& stack() const { return in_.training.stack; }
  [[nodiscard]] bool sharded_optimizer() const { return in_.plan.sharding != plan::Sharding::ddp; }
  [[nodiscard]] int dense_shards() const;
  [[nodiscard]] bool adds(std::size_t variant) const { return !stack().accumulate_in_matmul && ((variant & kFirstMicroBatch) == 0 || types_.main_gradient); }
  [[nodiscard]] bool keeps_raw() const { return stack().keeps_raw_gradients && types_.main_gradient; }
  [[nodiscard]] double kept_elements(const Chunks& chunks) const;
  /// Of the buffer of gradients that is there all the time.
  [[nodiscard]] double gradient_elements() const { return in_.plan.sharding == plan::Sharding::zero2 ? kept_elements(trained_) : elements_of(trained_); }
  /// DDP's buckets hold copies: gradients live beside them.
  [[nodiscard]] bool bucket_copies() const {
    return in_.plan.sharding == plan::Sharding::ddp && data_ranks(in_.plan) > 1 && !types_.main_gradient && !stack().gradient_bucket_view;
  }

  void buckets(std::size_t chunk);
  [[nodiscard]] std::vector<std::pair<double, int>> gradients_by_position(std::size_t chunk, std::size_t positions) const;
  [[nodiscard]] MemoryChange new_gradients(double elements, const Position& position) const;
  void copy_out_of_buckets();
  void plain_accumulation(std::size_t chunk, std::size_t variant, ChunkActions& actions) const;
  void call_pieces(std::size_t chunk);
  void units(std::size_t chunk);
  void gather_parameters(const std::vector<std::vector<Bucket>>& chunks);
  void reduce_over_tensor_ranks();
  void reduce_tied();
  void update();
  void persist();

  const StateInput& in_;
  Chunks trained_;  // of in_.parameters: gradients and optimizer state belong to these
  StateTypes types_;
  StateActions out_;
  std::vector<std::vector<Bucket>> buckets_;
  std::vector<Token> reduced_;
};

int State::dense_shards() const {
  switch (in_.plan.sharding) {
    case plan::Sharding::ddp: return 1;
    case plan::Sharding::hybrid: return in_.shard_group;
    case plan::Sharding::zero1:
    case plan::Sharding::zero2:
    case plan::Sharding::fsdp: return data_ranks(in_.plan);
  }
  return 1;
}

// Elements of which this rank keeps the shard.
double State::kept_elements(const Chunks& chunks) const {
  const double expert_shards = sharded_optimizer() ? std::max(1, dense_shards() / in_.plan.ep) : 1;
  return std::ceil(elements_where(chunks, is_dense) / dense_shards()) + std::ceil(elements_where(chunks, is_expert) / expert_shards);
}

// Elements and tensors of the gradients that each position's backward pass makes.
std::vector<std::pair<double, int>> State::gradients_by_position(std::size_t chunk, std::size_t positions) const {
  std::vector<std::pair<double, int>> by_position(positions);
  for (const OwnedParameter& p : trained_[chunk]) {
    by_position[p.position].first += static_cast<double>(p.shard->elements);
    ++by_position[p.position].second;
  }
  return by_position;
}

MemoryChange State::new_gradients(double elements, const Position& position) const {
  return {.memory_class = MemoryClass::gradients, .delta = Bytes(elements * graph::size_of(types_.gradient)), .transient = false, .label = "gradients", .of = position.label};
}

// One copy a gradient, when all buckets are reduced.
void State::copy_out_of_buckets() {
  for (const auto& chunk : buckets_) {
    for (const Bucket& bucket : chunk) {
      const auto count = static_cast<int>(bucket.parameters.size());
      const Bytes each(bucket.elements * graph::size_of(types_.gradient) / count);
      out_.step.finish.push_back(SideKernels{.name = "copy gradients out of buckets", .work = graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = each, .written = each, .flops = Flops()}, .launches = count, .operators = count});
    }
  }
}

void State::plain_accumulation(std::size_t chunk, std::size_t variant, ChunkActions& actions) const {
  actions.positions.resize(in_.chunks[chunk].positions.size());
  const auto by_position = gradients_by_position(chunk, actions.positions.size());
  for (std::size_t p = 0; p < by_position.size(); ++p) {
    const auto [elements, tensors] = by_position[p];
    if (tensors == 0) continue;
    auto& after = actions.positions[p].after_backward;
    const bool fresh = !types_.main_gradient && (data_ranks(in_.plan) == 1 || bucket_copies());
    if (fresh && (variant & kFirstMicroBatch) != 0) {
      after.push_back(new_gradients(elements, in_.chunks[chunk].positions[p]));
    } else {
      const graph::DType made = keeps_raw() ? types_.gradient : types_.raw_gradient;  // what was kept is counted; its widened copy is not
      after.push_back(MemoryChange{.memory_class = MemoryClass::gradients, .delta = Bytes(elements * graph::size_of(made)), .transient = true, .label = "gradients of this micro-batch", .of = in_.chunks[chunk].positions[p].label});
    }
    if (keeps_raw()) after.push_back(widen_gradients(elements, tensors, types_.raw_gradient, types_.gradient));
    if (adds(variant)) after.push_back(accumulate_gradients(elements, tensors, keeps_raw() ? types_.gradient : types_.raw_gradient, types_.gradient));
  }
}

void State::buckets(std::size_t chunk) {
  const plan::Plan& plan = in_.plan;
  const bool scatter = plan.sharding == plan::Sharding::zero2 || (plan.sharding == plan::Sharding::zero1 && !stack().zero1_all_reduce);
  BucketReduction reduction{.op = scatter ? graph::CollectiveOp::reduce_scatter : graph::CollectiveOp::all_reduce, .dtype = types_.gradient,
                            .scale_kernels = stack().gradient_scale_kernels, .accumulate = false, .raw = types_.raw_gradient,
                            .experts_alone = data_ranks(plan) == plan.ep};
  buckets_.push_back(make_buckets(trained_[chunk], types_.gradient, plan.buckets.bucket, stack().first_bucket));
  std::vector<Token> tokens;
  for (std::size_t b = 0; b < buckets_.back().size(); ++b) tokens.push_back(in_.new_token());
  reduced_.insert(reduced_.end(), tokens.begin(), tokens.end());
  for (std::size_t variant = 0; variant < kMicroBatchVariants; ++variant) {
    ChunkActions& actions = out_.chunks[chunk][variant];
    const bool reduces = data_ranks(plan) > 1 && ((variant & kLastMicroBatch) != 0 || plan.sharding == plan::Sharding::zero2);
    if (reduces && reduces_beside(plan, in_.training)) {
      reduction.accumulate = adds(variant);
      actions = overlapped_reduction(buckets_.back(), reduction, in_.chunks[chunk].positions.size(), tokens);
      if (!bucket_copies() || (variant & kFirstMicroBatch) == 0) continue;
      const auto made = gradients_by_position(chunk, actions.positions.size());
      for (std::size_t p = 0; p < made.size(); ++p) {
        if (made[p].second > 0) actions.positions[p].after_backward.push_back(new_gradients(made[p].first, in_.chunks[chunk].positions[p]));
      }
      continue;
    }
    plain_accumulation(chunk, variant, actions);
    if (!reduces) continue;
    reduction.accumulate = false;
    auto& late = plan.sharding == plan::Sharding::zero2 ? actions.end_backward : out_.step.finish;
    if (&late == &out_.step.finish && variant != kLastMicroBatch) continue;  // once a step
    for (std::size_t b = 0; b < tokens.size(); ++b) append(late, reduce_bucket(buckets_.back()[b], reduction, tokens[b]));
  }
  call_pieces(chunk);
}

void State::call_pieces(std::size_t chunk) {
  if (!cuts_at_buckets(in_.plan, in_.training)) return;
  for (ChunkActions& actions : out_.chunks[chunk]) {
    actions.positions.resize(in_.chunks[chunk].positions.size());
    for (const Bucket& bucket : buckets_[chunk]) {
      PositionActions& at = actions.positions[bucket.position];
      at.before_forward.push_back(HostWork{.name = "call compiled piece", .operators = kPieceForwardOperators});
      at.before_backward.push_back(HostWork{.name = "call compiled piece", .operators = kPieceBackwardOperators});
    }
  }
}

void State::units(std::size_t chunk) {
  const plan::Plan& plan = in_.plan;
  const auto units = make_units(in_.chunks[chunk], in_.parameters[chunk], plan.fsdp.layers_per_unit);
  const FsdpRules rules{.types = types_, .prefetch = plan.fsdp.prefetch, .reshard_after_forward = plan.fsdp.reshard_after_forward,
                        .root_reshards = plan.fsdp.reshard_after_forward && stack().fsdp_root_reshards, .copy_kernels = stack().fsdp_copy_kernels,
                        .hybrid = plan.sharding == plan::Sharding::hybrid,
                        .replicas = plan.sharding == plan::Sharding::hybrid && data_ranks(plan) > dense_shards(), .shard_ranks = dense_shards(), .expert_ranks = std::max(1, dense_shards() / plan.ep),
                        .split_backward = plan.schedule == plan::Schedule::zero_bubble};
  std::vector<UnitTokens> tokens;
  for (std::size_t u = 0; u < units.size(); ++u) {
    tokens.push_back({.copied_in = in_.new_token(), .gathered = in_.new_token(), .copied_out = in_.new_token(), .reduced = in_.new_token()});
    if (units[u].trained > 0) reduced_.push_back(tokens.back().reduced);
  }
  // In a pipeline, parameters that are not resharded after forward stay for all micro-batches in flight, and gradients
  // are reduced with the last (PyTorch's pipeline stages set FSDP so).
  const bool pipeline = plan.pp > 1;
  const bool each = stack().fsdp_reduce_each_micro_batch && !pipeline;
  for (std::size_t variant = 0; variant < kMicroBatchVariants; ++variant) {
    const bool first = (variant & kFirstMicroBatch) != 0, last = (variant & kLastMicroBatch) != 0;
    const bool stays = pipeline && !plan.fsdp.reshard_after_forward;
    const FsdpPass pass{.gather = first || !stays, .reshard = last || !stays, .reduce = each || last, .add_unsharded = !first && !each, .add_sharded = !first && each};
    out_.chunks[chunk][variant] = fsdp_actions(in_.chunks[chunk], units, rules, tokens, pass);
    if (rules.shard_ranks <= 1) plain_accumulation(chunk, variant, out_.chunks[chunk][variant]);
  }
}

void State::gather_parameters(const std::vector<std::vector<Bucket>>& chunks) {
  const bool early = stack().overlap_parameter_gather;
  for (std::size_t c = 0; c < chunks.size(); ++c) {
    for (std::size_t b = chunks[c].size(); b-- > 0;) {  // as the forward pass needs them
      const Bucket& bucket = chunks[c][b];
      if (bucket.expert && data_ranks(in_.plan) == in_.plan.ep) continue;
      const Token token = early ? in_.new_token() : Token{};
      Communicate gather{.slot = bucket.expert ? Slot::expert_data : Slot::data, .op = graph::CollectiveOp::all_gather,
                         .payload = Bytes(bucket.elements * graph::size_of(types_.parameter)), .name = "all_gather parameters", .stream = "dp", .produces = token};
      (early ? out_.step.begin : out_.step.after_optimizer).push_back(gather);
      if (!early) continue;
      for (const std::size_t variant : {kFirstMicroBatch, kFirstMicroBatch + kLastMicroBatch}) {
        ChunkActions& actions = out_.chunks[c][variant];
        actions.positions.resize(in_.chunks[c].positions.size());
        // A bucket holds the positions from its own (reached last in the backward pass) upwards.
        actions.positions[bucket.position].before_forward.push_back(Wait{token});
      }
    }
  }
}

void State::reduce_over_tensor_ranks() {
  if (!in_.plan.sequence_parallel || in_.plan.tp == 1) return;
  const double elements = elements_where(trained_, is_replicated) / (fully_sharded(in_.plan.sharding) ? dense_shards() : 1);
  if (elements <= 0.0) return;
  const Token token = in_.new_token();
  out_.step.finish.push_back(Communicate{.slot = Slot::tensor, .op = graph::CollectiveOp::all_reduce, .payload = Bytes(elements * graph::size_of(types_.gradient)),
                                         .name = "all_reduce sequence-parallel gradients", .stream = "tp", .produces = token});
  out_.step.finish.push_back(Wait{token});
}

void State::reduce_tied() {
  const double elements = elements_where(trained_, is_tied) / (fully_sharded(in_.plan.sharding) ? dense_shards() : 1);
  if (elements <= 0.0) return;
  const Token token = in_.new_token();
  out_.step.finish.push_back(Communicate{.slot = Slot::embedding, .op = graph::CollectiveOp::all_reduce, .payload = Bytes(elements * graph::size_of(types_.gradient)),
                                         .name = "all_reduce tied embedding", .stream = "embedding", .produces = token});
  out_.step.finish.push_back(Wait{token});
}

void State::update() {
  OptimizerShare share{.elements = kept_elements(trained_), .tensors = tensors_of(trained_), .types = types_};
  // FSDP's shards carry gradients in the type of the kept parameters.
  if (fully_sharded(in_.plan.sharding)) share.types.gradient = types_.kept;
  // ZeRO-1 and ZeRO-2 divide the flat list of tensors: each rank updates a part of them.
  const bool flat = in_.plan.sharding == plan::Sharding::zero1 || in_.plan.sharding == plan::Sharding::zero2;
  if (flat) share.tensors = std::max(1, (share.tensors + dense_shards() - 1) / dense_shards());
  if (in_.training.clip_gradients) {
    std::vector<Slot> groups;
    if (sharded_optimizer() && data_ranks(in_.plan) > 1) groups.push_back(in_.plan.sharding == plan::Sharding::hybrid ? Slot::shard : Slot::data);
    if (in_.plan.tp * in_.plan.pp > 1) groups.push_back(Slot::model);
    append(out_.step.finish, clip_actions(share, groups, in_.new_token()));
  }
  if (in_.plan.offload.optimizer) {
    append(out_.step.finish, host_optimizer_actions(share, in_.training.optimizer, in_.host_link, in_.new_token(), in_.new_token()));
    return;
  }
  const bool reads_steps = in_.training.stack.optimizer_reads_steps && !in_.training.optimizer_fused && in_.training.optimizer == Optimizer::adamw;
  if (reads_steps) append(out_.step.finish, read_step_counters(share));
  append(out_.step.finish, optimizer_actions(share, in_.training.optimizer, in_.training.optimizer_fused));
}

void State::persist() {
  const auto add = [&](MemoryClass c, double bytes, const char* label) {
    if (bytes > 0.0) out_.persistent.push_back({.memory_class = c, .bytes = Bytes(bytes), .label = label});
  };
  const bool sharded = fully_sharded(in_.plan.sharding);
  const double held = sharded ? kept_elements(in_.parameters) : elements_of(in_.parameters);
  add(MemoryClass::parameters, held * graph::size_of(sharded ? types_.kept : types_.parameter), "parameters");
  if (!in_.plan.offload.optimizer) add(MemoryClass::optimizer, kept_elements(trained_) * optimizer_state_bytes(types_, in_.training.optimizer), "optimizer state");
  if (!sharded && (types_.main_gradient || data_ranks(in_.plan) > 1)) {
    add(MemoryClass::gradients, gradient_elements() * graph::size_of(types_.gradient), bucket_copies() ? "buckets of DDP" : "gradients");
    if (keeps_raw()) add(MemoryClass::gradients, elements_of(trained_) * graph::size_of(types_.raw_gradient), "gradients of the last micro-batch");
  }
}

StateActions State::build() {
  out_.chunks.resize(in_.chunks.size());
  const bool sharded = fully_sharded(in_.plan.sharding);
  for (std::size_t c = 0; c < in_.chunks.size(); ++c) sharded ? units(c) : buckets(c);
  if (types_.main_gradient) {
    const double bytes = gradient_elements() * graph::size_of(types_.gradient);
    out_.step.begin.push_back(SideKernels{.name = "zero gradient buffer", .work = graph::MemoryBound{.kind = graph::MemoryKind::copy, .read = Bytes(), .written = Bytes(bytes), .flops = Flops()}});
  }
  for (const Token token : reduced_) out_.step.finish.push_back(Wait{token});
  if (bucket_copies()) copy_out_of_buckets();
  reduce_over_tensor_ranks();
  reduce_tied();
  update();
  const bool divided = in_.plan.sharding == plan::Sharding::zero1 || in_.plan.sharding == plan::Sharding::zero2;
  if (divided && data_ranks(in_.plan) > 1) gather_parameters(buckets_);
  persist();
  return std::move(out_);
}

}  // namespace

StateActions state_actions(const StateInput& input) { return State(input).build(); }

}  // namespace sgsim::lower
