#include "calibrate/record/program_json.h"

namespace sgsim::calibrate {
namespace {

using nlohmann::json;

std::string text_of(graph::DType dtype) { return std::string(graph::to_text(dtype)); }

graph::DType dtype(cost::StrictObject& o, std::string_view key) {
  const std::string word = o.text(key);
  const auto type = graph::dtype_from_text(word);
  if (!type) o.fail(key, "\"" + word + "\"", "an element type", "");
  return *type;
}

struct Writer {
  json operator()(const graph::Matmul& w) const {
    return {{"kind", "matmul"}, {"batch", w.batch}, {"m", w.m}, {"n", w.n}, {"k", w.k}, {"a_transposed", w.a_transposed}, {"b_transposed", w.b_transposed},
            {"dtype", text_of(w.dtype)}, {"out_dtype", text_of(w.out_dtype)}, {"bias", w.bias}};
  }
  json operator()(const graph::Attention& w) const {
    return {{"kind", "attention"}, {"batch", w.batch}, {"heads", w.heads}, {"kv_heads", w.kv_heads}, {"q_len", w.q_len}, {"kv_len", w.kv_len}, {"head_dim", w.head_dim},
            {"causal", w.causal}, {"dense_mask", w.dense_mask}, {"dtype", text_of(w.dtype)}, {"pass", cost::name_of(w.pass)}};
  }
  json operator()(const graph::Convolution& w) const {
    return {{"kind", "convolution"}, {"batch", w.batch}, {"in_channels", w.in_channels}, {"out_channels", w.out_channels}, {"in_height", w.in_height}, {"in_width", w.in_width},
            {"kernel_height", w.kernel_height}, {"kernel_width", w.kernel_width}, {"stride", w.stride}, {"padding", w.padding}, {"groups", w.groups}, {"dtype", text_of(w.dtype)},
            {"pass", cost::name_of(w.pass)}};
  }
  json operator()(const graph::MemoryBound& w) const {
    return {{"kind", cost::name_of(w.kind)}, {"read_bytes", w.read.value()}, {"written_bytes", w.written.value()}, {"flops", w.flops.value()}};
  }
};

}  // namespace

json write_work(const graph::Work& work) { return std::visit(Writer{}, work); }

graph::Work read_work(cost::StrictObject& o) {
  const std::string kind = o.text("kind");
  const auto size = [&](std::string_view key) { return o.integer(key, 1); };
  if (kind == "matmul") {
    return graph::Matmul{.batch = size("batch"), .m = size("m"), .n = size("n"), .k = size("k"), .a_transposed = o.boolean("a_transposed"), .b_transposed = o.boolean("b_transposed"),
                         .dtype = dtype(o, "dtype"), .out_dtype = dtype(o, "out_dtype"), .bias = o.boolean("bias")};
  }
  if (kind == "attention") {
    return graph::Attention{.batch = size("batch"), .heads = size("heads"), .kv_heads = size("kv_heads"), .q_len = size("q_len"), .kv_len = size("kv_len"), .head_dim = size("head_dim"),
                            .causal = o.boolean("causal"), .dense_mask = o.boolean("dense_mask"), .dtype = dtype(o, "dtype"), .pass = word_of<graph::Pass>(o, "pass")};
  }
  if (kind == "convolution") {
    return graph::Convolution{.batch = size("batch"), .in_channels = size("in_channels"), .out_channels = size("out_channels"), .in_height = size("in_height"), .in_width = size("in_width"),
                              .kernel_height = size("kernel_height"), .kernel_width = size("kernel_width"), .stride = size("stride"), .padding = o.integer("padding", 0), .groups = size("groups"),
                              .dtype = dtype(o, "dtype"), .pass = word_of<graph::ConvolutionPass>(o, "pass")};
  }
  return graph::MemoryBound{.kind = word_of<graph::MemoryKind>(o, "kind"), .read = Bytes(o.number("read_bytes", 0.0)), .written = Bytes(o.number("written_bytes", 0.0)), .flops = Flops(o.number("flops", 0.0))};
}

}  // namespace sgsim::calibrate
