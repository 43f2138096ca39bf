#include "sim/lower/shard/ring_attention.h"

#include <string_view>
#include <utility>

#include "sim/core/error.h"
#include "sim/lower/shard/dimensions.h"

namespace sgsim::lower::shard {
namespace {

using graph::Argument;
using graph::Node;
using graph::ValueRef;

constexpr int kTokens = 2;  // of q, k, v: [batch, heads, tokens, size]

/// Keys and values of one rank, in one buffer [2 batch, heads, tokens, size]: keys before values.
struct Block {
  ValueRef keys, values;
};

class Ring {
 public:
  Ring(Draft& draft, const RingCall& call, const ContextOptions& options)
      : draft_(draft), call_(call), cp_(options.cp), all_gather_(options.all_gather), keys_(tensor(call.places.query + 1)), values_(tensor(call.places.query + 2)),
        causal_(flag(call.places.causal)), own_(draft.shape(keys_).at(kTokens)) {
    SGSIM_CHECK(!causal_ || own_ % 2 == 0, "a rank's tokens are two equal chunks");
  }

  std::vector<ValueRef> forward() {
    ValueRef out, statistics;
    std::vector<ValueRef> results;
    for (int step = 0; step < cp_; ++step) {
      const Block block = arrived(step);
      send_on(step);
      const NodeId attended = attend(block, step);
      if (step == 0) {
        for (std::uint32_t o = 0; o < draft_.out.node(attended).outputs.size(); ++o) results.push_back({attended, o});
        out = results.at(0), statistics = results.at(1);
      } else {
        merge(out, statistics, {attended, 0}, {attended, 1});
      }
    }
    results[0] = draft_.cast(out, draft_.type(results[0]).dtype, by());
    results[1] = statistics;
    return results;
  }

  std::vector<ValueRef> backward() {
    ValueRef queries, gradients;
    std::vector<ValueRef> results;
    for (int step = 0; step < cp_; ++step) {
      const Block block = arrived(step);
      send_on(step);
      const NodeId made = attend(block, step);
      const ValueRef both = draft_.join({made, 1}, {made, 2}, 0, by());
      if (step == 0) {
        for (std::uint32_t o = 0; o < draft_.out.node(made).outputs.size(); ++o) results.push_back({made, o});
        queries = results.at(0), gradients = both;
      } else {
        queries = add(queries, {made, 0});
        gradients = add_half(gradients, both);
      }
      gradients = send(gradients);  // with the block that they belong to; the last time back to its owner
    }
    const std::int64_t rows = draft_.shape(keys_)[0];
    results[0] = queries;
    results[1] = draft_.slice(gradients, 0, 0, rows, by());
    results[2] = draft_.slice(gradients, 0, rows, 2 * rows, by());
    return results;
  }

 private:
  [[nodiscard]] const Node& by() const { return call_.by; }
  [[nodiscard]] ValueRef tensor(std::size_t position) const { return std::get<ValueRef>(call_.args.at(position).value); }
  [[nodiscard]] bool flag(std::size_t position) const {
    const Argument* argument = position < call_.args.size() ? &call_.args[position] : nullptr;
    if (const auto named = by().kwargs.find("is_causal"); argument == nullptr && named != by().kwargs.end()) argument = &named->second;
    const bool* value = argument == nullptr ? nullptr : std::get_if<bool>(&argument->value);
    return value != nullptr && *value;
  }

  ValueRef send(ValueRef x) { return draft_.call("_c10d_functional.permute_tensor.default", {{x}, {std::string(kContextGroup)}}, by()); }
  ValueRef add(ValueRef a, ValueRef b) { return draft_.call("aten.add.Tensor", {{a}, {b}}, by()); }

  /// The block that a rank works on at this step.
  Block arrived(int step) {
    if (step == 0) return {keys_, values_};
    const std::int64_t rows = draft_.shape(keys_)[0], first = all_gather_ ? 2 * rows * step : 0;
    Block block{draft_.slice(buffer_, 0, first, first + rows, by()), draft_.slice(buffer_, 0, first + rows, first + 2 * rows, by())};
    if (causal_) {
      block.keys = draft_.slice(block.keys, kTokens, 0, own_ / 2, by());
      block.values = draft_.slice(block.values, kTokens, 0, own_ / 2, by());
    }
    return block;
  }

