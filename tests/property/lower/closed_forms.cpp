#include "tests/property/lower/closed_forms.h"

#include "sim/graph/work.h"
#include "sim/plan/legality.h"

namespace sgsim::testing {
namespace {

struct Sizes {
  double h, f, kv, heads, kv_heads, vocab, tokens, sequence, batch, positions, experts = 0;
  bool gated, causal, biased, tied;
};

Sizes sizes_of(const PlanCase& c) {
  const plan::ModelShape& m = model_of(c).shape;
  const bool captured = c.family == Family::captured_llama || c.family == Family::captured_gpt2;
  const bool gpt2 = c.family == Family::gpt2 || c.family == Family::captured_gpt2, bert = c.family == Family::bert;
  const auto number = [](std::int64_t n) { return static_cast<double>(n); };
  Sizes s{};
  s.h = number(m.hidden);
  s.f = number(m.ffn);
  s.heads = number(m.heads);
  s.kv_heads = number(m.kv_heads);
  s.kv = s.h / s.heads * s.kv_heads;
  s.vocab = number(m.vocab);
  s.sequence = captured ? number(m.sequence) : 64.0;
  s.batch = number(c.plan.micro_batch);
  s.tokens = s.batch * s.sequence;
  s.positions = s.sequence;
  s.experts = number(m.experts);
  s.gated = !gpt2 && !bert;
  s.causal = !bert && !captured;  // the captured models pass a dense mask: the kernel computes the whole square
  s.biased = gpt2 || bert;
  s.tied = gpt2 || bert;
  return s;
}

double padded(const PlanCase& c, double vocab) {
  if (c.plan.tp == 1 || !c.training.stack.tensor_parallel_vocabulary) return vocab;
  const double multiple = 128.0 * c.plan.tp;
  return static_cast<double>(static_cast<std::int64_t>((vocab + multiple - 1) / multiple)) * multiple;
}

/// Matrix elements of a layer outside its experts.
double layer_matrices(const Sizes& s) { return 2 * s.h * s.h + 2 * s.h * s.kv + (s.experts > 0 ? 0.0 : (s.gated ? 3 : 2) * s.h * s.f); }

Held layer_of(const PlanCase& c, const Sizes& s) {
  Held held;
  double divided = layer_matrices(s), whole = (s.biased ? 4 : 2) * s.h;  // norms: scale, and shift
  if (s.biased) {
    divided += 3 * s.h + s.f;  // of column-parallel products
    whole += 2 * s.h;          // of row-parallel products
  }
  if (s.experts > 0) {
    whole += s.experts * s.h;  // router
    held.expert = 3 * s.experts * s.h * s.f / (c.plan.ep * c.plan.tp);
  }
  held.dense = divided / c.plan.tp + whole;
  held.replicated = whole;
  return held;
}

double attention_flops(const PlanCase& c, const Sizes& s, graph::Pass pass) {
  const double product = 2.0 * s.batch * s.heads * s.sequence * s.sequence * (s.h / s.heads);
  if (!c.flash) return (pass == graph::Pass::forward ? 2.0 : 4.0) * product;
  const auto whole = [](double x) { return static_cast<std::int64_t>(x); };
  return graph::flops_of(graph::Attention{.batch = whole(s.batch), .heads = whole(s.heads), .kv_heads = whole(s.kv_heads), .q_len = whole(s.sequence),
                                          .kv_len = whole(s.sequence), .head_dim = whole(s.h / s.heads), .causal = s.causal, .pass = pass}).value();
}

/// A product repeated by every tensor-parallel rank, unless sequence parallelism divides its rows.
double repeats(const PlanCase& c) { return c.plan.sequence_parallel ? 1.0 : c.plan.tp; }

}  // namespace

int layers_of_stage(const PlanCase& c, int stage) {
  const auto chunks = plan::chunk_layers(model_of(c).shape, c.plan);
  int sum = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) sum += static_cast<int>(i) % c.plan.pp == stage ? chunks[i] : 0;
  return sum;
}

