#include "sim/import/hf_config/hf_config.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/core/error.h"
#include "sim/core/text_file.h"
#include "sim/import/hf_config/config.h"
#include "sim/import/hf_config/families.h"

namespace sgsim::import {
namespace {

constexpr std::size_t kLargestConfig = std::size_t{64} << 20;  // bytes; the largest config.json known is some kilobytes

void check_options(const hf::Config& config, const GenerateOptions& options) {
  const auto fail = [](std::string where, std::string found, std::string expected) {
    throw InputError({.file = "", .where = std::move(where), .found = std::move(found), .expected = std::move(expected), .hint = ""});
  };
  if (options.micro_batch < 1) fail("$.plan.micro_batch", fmt::format("micro-batch {}", options.micro_batch), "at least one sample");
  if (options.sequence < 1) fail("$.model.sequence", fmt::format("sequence {}", options.sequence), "at least one token a sample");
  const auto size = [](std::int64_t value) { return static_cast<double>(value); };
  const double tokens = size(options.micro_batch) * size(options.sequence);
  const double widest = size(std::max({config.vocab, config.hidden * 3, config.ffn, config.heads * config.head_dim}));
  const double scores = tokens * size(config.heads) * size(options.sequence);
  if (std::max(tokens * widest, scores) > 1e15) {
    fail("$.plan.micro_batch x $.model.sequence", fmt::format("micro-batch {} of {} tokens, an activation of {:.1e} elements", options.micro_batch, options.sequence, std::max(tokens * widest, scores)),
         "activations of at most 1e15 elements");
  }
  const bool learned = config.family == hf::Family::gpt2 || config.family == hf::Family::bert;
  if (learned && options.sequence > config.max_positions) {
    fail("$.model.sequence", std::to_string(options.sequence), fmt::format("at most the model's {} learned positions", config.max_positions));
  }
}

}  // namespace

HfModel parse_hf_config(std::string_view json, const std::string& file) {
  const hf::Config config = hf::parse_config(json, file);
  HfModel model;
  model.family = to_text(config.family);
  model.config_json = json;
  model.left_out = config.left_out;
  model.shape = {.layers = config.layers,
                 .hidden = config.hidden,
                 .heads = config.heads,
                 .kv_heads = config.kv_heads,
                 .ffn = config.ffn,
                 .vocab = config.vocab,
                 .sequence = config.max_positions,
                 .experts = config.experts};
  return model;
}

HfModel read_hf_config(const std::string& path) { return parse_hf_config(read_text_file(path, kLargestConfig), path); }

graph::OperatorGraph generate_graph(const HfModel& model, const GenerateOptions& options) {
  const hf::Config config = hf::parse_config(model.config_json, "config.json");
  check_options(config, options);
  hf::Tape tape(model.family, options.autocast);
  constexpr std::size_t kNodesALayer = 320;  // more than any family needs with flash attention
  tape.reserve(kNodesALayer * static_cast<std::size_t>(std::min<std::int64_t>(config.layers + 1, 1000)));
  hf::Model built{.tape = tape, .config = config, .options = options};
  graph::ValueRef loss;
  switch (config.family) {
    case hf::Family::llama:
    case hf::Family::mixtral: loss = build_llama(built); break;
    case hf::Family::gpt2: loss = build_gpt2(built); break;
    case hf::Family::bert: loss = build_bert(built); break;
  }
  return tape.finish(loss, options.micro_batch, options.sequence);
}

}  // namespace sgsim::import
