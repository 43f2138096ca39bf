#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/graph/graph.h"
#include "sim/import/hf_config/ops.h"
#include "sim/import/hf_config/tape.h"

// Small models, differentiated by the tape that generated graphs use.
namespace small {

using sgsim::graph::DType;
using sgsim::graph::NodeKind;
using sgsim::graph::OperatorGraph;
using sgsim::graph::ValueRef;
using sgsim::import::hf::Dims;
using sgsim::import::hf::Tape;

/// vocabulary 256, hidden 8, ffn 16, batch 1, sequence 4: embedding, `layers` residual MLPs with layer norm, head, loss.
struct Mlp {
  std::int64_t vocabulary = 256, hidden = 8, ffn = 16, batch = 1, sequence = 4;
  int layers = 1;
  bool bias = false;
  bool tied = false;
};

inline ValueRef product(Tape& tape, ValueRef x, ValueRef weight, std::optional<ValueRef> bias) {
  namespace hf = sgsim::import::hf;
  const Dims shape = tape.shape(x);
  const ValueRef flat = hf::view(tape, x, {shape[0] * shape[1], shape[2]});
  const ValueRef y = bias ? hf::addmm(tape, *bias, flat, hf::t(tape, weight)) : hf::mm(tape, flat, hf::t(tape, weight));
  return hf::view(tape, y, {shape[0], shape[1], tape.shape(y)[1]});
}

inline ValueRef loss_of(Tape& tape, ValueRef logits, ValueRef labels) {
  namespace hf = sgsim::import::hf;
  const Dims shape = tape.shape(logits);
  const ValueRef flat = hf::view(tape, hf::cast(tape, logits, DType::float32), {shape[0] * shape[1], shape[2]});
  return hf::nll_loss(tape, hf::log_softmax(tape, flat), hf::view(tape, labels, {shape[0] * shape[1]}));
}

inline OperatorGraph mlp_model(const Mlp& m) {
  namespace hf = sgsim::import::hf;
  Tape tape("small mlp", false);
  const ValueRef ids = tape.source(NodeKind::input, "ids", {m.batch, m.sequence}, DType::int64);
  const ValueRef labels = tape.source(NodeKind::input, "labels", {m.batch, m.sequence}, DType::int64);
  const auto parameter = [&](const std::string& name, Dims shape) {
    return tape.source(NodeKind::parameter, name, std::move(shape), DType::bfloat16);
  };
  struct Layer { ValueRef norm, norm_bias, up, down; std::optional<ValueRef> up_bias, down_bias; };
  const ValueRef table = parameter("embed.weight", {m.vocabulary, m.hidden});
  std::vector<Layer> layers;
  for (int i = 0; i < m.layers; ++i) {
    const std::string path = "layers." + std::to_string(i) + ".";
    Layer layer{parameter(path + "norm.weight", {m.hidden}), parameter(path + "norm.bias", {m.hidden}),
                parameter(path + "up.weight", {m.ffn, m.hidden}), parameter(path + "down.weight", {m.hidden, m.ffn}), {}, {}};
    if (m.bias) layer.up_bias = parameter(path + "up.bias", {m.ffn});
    if (m.bias) layer.down_bias = parameter(path + "down.bias", {m.hidden});
    layers.push_back(layer);
  }
  const ValueRef head = m.tied ? table : parameter("head.weight", {m.vocabulary, m.hidden});
  tape.enter("embed", "Embedding");
  ValueRef x = hf::embedding(tape, table, ids);
  for (int i = 0; i < m.layers; ++i) {
    const std::string path = "layers." + std::to_string(i);
    const Layer& w = layers[static_cast<std::size_t>(i)];
    tape.enter(path + ".norm", "LayerNorm");
    const ValueRef normed = hf::native_layer_norm(tape, x, w.norm, w.norm_bias, 1e-5);
    tape.enter(path + ".up", "Linear");
    const ValueRef inner = product(tape, normed, w.up, w.up_bias);
    tape.enter(path + ".act", "GELU");
    const ValueRef active = hf::gelu(tape, inner, true);
    tape.enter(path + ".down", "Linear");
    const ValueRef out = product(tape, active, w.down, w.down_bias);
    tape.enter(path, "Layer");
    x = hf::add(tape, x, out);
  }
  tape.enter("head", "Linear");
  const ValueRef logits = product(tape, x, head, std::nullopt);
  tape.enter("", "Model");
  return tape.finish(loss_of(tape, logits, labels), m.batch, m.sequence);
}

/// One attention block: q (and k, v with fewer heads) from the hidden state, fused or unfused attention, output product,
/// residual, head, loss. vocabulary 256.
struct Attention {
  std::int64_t vocabulary = 256, heads = 4, kv_heads = 4, size = 8, batch = 1, sequence = 16;
  int layers = 1;
  bool fused = true;
  bool joined = false;  // q, k, v in one product (needs equal heads)
};

inline OperatorGraph attention_model(const Attention& m) {
  namespace hf = sgsim::import::hf;
  const std::int64_t hidden = m.heads * m.size, kv = m.kv_heads * m.size;
  Tape tape("small attention", false);
  const ValueRef ids = tape.source(NodeKind::input, "ids", {m.batch, m.sequence}, DType::int64);
  const ValueRef labels = tape.source(NodeKind::input, "labels", {m.batch, m.sequence}, DType::int64);
  const auto parameter = [&](const std::string& name, Dims shape) {
    return tape.source(NodeKind::parameter, name, std::move(shape), DType::bfloat16);
  };
  const ValueRef table = parameter("embed.weight", {m.vocabulary, hidden});
  struct Layer { ValueRef q, k, v, qkv, o; };
  std::vector<Layer> layers;
  for (int i = 0; i < m.layers; ++i) {
    const std::string path = "layers." + std::to_string(i) + ".attention.";
    Layer layer;
    if (m.joined) {
      layer.qkv = parameter(path + "qkv.weight", {3 * hidden, hidden});
    } else {
      layer.q = parameter(path + "q.weight", {hidden, hidden});
      layer.k = parameter(path + "k.weight", {kv, hidden});
      layer.v = parameter(path + "v.weight", {kv, hidden});
    }
    layer.o = parameter(path + "o.weight", {hidden, hidden});
    layers.push_back(layer);
  }
  const ValueRef head = parameter("head.weight", {m.vocabulary, hidden});
  tape.enter("embed", "Embedding");
  ValueRef x = hf::embedding(tape, table, ids);
  for (int i = 0; i < m.layers; ++i) {
    const std::string path = "layers." + std::to_string(i) + ".attention";
    const Layer& w = layers[static_cast<std::size_t>(i)];
    tape.enter(path, "Attention");
    const auto heads_of = [&](ValueRef y) {
      const std::int64_t count = tape.shape(y)[2] / m.size;
      return hf::transpose(tape, hf::view(tape, y, {m.batch, m.sequence, count, m.size}), 1, 2);
    };
    ValueRef q, k, v;
    if (m.joined) {
      const auto parts = hf::split(tape, product(tape, x, w.qkv, std::nullopt), hidden, 2);
      q = heads_of(parts[0]), k = heads_of(parts[1]), v = heads_of(parts[2]);
    } else {
      q = heads_of(product(tape, x, w.q, std::nullopt));
      k = heads_of(product(tape, x, w.k, std::nullopt));
      v = heads_of(product(tape, x, w.v, std::nullopt));
    }
    ValueRef context;
    if (m.fused) {
      context = hf::fused_attention(tape, q, k, v, std::nullopt, true, 0.0);
    } else {
      const Dims flat{m.batch * m.heads, m.sequence, m.size};
      const ValueRef scores = hf::bmm(tape, hf::reshape(tape, q, flat), hf::transpose(tape, hf::reshape(tape, k, flat), 1, 2));
      const ValueRef weights = hf::softmax(tape, hf::mul(tape, scores, 0.25));
      context = hf::view(tape, hf::bmm(tape, weights, hf::reshape(tape, v, flat)), {m.batch, m.heads, m.sequence, m.size});
    }
    const ValueRef joined = hf::reshape(tape, hf::transpose(tape, context, 1, 2), {m.batch, m.sequence, hidden});
    const ValueRef out = product(tape, joined, w.o, std::nullopt);
    tape.enter("layers." + std::to_string(i), "Layer");
    x = hf::add(tape, x, out);
  }
  tape.enter("head", "Linear");
  const ValueRef logits = product(tape, x, head, std::nullopt);
  tape.enter("", "Model");
  return tape.finish(loss_of(tape, logits, labels), m.batch, m.sequence);
}

/// GPT blocks without dropout: norm, joined q k v, unfused attention, output product, residual; norm, up (4 hidden), gelu,
/// down, residual. vocabulary 256, everything bfloat16.
struct Gpt {
  std::int64_t heads = 4, size = 8, batch = 2, sequence = 16;
  int layers = 1;
  bool fused = false;
  [[nodiscard]] std::int64_t hidden() const { return heads * size; }
};

inline OperatorGraph gpt_model(const Gpt& m) {
  namespace hf = sgsim::import::hf;
  const std::int64_t h = m.hidden(), vocabulary = 256;
  Tape tape("small gpt", false);
  const ValueRef ids = tape.source(NodeKind::input, "ids", {m.batch, m.sequence}, DType::int64);
  const ValueRef labels = tape.source(NodeKind::input, "labels", {m.batch, m.sequence}, DType::int64);
  std::vector<std::map<std::string, ValueRef>> layers;
  const auto parameter = [&](const std::string& name, Dims shape) {
    return tape.source(NodeKind::parameter, name, std::move(shape), DType::bfloat16);
  };
  const ValueRef table = parameter("embed.weight", {vocabulary, h});
  for (int i = 0; i < m.layers; ++i) {
    std::map<std::string, ValueRef> w;
    const auto add = [&](const std::string& name, Dims shape) { w[name] = parameter("layers." + std::to_string(i) + "." + name, std::move(shape)); };
    for (const char* norm : {"norm1", "norm2"}) add(std::string(norm) + ".weight", {h}), add(std::string(norm) + ".bias", {h});
    add("qkv.weight", {3 * h, h}), add("qkv.bias", {3 * h}), add("o.weight", {h, h}), add("o.bias", {h});
    add("up.weight", {4 * h, h}), add("up.bias", {4 * h}), add("down.weight", {h, 4 * h}), add("down.bias", {h});
    layers.push_back(std::move(w));
  }
  const ValueRef head = parameter("head.weight", {vocabulary, h});
  tape.enter("embed", "Embedding");
  ValueRef x = hf::embedding(tape, table, ids);
  for (int i = 0; i < m.layers; ++i) {
    const std::string path = "layers." + std::to_string(i);
    auto& w = layers[static_cast<std::size_t>(i)];
    const auto norm = [&](ValueRef v, const std::string& name) {
      tape.enter(path + "." + name, "LayerNorm");
      return hf::native_layer_norm(tape, v, w[name + ".weight"], w[name + ".bias"], 1e-5);
    };
    const auto linear = [&](ValueRef v, const std::string& name) {
      tape.enter(path + "." + name, "Linear");
      return product(tape, v, w[name + ".weight"], w[name + ".bias"]);
    };
    const auto parts = hf::split(tape, linear(norm(x, "norm1"), "qkv"), h, 2);
    tape.enter(path + ".attention", "Attention");
    const auto heads_of = [&](ValueRef y) { return hf::transpose(tape, hf::view(tape, y, {m.batch, m.sequence, m.heads, m.size}), 1, 2); };
    const ValueRef q = heads_of(parts[0]), k = heads_of(parts[1]), v = heads_of(parts[2]);
    ValueRef context;
    if (m.fused) {
      context = hf::fused_attention(tape, q, k, v, std::nullopt, true, 0.0);
    } else {
      const Dims flat{m.batch * m.heads, m.sequence, m.size};
      const ValueRef scores = hf::bmm(tape, hf::reshape(tape, q, flat), hf::transpose(tape, hf::reshape(tape, k, flat), 1, 2));
      const ValueRef weights = hf::softmax(tape, hf::mul(tape, scores, 0.25));
      context = hf::view(tape, hf::bmm(tape, weights, hf::reshape(tape, v, flat)), {m.batch, m.heads, m.sequence, m.size});
    }
    const ValueRef joined = hf::reshape(tape, hf::transpose(tape, context, 1, 2), {m.batch, m.sequence, h});
    const ValueRef attended = linear(joined, "o");
    tape.enter(path, "Block");
    x = hf::add(tape, x, attended);
    const ValueRef inner = linear(norm(x, "norm2"), "up");
    tape.enter(path + ".act", "GELU");
    const ValueRef active = hf::gelu(tape, inner, true);
    const ValueRef out = linear(active, "down");
    tape.enter(path, "Block");
    x = hf::add(tape, x, out);
  }
  tape.enter("head", "Linear");
  const ValueRef logits = product(tape, x, head, std::nullopt);
  tape.enter("", "Model");
  return tape.finish(loss_of(tape, logits, labels), m.batch, m.sequence);
}

/// "all_reduce [4, 8] bfloat16 @layers.0.down" of every collective of one phase, in order.
inline std::vector<std::string> collectives(const OperatorGraph& graph, sgsim::graph::Phase phase) {
  std::vector<std::string> lines;
  for (const auto& node : graph.nodes) {
    if (!node.target.starts_with("_c10d_functional.") || node.phase != phase) continue;
    std::string line = node.target.substr(17, node.target.find(".default") - 17);
    const auto& type = node.outputs[0];
    line += " [";
    for (std::size_t i = 0; i < type.shape.size(); ++i) line += (i == 0 ? "" : ", ") + std::to_string(type.shape[i]);
    line += "] " + std::string(to_text(type.dtype));
    lines.push_back(line);
  }
  return lines;
}

/// Shape of a parameter, by name.
inline std::map<std::string, Dims> parameters(const OperatorGraph& graph) {
  std::map<std::string, Dims> shapes;
  for (const auto& node : graph.nodes) {
    if (node.kind == NodeKind::parameter) shapes[node.name] = node.outputs[0].shape;
  }
  return shapes;
}

}  // namespace small