Held held_by(const PlanCase& c, int stage) {
  const Sizes s = sizes_of(c);
  const bool divides = c.plan.tp > 1 && c.training.stack.tensor_parallel_vocabulary;
  const double rows = padded(c, s.vocab) / (divides ? c.plan.tp : 1), table = rows * s.h;
  const bool first = stage == 0, last = stage == c.plan.pp - 1;
  Held held = layer_of(c, s);
  const int layers = layers_of_stage(c, stage);
  held.dense *= layers;
  held.expert *= layers;
  held.replicated *= layers;
  double whole = 0.0, tables = 0.0;
  if (first) {
    tables += table;
    if (s.biased) whole += s.positions * s.h;
    if (c.family == Family::bert) whole += 2 * s.h + 2 * s.h;  // token types, norm
  }
  if (last) {
    whole += s.biased ? 2 * s.h : s.h;  // final norm
    if (c.family == Family::bert) {
      whole += s.h * s.h + s.h;  // head transform
      tables += rows;            // bias of the logits
    }
    if (!s.tied || !first) tables += table;
  }
  held.dense += whole + tables;
  held.replicated += whole + (divides ? 0.0 : tables);
  if (s.tied && c.plan.pp > 1 && (first || last)) held.tied = table;
  return held;
}

double product_flops(const PlanCase& c) {
  const Sizes s = sizes_of(c);
  const auto layers = static_cast<double>(model_of(c).shape.layers);
  double expert = 0.0, router = 0.0;
  if (s.experts > 0) {
    const double assigned = 2.0 * s.tokens;  // two experts a token
    expert = 2.0 * assigned * 3 * s.h * s.f;
    router = 2.0 * s.tokens * s.h * s.experts * repeats(c);
  }
  const double forward = 2.0 * s.tokens * layer_matrices(s) + expert + router;
  const double attention = attention_flops(c, s, graph::Pass::forward);
  double total = layers * (3.0 * forward + attention + attention_flops(c, s, graph::Pass::backward));
  const bool eager = c.training.execution == compile::Execution::eager;
  if (c.plan.recompute == plan::Recompute::full) {
    // A compiler leaves out the layer's last product, where only the residual sum reads it.
    const bool needed = eager || c.family == Family::bert || s.experts > 0;
    total += layers * (forward + attention - (needed ? 0.0 : 2.0 * s.tokens * s.h * s.f));
  } else if (c.plan.recompute == plan::Recompute::selective && !c.flash) {
    total += layers * (eager ? attention : attention / 2);  // a compiler computes only the scores again
  }
  const bool divides = c.plan.tp > 1 && c.training.stack.tensor_parallel_vocabulary;
  total += 6.0 * s.tokens * s.h * padded(c, s.vocab) * (divides ? 1.0 : repeats(c));
  if (s.gated) total += c.plan.tp * c.plan.cp * s.sequence * s.h / s.heads;  // rotary angles: position times frequency, on every tensor and context rank
  if (c.family == Family::bert) total += 6.0 * s.tokens * s.h * s.h * repeats(c);
  return total * static_cast<double>(c.plan.micro_batches() * c.plan.dp);
}

namespace {

/// Keys and values go on cp - 1 times in each pass and in recomputation, or are gathered once; their gradients go on cp times.
void add_context(const PlanCase& c, std::map<std::string, int>& counts) {
  if (c.plan.cp == 1) return;
  const bool gathers = c.training.stack.context_parallel_all_gather;
  const int there = gathers ? 1 : c.plan.cp - 1;
  const std::string name = gathers ? "cp all_gather" : "cp send_receive";
  counts["forward " + name] = counts["backward " + name] = there;
  if (c.plan.recompute == plan::Recompute::full) counts["recompute " + name] = there;
  counts["backward cp send_receive"] += c.plan.cp;
}

}  // namespace

std::map<std::string, int> layer_collectives(const PlanCase& c) {
  std::map<std::string, int> counts;
  add_context(c, counts);
  if (c.plan.tp == 1) return counts;
  const Sizes s = sizes_of(c);
  int input_sums = 2;
  if (c.training.stack.tensor_parallel_reduces_each) input_sums = (s.gated ? 5 : c.family == Family::bert ? 4 : 2);
  const bool eager = c.training.execution == compile::Execution::eager;
  const bool again = c.plan.recompute == plan::Recompute::full;
  const int sums_again = eager || c.family == Family::bert ? 2 : 1;
  if (!c.plan.sequence_parallel) {
    counts["forward all_reduce"] = 2;
    counts["backward all_reduce"] = input_sums;
    if (again) counts["recompute all_reduce"] = sums_again;
    return counts;
  }
  // Backward: gradients gathered where the forward pass scattered, and the inputs of the column-parallel products gathered again.
  counts["forward all_gather"] = counts["forward reduce_scatter"] = 2;
  counts["backward all_gather"] = 4;
  counts["backward reduce_scatter"] = input_sums;
  if (again) {
    counts["recompute all_gather"] = 2;
    counts["recompute reduce_scatter"] = sums_again;
  }
  return counts;
}

}  // namespace sgsim::testing