  /// The block goes on to the next rank while this one works on it. Gathered: all blocks come beside the own one's work.
  void send_on(int step) {
    if (step == 0) buffer_ = draft_.join(keys_, values_, 0, by());
    if (all_gather_) {
      if (step == 0) buffer_ = draft_.call("_c10d_functional.all_gather_into_tensor.default", {{buffer_}, {std::int64_t{cp_}}, {std::string(kContextGroup)}}, by());
    } else if (step + 1 < cp_) {
      buffer_ = send(buffer_);
    }
  }

  NodeId attend(const Block& block, int step) {
    Node node = by();
    node.name += "_block" + std::to_string(step);
    node.args = call_.args;
    node.args[call_.places.query + 1] = {block.keys};
    node.args[call_.places.query + 2] = {block.values};
    if (call_.places.mask) mask_columns(node.args.at(*call_.places.mask), step);
    if (call_.places.causal < node.args.size() && causal_) node.args[call_.places.causal] = {step == 0};
    if (const auto named = node.kwargs.find("is_causal"); named != node.kwargs.end() && causal_) named->second = {step == 0};
    return draft_.append_inferred(std::move(node));
  }

  void mask_columns(Argument& argument, int step) {
    const auto* mask = std::get_if<ValueRef>(&argument.value);
    if (mask == nullptr) return;
    const int last = static_cast<int>(draft_.shape(*mask).size()) - 1;
    if (draft_.shape(*mask)[static_cast<std::size_t>(last)] != call_.sequence) return;
    argument = {draft_.slice(*mask, last, step * own_, (step + 1) * own_, by())};
  }

  /// Two partial softmaxes: their results weighted by the sums of exponentials that they stand for (Milakov, Gimelshein 2018).
  void merge(ValueRef& out, ValueRef& statistics, ValueRef block_out, ValueRef block_statistics) {
    const ValueRef more = draft_.call("aten.sub.Tensor", {{block_statistics}, {statistics}}, by());
    ValueRef weight = draft_.call("aten.sigmoid.default", {{more}}, by());
    if (draft_.shape(weight).size() == 3) {
      weight = draft_.slice(weight, kTokens, 0, own_queries(), by());  // padded by one of the kernels
      weight = draft_.call("aten.unsqueeze.default", {{weight}, {std::int64_t{-1}}}, by());
    }
    const ValueRef difference = draft_.call("aten.sub.Tensor", {{block_out}, {out}}, by());
    out = add(out, draft_.call("aten.mul.Tensor", {{weight}, {difference}}, by()));
    statistics = add(statistics, draft_.call("aten.softplus.default", {{more}}, by()));
  }
  [[nodiscard]] std::int64_t own_queries() const { return draft_.shape(tensor(call_.places.query))[kTokens]; }

  /// Adds the gradients of half of the tokens (causal), or of all.
  ValueRef add_half(ValueRef all, ValueRef more) {
    const std::int64_t size = draft_.shape(more)[kTokens];
    if (size == own_) return add(all, more);
    const ValueRef sum = add(draft_.slice(all, kTokens, 0, size, by()), more);
    return draft_.join(sum, draft_.slice(all, kTokens, size, own_, by()), kTokens, by());
  }

  Draft& draft_;
  const RingCall& call_;
  int cp_;
  bool all_gather_;
  ValueRef keys_, values_;
  bool causal_;
  std::int64_t own_;   // tokens of a rank
  ValueRef buffer_;    // keys and values of the next block, or of all
};

}  // namespace

std::optional<AttentionPlaces> attention_places(const Node& node) {
  const std::string_view name = operator_name(node.target);
  if (name == "_scaled_dot_product_cudnn_attention" || name == "_scaled_dot_product_efficient_attention") return AttentionPlaces{false, 0, 3, 6};
  if (name == "_scaled_dot_product_flash_attention") return AttentionPlaces{false, 0, std::nullopt, 4};
  if (name == "_scaled_dot_product_cudnn_attention_backward") return AttentionPlaces{true, 1, 8, 14};
  if (name == "_scaled_dot_product_efficient_attention_backward") return AttentionPlaces{true, 1, 4, 11};
  if (name == "_scaled_dot_product_flash_attention_backward") return AttentionPlaces{true, 1, std::nullopt, 11};
  return std::nullopt;
}

std::vector<ValueRef> ring_forward(Draft& draft, const RingCall& call, const ContextOptions& options) { return Ring(draft, call, options).forward(); }
std::vector<ValueRef> ring_backward(Draft& draft, const RingCall& call, const ContextOptions& options) { return Ring(draft, call, options).backward(); }

}  // namespace sgsim::lower::shard
