#include "sim/cost/make/parts.h"

#include <algorithm>
#include <cmath>

#include "sim/cost/make/fits.h"
#include "sim/cost/make/robust.h"

namespace sgsim::cost::make {
namespace {

/// The constants of cuDNN's attention on the H200 that was traced.
std::vector<AttentionModel> traced_attention_models(const Traces& traces, double helper_efficiency) {
  Profile h200;
  h200.gpu = datasheet("h200");
  h200.factors["attention.helper_memory_efficiency"] = {helper_efficiency, ""};
  std::vector<AttentionModel> models;
  for (const graph::Pass pass : {graph::Pass::forward, graph::Pass::backward}) {
    for (const bool dense : {false, true}) {
      for (const std::int64_t head_dim : {64, 128}) {
        AttentionModel m{.pass = pass, .dense_mask = dense, .head_dim = head_dim, .efficiency = 0.5, .critical_efficiency = 0.5, .fixed = pass == graph::Pass::forward ? 2.0_us : 4.0_us, .sigma = 0.1, .source = "attention-traced"};
        fit_attention(h200, m, traces.attention);
        models.push_back(m);
      }
    }
  }
  return models;
}

std::vector<Traced<graph::Attention>> table_rows(const AttentionTable& table) {
  std::vector<Traced<graph::Attention>> rows;
  std::size_t i = 0;
  for (const std::int64_t heads : table.batch_heads) {
    for (const std::int64_t length : table.length) {
      const std::int64_t ns = table.time_ns[i++];
      if (ns == 0) continue;
      rows.push_back({.work = {.batch = 1, .heads = heads, .kv_heads = heads, .q_len = length, .kv_len = length, .head_dim = table.head_dim}, .us = static_cast<double>(ns) * 1e-3, .calls = 1});
    }
  }
  return rows;
}

/// A100: FlashAttention 2's published share of the peak in training; how it falls at short lengths from the table of a serving library,
/// whose kernels are slower (0.57 at best); head size 64 and dense masks by ratio.
void carry_attention_to_a100(Profile& p, const AttentionTable& table) {
  const auto is_base = [](const AttentionModel& m) { return m.pass == graph::Pass::forward && !m.dense_mask && m.head_dim == 128; };
  AttentionModel& base = *std::find_if(p.attention_models.begin(), p.attention_models.end(), is_base);
  const double h200_base = base.efficiency;
  fit_attention(p, base, table_rows(table));
  constexpr double kForward = 0.73, kBackward = 0.63, kHead64 = 0.87;
  const double of_blocks = base.critical_efficiency / base.efficiency, dense_over = kForward / h200_base;
  for (AttentionModel& m : p.attention_models) {
    const double rate = (m.pass == graph::Pass::backward ? kBackward : kForward) * (m.head_dim == 64 ? kHead64 : 1.0);
    m.efficiency = m.dense_mask ? m.efficiency * dense_over : rate;
    m.critical_efficiency = m.efficiency * of_blocks;
    m.sigma = 0.15;
    m.source = "attention-carried";
  }
  p.sources["attention-carried"] = {.kind = ProvenanceKind::published, .source = "Dao, FlashAttention-2 (arXiv 2307.08691), abstract and figures 4 to 6: forward up to 73 %, backward up to 63 % of the A100's peak", .machine = "NVIDIA A100-SXM4-80GB", .date = "2023-07",
                                    .software = "FlashAttention 2", .note = "the longest block's share of that rate from vLLM's table of the same GPU (published/kernels.json.gz), whose kernels reach 57 %; head size 64 at 0.87 of 128; dense masks by the H200's ratio (both assumed)"};
}

}  // namespace

void add_attention(Profile& p, const std::string& truth_dir, const Traces& traces) {
  constexpr double kHelpers = 0.55;  // 168 MB of row sums and gradient conversion in 64.6 us (llama_8b_fsdp2_compile)
  p.factors["attention.helper_memory_efficiency"] = {kHelpers, "attention-traced"};
  p.sources["attention-traced"] = traced("cuDNN's fused attention, forward and backward; constants fitted to the shapes of gpt2, llama, mixtral and bert runs");
  p.attention_models = traced_attention_models(traces, kHelpers);
  if (p.name == "h200") return;  // its own traces
  carry_attention_to_a100(p, attention_grid(datasheet("a100-80gb"), read_attention(truth_dir + "/published/kernels.json.gz", "A100-SXM4-80GB", "vllm_flash_attn"), 0.75));
}

}  // namespace sgsim::cost::make
