#include "sim/lower/data_parallel/fsdp.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/lower/data_parallel/multi_tensor.h"

namespace sgsim::lower {
namespace {

constexpr const char* kUnsharded = "unsharded units";
constexpr const char* kGatherBuffer = "all-gather buffers";
constexpr const char* kReduceBuffer = "reduce-scatter buffers";
constexpr const char* kRawGradients = "unsharded gradients";

graph::MemoryBound copy_work(Bytes read, Bytes written) { return {.kind = graph::MemoryKind::copy, .read = read, .written = written, .flops = Flops()}; }

/// Writes the actions of one pass. Units are addressed by their index.
class Fsdp {
 public:
  Fsdp(const std::vector<Unit>& units, const FsdpRules& rules, const std::vector<UnitTokens>& tokens, const FsdpPass& pass, const Chunk& chunk)
      : units_(units), rules_(rules), tokens_(tokens), pass_(pass), chunk_(chunk) {
    actions.positions.resize(chunk.positions.size());
  }

  ChunkActions actions;

  void forward();
  void backward();

 private:
  using Actions = std::vector<Action>;

  [[nodiscard]] Bytes whole(std::size_t u, graph::DType dtype) const { return Bytes(units_[u].elements * graph::size_of(dtype)); }
  [[nodiscard]] Bytes gradients(std::size_t u, graph::DType dtype) const { return Bytes(units_[u].trained_elements * graph::size_of(dtype)); }
  [[nodiscard]] Bytes shard(std::size_t u, graph::DType dtype) const { return whole(u, dtype) / ranks(u); }
  [[nodiscard]] int ranks(std::size_t u) const { return units_[u].expert ? rules_.expert_ranks : rules_.shard_ranks; }
  [[nodiscard]] Slot slot(std::size_t u) const { return units_[u].expert ? Slot::expert_data : rules_.hybrid ? Slot::shard : Slot::data; }
  [[nodiscard]] std::string name(const char* operation, std::size_t u) const {
    return std::string(operation) + (units_[u].root ? " root" : units_[u].expert ? " experts" : " unit");
  }
  [[nodiscard]] bool reshards(std::size_t u) const { return units_[u].root ? rules_.root_reshards : rules_.reshard_after_forward; }
  void take(Actions& out, MemoryClass memory_class, std::size_t u, Bytes bytes, const char* label) const {
    out.push_back(MemoryChange{.memory_class = memory_class, .delta = bytes, .transient = false, .label = label, .of = place(u)});
  }
  /// "layer 3", "layer 3 to layer 6", "root".
  [[nodiscard]] std::string place(std::size_t u) const {
    const Unit& unit = units_[u];
    if (unit.root) return "root";
    std::string words = chunk_.positions[unit.first].label;
    if (unit.last != unit.first) words += " to " + chunk_.positions[unit.last].label;
    return unit.expert ? words + ", experts" : words;
  }
  Actions& enter_forward(std::size_t u) { return units_[u].root ? actions.begin_forward : actions.positions[units_[u].first].before_forward; }
  Actions& enter_backward(std::size_t u) { return units_[u].root ? actions.begin_backward : actions.positions[units_[u].last].before_backward; }

  void copy_in(Actions& out, std::size_t u, const std::vector<Token>& waits, bool after_compute) const;
  void gather(Actions& out, std::size_t u, std::vector<Token> waits, bool after_compute) const;
  void copy_out(Actions& out, std::size_t u) const;
  void reshard(Actions& out, std::size_t u) const { take(out, MemoryClass::parameters, u, -whole(u, rules_.types.parameter), kUnsharded); }
  void gather_for_backward(const std::vector<std::size_t>& order);
  [[nodiscard]] Token finish_unit(Actions& out, std::size_t u, Token previous) const;
  void reduce_unit(Actions& out, std::size_t u, Token previous) const;
  void add_gradients(Actions& out, std::size_t u) const;

