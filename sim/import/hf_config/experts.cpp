#include "sim/import/hf_config/families.h"

namespace sgsim::import::hf {
namespace {

struct Routing {
  ValueRef padded;  // [experts * capacity]: which of the assignments (token, k) each row of the experts' batch is
  ValueRef token;   // [experts * capacity]: which token it is
  ValueRef weight;  // [experts * capacity, 1]
};

/// Softmax over the experts in float32, the k best, their weights normalised, and the assignments sorted by expert.
Routing route(Model& model, const std::string& path, ValueRef x, ValueRef gate, std::int64_t rows) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  Affine affine;
  affine.weight = gate;
  const ValueRef logits = linear(model, path + ".gate", x, affine);
  tape.enter(path, "MixtralSparseMoeBlock");
  const ValueRef scores = softmax(tape, cast(tape, logits, DType::float32));
  const TopK best = topk_last(tape, scores, c.experts_per_token);
  const ValueRef weights = cast(tape, div(tape, best.values, sum_last(tape, best.values)), tape.dtype(x));
  const std::int64_t assignments = tape.type(best.indices).elements();
  const ValueRef expert_of = tape.call("aten.view.default", best.indices, Dims{assignments});
  const ValueRef order{tape.call("aten.sort.default", expert_of).node, 1};
  const ValueRef padded = rows == assignments ? order : tape.call("aten.constant_pad_nd.default", order, Dims{0, rows - assignments}, 0);
  const ValueRef token = tape.call("aten.floor_divide.default", padded, c.experts_per_token);
  const ValueRef weight = index_select(tape, view(tape, weights, {assignments, 1}), 0, padded);
  return {padded, token, weight};
}

/// A product of every expert's rows with its weight. In float32 PyTorch 2.11 has no grouped kernel and runs one product an expert, for
/// which the host reads where each expert's rows begin, in the forward pass and for each of the two gradients.
ValueRef grouped_product(Model& model, ValueRef rows, ValueRef weight, ValueRef begins) {
  Tape& tape = model.tape;
  const bool reads = model.options.eager && tape.dtype(rows) == DType::float32;
  return bmm(tape, rows, transpose(tape, weight, 1, 2), [&tape, reads, begins] {
    if (reads) tape.call_with({{"device", Argument{std::string("cpu")}}}, "aten._to_copy.default", begins);
  });
}

/// The experts one after another on their own rows (transformers 5, integrations/moe.py, grouped_mm_experts_forward; the same
/// order of operators in the validation data set, shared/truth/h200/mixtral_l4_eager.trace.json.gz): gate and up as one product,
/// rows without an expert set to zero before and after each product, results put back in the tokens' order and summed over k.
ValueRef grouped_experts(Model& model, const std::string& path, ValueRef rows, const Routing& routing, const Experts& experts, DType compute, std::int64_t tokens) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  const std::int64_t assignments = tokens * c.experts_per_token, assigned = tape.shape(rows)[0], capacity = assigned / c.experts;
  const ValueRef mask = tape.call("aten.view.default", tape.call("aten.ge.Scalar", routing.padded, assignments), Dims{c.experts, capacity, 1});
  const auto without_rest = [&](ValueRef x) { return masked_fill(tape, x, mask, 0.0); };
  const ValueRef counted = tape.call("aten.cumsum.default", tape.call("aten.view.default", routing.padded, Dims{c.experts, capacity}), 0);
  const ValueRef begins = tape.call("aten.slice.Tensor", counted, 1, 0, 1);
  const auto product = [&](ValueRef a, ValueRef weight) { return grouped_product(model, a, cast(tape, weight, compute), begins); };
  const ValueRef batch = cast(tape, masked_fill_in_place(tape, view(tape, rows, {c.experts, capacity, c.hidden}), mask, 0.0), compute);
  const std::vector<ValueRef> halves = split(tape, without_rest(product(batch, experts.w1)), c.ffn, 2);
  const ValueRef gate = activate(model, path + ".experts.act_fn", halves[0]);
  tape.enter(path + ".experts", "MixtralExperts");
  const ValueRef outs = view(tape, without_rest(product(mul(tape, gate, halves[1]), experts.w2)), {assigned, c.hidden});
  const ValueRef weighted = mul(tape, outs, routing.weight);
  const ValueRef place = tape.call("aten.index_put.default", routing.padded, list_of({routing.padded}), tape.call("aten.arange.default", assigned));
  const ValueRef places = assigned == assignments ? place : tape.call("aten.slice.Tensor", place, 0, 0, assignments);
  const ValueRef ordered = view(tape, index_select(tape, weighted, 0, places), {tokens, c.experts_per_token, c.hidden});
  return sum_middle(tape, ordered);
}

}  // namespace

