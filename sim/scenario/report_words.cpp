#include <fmt/format.h>

#include "sim/core/units_text.h"
#include "sim/scenario/labels.h"
#include "sim/scenario/names.h"
#include "sim/scenario/json_reader.h"
#include "sim/scenario/report.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {

std::string plan_text(const plan::Plan& p) {
  std::string text = fmt::format("dp {}", p.dp);
  if (p.sharding != plan::Sharding::ddp || p.dp > 1) text += fmt::format(" ({})", name_of<plan::Sharding>(words::kSharding, p.sharding));
  if (p.tp > 1) text += fmt::format(", tp {}{}", p.tp, p.sequence_parallel ? " with sequence parallel" : "");
  if (p.pp > 1) text += fmt::format(", pp {} ({})", p.pp, name_of<plan::Schedule>(words::kSchedule, p.schedule));
  if (p.virtual_stages > 1) text += fmt::format(" of {} chunks", p.virtual_stages);
  if (p.cp > 1) text += fmt::format(", cp {}", p.cp);
  if (p.ep > 1) text += fmt::format(", ep {}", p.ep);
  const std::int64_t n = p.micro_batches();
  if (p.micro_batch * p.dp * n != p.global_batch) {  // a broken rule; the report says which
    return text + fmt::format("; global batch {}, micro-batches of {} x dp; recompute {}", grouped(p.global_batch), p.micro_batch, name_of<plan::Recompute>(words::kRecompute, p.recompute));
  }
  return text + fmt::format("; global batch {} = {} micro-batch{} of {} x dp; recompute {}", grouped(p.global_batch), grouped(n), n == 1 ? "" : "es",
                            p.micro_batch, name_of<plan::Recompute>(words::kRecompute, p.recompute));
}

std::string mfu_formula(const Result& r) {
  return fmt::format("{} / ({} x {} GPUs x {}); recomputation not counted{}",
                     to_text(r.model_flops), to_text(r.step_time), r.gpus, to_text(r.peak_rate),
                     r.attention_flops.empty() ? "" : ", " + r.attention_flops);
}

std::string sources_text(const SourceShares& shares) {
  std::string text;
  for (std::size_t s = 0; s < kSources; ++s) {
    if (shares.share[s] < 0.0005) continue;
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", label(static_cast<cost::Source>(s)), 100.0 * shares.share[s]);
  }
  return text.empty() ? "-" : text;
}

}  // namespace sgsim::scenario