  const std::vector<Unit>& units_;
  const FsdpRules& rules_;
  const std::vector<UnitTokens>& tokens_;
  const FsdpPass& pass_;
  const Chunk& chunk_;
};

void Fsdp::copy_in(Actions& out, std::size_t u, const std::vector<Token>& waits, bool after_compute) const {
  const auto& types = rules_.types;
  const int tensors = static_cast<int>(units_[u].parameters.size());
  const int launches = multi_tensor_launches(units_[u].elements / ranks(u), tensors, 64);
  const Bytes kept = shard(u, types.kept) / launches, sent = shard(u, types.parameter) / launches;
  SideKernels cast{.name = "cast shard", .stream = "fsdp copy", .work = copy_work(kept, sent), .launches = launches, .operators = 1,
                   .phase = graph::Phase::forward, .after_compute = after_compute, .waits = waits};
  SideKernels pack = cast;
  pack.operators = fsdp_gather_operators(tensors) - 1;
  pack.name = "all-gather copy-in";
  pack.work = copy_work(sent, sent);
  pack.produces = tokens_[u].copied_in;
  if (types.kept != types.parameter) out.push_back(cast);
  out.push_back(pack);
}

void Fsdp::gather(Actions& out, std::size_t u, std::vector<Token> waits, bool after_compute) const {
  const graph::DType dtype = rules_.types.parameter;
  take(out, rules_.copy_kernels ? MemoryClass::communication : MemoryClass::parameters, u, whole(u, dtype), rules_.copy_kernels ? kGatherBuffer : kUnsharded);
  if (rules_.copy_kernels) {
    copy_in(out, u, waits, after_compute);
    waits.push_back(tokens_[u].copied_in);
  }
  if (ranks(u) == 1) return;  // experts that no other rank holds
  out.push_back(Communicate{.slot = slot(u), .op = graph::CollectiveOp::all_gather, .payload = whole(u, dtype), .name = name("all_gather", u), .stream = "fsdp", .after_compute = after_compute,
                            .waits = std::move(waits), .produces = tokens_[u].gathered});
}

void Fsdp::copy_out(Actions& out, std::size_t u) const {
  out.push_back(Wait{ranks(u) == 1 ? tokens_[u].copied_in : tokens_[u].gathered});
  if (!rules_.copy_kernels) return;
  const Bytes bytes = whole(u, rules_.types.parameter);
  take(out, MemoryClass::parameters, u, bytes, kUnsharded);
  out.push_back(SideKernels{.name = "all-gather copy-out", .work = copy_work(bytes, bytes), .operators = fsdp_copy_out_operators(static_cast<int>(units_[u].parameters.size())),
                            .phase = graph::Phase::forward, .produces = tokens_[u].copied_out});
  take(out, MemoryClass::communication, u, -bytes, kGatherBuffer);
}

void Fsdp::forward() {
  if (!pass_.gather) return;
  const auto ahead = static_cast<std::size_t>(rules_.prefetch);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    // Where the host issues the gather: FSDP2 at the unit itself (its host runs ahead of the device), deeper prefetch
    // earlier; without copies the gather waits for kernels instead of a copy-out, so it is issued before those that it may overlap.
    const std::size_t early = rules_.copy_kernels ? (ahead > 0 ? ahead - 1 : 0) : ahead;
    const std::size_t at = u >= early ? u - early : 0;
    std::vector<Token> waits;
    if (rules_.copy_kernels && ahead > 0 && u >= ahead + 1) waits.push_back(tokens_[u - ahead - 1].copied_out);
    gather(enter_forward(at), u, waits, !rules_.copy_kernels || ahead == 0);
  }
  for (std::size_t u = 0; u < units_.size(); ++u) {
    copy_out(enter_forward(u), u);
    if (!reshards(u)) continue;
    reshard(units_[u].root ? actions.end_forward : actions.positions[units_[u].last].after_forward, u);
  }
}

void Fsdp::gather_for_backward(const std::vector<std::size_t>& order) {
  std::vector<bool> issued(units_.size(), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    Actions& here = enter_backward(order[i]);
    const auto gather_here = [&](std::size_t u, std::vector<Token> waits) {
      if (!issued[u] && reshards(u)) gather(here, u, std::move(waits), rules_.prefetch == 0 || !rules_.copy_kernels);
      issued[u] = true;
    };
    // The first gather of the backward pass runs ahead as the last of the forward pass did.
    gather_here(order[i], i == 0 && units_.size() > 1 ? std::vector<Token>{tokens_[units_.size() - 2].copied_out} : std::vector<Token>{});
    if (reshards(order[i])) copy_out(here, order[i]);
    for (std::size_t p = 1; p <= static_cast<std::size_t>(rules_.prefetch) && i + p < order.size(); ++p) gather_here(order[i + p], {tokens_[order[i]].copied_out});
  }
}

void Fsdp::backward() {
  std::vector<std::size_t> order;  // as the backward pass enters units: the root first, then the layers from the end
  const bool rooted = !units_.empty() && units_[0].root;
  if (rooted) order.push_back(0);
  for (std::size_t u = units_.size(); u-- > (rooted ? 1u : 0u);) order.push_back(u);
  gather_for_backward(order);
  if (rooted) std::rotate(order.begin(), order.begin() + 1, order.end());  // as it leaves them: the root last
  const auto last = std::find_if(order.rbegin(), order.rend(), [this](std::size_t u) { return units_[u].trained > 0; });
  Token previous = last == order.rend() ? Token{} : tokens_[*last].reduced;
  for (const std::size_t u : order) {
    Actions& out = units_[u].root ? actions.end_backward : actions.positions[units_[u].first].after_backward;
    if (units_[u].trained > 0) {
      Actions& made = rules_.split_backward ? out : enter_backward(u);
      made.push_back(MemoryChange{.memory_class = MemoryClass::gradients, .delta = gradients(u, rules_.types.raw_gradient),
                                  .transient = pass_.add_unsharded, .label = kRawGradients, .of = place(u)});
      if (pass_.add_unsharded) add_gradients(out, u);
    }
    if (!rules_.split_backward) previous = finish_unit(out, u, previous);
  }
  for (const std::size_t u : order) {
    if (rules_.split_backward) previous = finish_unit(actions.end_backward, u, previous);
  }
}

Token Fsdp::finish_unit(Actions& out, std::size_t u, Token previous) const {
  if (pass_.reshard) reshard(out, u);
  if (!pass_.reduce || units_[u].trained == 0) return previous;
  reduce_unit(out, u, previous);
  return tokens_[u].reduced;
}

void Fsdp::reduce_unit(Actions& out, std::size_t u, Token previous) const {
  const auto& types = rules_.types;
  const Bytes raw = gradients(u, types.raw_gradient), input = gradients(u, types.gradient), part = input / ranks(u);
  out.push_back(Wait{previous});
  const bool copied = rules_.copy_kernels || types.raw_gradient != types.gradient;
  if (copied) {
    take(out, MemoryClass::communication, u, input, kReduceBuffer);
    graph::MemoryBound copy = copy_work(raw, input);
    if (rules_.copy_kernels && types.raw_gradient != types.gradient) copy.flops = Flops(kFsdpChunkCatFlops * units_[u].trained_elements);
    out.push_back(SideKernels{.name = "reduce-scatter copy-in", .work = copy, .operators = fsdp_reduce_operators(units_[u].trained)});
    take(out, MemoryClass::gradients, u, -raw, kRawGradients);
  }
  if (ranks(u) > 1) {
    out.push_back(Communicate{.slot = slot(u), .op = graph::CollectiveOp::reduce_scatter, .payload = input, .name = name("reduce_scatter", u), .stream = "fsdp",
                              .produces = tokens_[u].reduced});
  }
  if (rules_.replicas) {
    out.push_back(Communicate{.slot = Slot::replicate, .op = graph::CollectiveOp::all_reduce, .payload = part, .name = "all_reduce replicas", .stream = "replicate",
                              .after_compute = ranks(u) == 1, .waits = {tokens_[u].reduced}, .produces = tokens_[u].reduced});
  }
  if (pass_.add_sharded) {
    const int tensors = units_[u].trained;
    const Bytes each = part / static_cast<double>(tensors);
    out.push_back(SideKernels{.name = "accumulate gradient shard", .stream = "fsdp post", .work = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = each * 2.0, .written = each, .flops = Flops()},
                              .launches = tensors, .operators = tensors, .waits = {tokens_[u].reduced}, .produces = tokens_[u].reduced});
  } else {
    take(out, MemoryClass::gradients, u, part, "gradients");
  }
  if (copied) take(out, MemoryClass::communication, u, -input, kReduceBuffer);
  else take(out, MemoryClass::gradients, u, -raw, kRawGradients);
}