Experts declare_experts(Sources& sources, const Config& c, const std::string& path) {
  if (c.grouped_experts) {
    return {.gate = sources.parameter(path + ".gate.weight", {c.experts, c.hidden}),
            .w1 = sources.parameter(path + ".experts.gate_up_proj", {c.experts, 2 * c.ffn, c.hidden}),
            .w3 = {},
            .w2 = sources.parameter(path + ".experts.down_proj", {c.experts, c.hidden, c.ffn})};
  }
  return {.gate = sources.parameter(path + ".gate.weight", {c.experts, c.hidden}),
          .w1 = sources.parameter(path + ".experts.w1", {c.experts, c.ffn, c.hidden}),
          .w3 = sources.parameter(path + ".experts.w3", {c.experts, c.ffn, c.hidden}),
          .w2 = sources.parameter(path + ".experts.w2", {c.experts, c.hidden, c.ffn})};
}

ValueRef mixture_of_experts(Model& model, const std::string& path, ValueRef x, const Experts& experts) {
  Tape& tape = model.tape;
  const Config& c = model.config;
  // torch._grouped_mm is not on autocast's lists as the library calls it: under autocast the experts multiply what they are given,
  // float32 rows by float32 weights (validation data set, shared/truth/h200/mixtral_l4_eager.trace.json.gz: aten::_grouped_mm of
  // float, one TF32 product an expert).
  const DType compute = c.grouped_experts && model.options.autocast ? tape.dtype(x) : model.options.dtype;
  const Dims shape = tape.shape(x);
  tape.enter(path, "MixtralSparseMoeBlock");
  const std::int64_t tokens = shape[0] * shape[1];
  const std::int64_t capacity = (tokens * c.experts_per_token + c.experts - 1) / c.experts;
  const ValueRef flat = view(tape, x, {tokens, c.hidden});
  const Routing routing = route(model, path, flat, experts.gate, c.experts * capacity);
  const ValueRef rows = index_select(tape, flat, 0, routing.token);
  tape.enter(path + ".experts", "MixtralExperts");
  if (c.grouped_experts) return view(tape, grouped_experts(model, path, rows, routing, experts, compute, tokens), shape);
  const ValueRef batch = cast(tape, view(tape, rows, {c.experts, capacity, c.hidden}), compute);
  const auto product = [&](ValueRef a, ValueRef weight) { return bmm(tape, a, transpose(tape, cast(tape, weight, compute), 1, 2)); };
  const ValueRef gate = activate(model, path + ".experts.act_fn", product(batch, experts.w1));
  tape.enter(path + ".experts", "MixtralExperts");
  const ValueRef inner = mul(tape, gate, product(batch, experts.w3));
  const ValueRef outs = view(tape, product(inner, experts.w2), {c.experts * capacity, c.hidden});
  tape.enter(path, "MixtralSparseMoeBlock");
  const ValueRef sum = index_add_rows(tape, tokens, routing.token, mul(tape, outs, routing.weight));
  return view(tape, sum, shape);
}

}  // namespace sgsim::import::hf