void Fsdp::add_gradients(Actions& out, std::size_t u) const {
  const int tensors = units_[u].trained;
  const Bytes each = gradients(u, rules_.types.raw_gradient) / static_cast<double>(tensors);
  out.push_back(SideKernels{.name = "accumulate gradients", .work = graph::MemoryBound{.kind = graph::MemoryKind::pointwise, .read = each * 2.0, .written = each, .flops = Flops()},
                            .launches = tensors, .operators = tensors});
}

}  // namespace

std::vector<Unit> make_units(const Chunk& chunk, const std::vector<OwnedParameter>& parameters, int layers_per_unit) {
  Unit root{.parameters = {}, .elements = 0.0, .trained = 0, .trained_elements = 0.0, .first = 0, .last = static_cast<std::uint32_t>(chunk.positions.size() - 1), .root = true};
  std::vector<Unit> layers, experts;
  std::vector<int> unit_of(chunk.positions.size(), -1);
  int seen = 0;
  for (std::uint32_t p = 0; p < chunk.positions.size(); ++p) {
    if (chunk.positions[p].layer < 0) continue;
    if (seen % layers_per_unit == 0) layers.push_back({.parameters = {}, .elements = 0.0, .trained = 0, .trained_elements = 0.0, .first = p, .last = p, .root = false});
    layers.back().last = p;
    unit_of[p] = static_cast<int>(layers.size()) - 1;
    ++seen;
  }
  experts = layers;
  for (Unit& unit : experts) unit.expert = true;
  for (std::uint32_t i = 0; i < parameters.size(); ++i) {
    const OwnedParameter& parameter = parameters[i];
    const int at = unit_of[parameter.position];
    Unit& unit = at < 0 ? root : (parameter.shard->expert ? experts : layers)[static_cast<std::size_t>(at)];
    unit.parameters.push_back(i);
    unit.elements += static_cast<double>(parameter.shard->elements);
    if (!parameter.shard->trained) continue;
    ++unit.trained;
    unit.trained_elements += static_cast<double>(parameter.shard->elements);
  }
  std::vector<Unit> units;
  if (!root.parameters.empty()) units.push_back(std::move(root));
  for (std::size_t u = 0; u < layers.size(); ++u) {
    for (Unit* unit : {&layers[u], &experts[u]}) {
      if (!unit->parameters.empty()) units.push_back(std::move(*unit));
    }
  }
  return units;
}

ChunkActions fsdp_actions(const Chunk& chunk, const std::vector<Unit>& units, const FsdpRules& rules, const std::vector<UnitTokens>& tokens, const FsdpPass& pass) {
  Fsdp fsdp(units, rules, tokens, pass, chunk);
  if (rules.shard_ranks <= 1) return std::move(fsdp.actions);
  fsdp.forward();
  fsdp.backward();
  return std::move(fsdp.actions);
}

}  // namespace sgsim::lower
