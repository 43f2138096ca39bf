#include "sim/scenario/remedies.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/units_text.h"
#include "sim/lower/lower.h"
#include "sim/scenario/text_table.h"

namespace sgsim::scenario {

std::vector<Remedy> memory_remedies(const Scenario& scenario, InputCache& cache, std::size_t most) {
  std::vector<Remedy> remedies;
  for (const Variant& variant : memory_variants_of(scenario)) {
    if (remedies.size() == most) break;
    try {
      const Scenario changed = with(scenario, variant);
      const Inputs inputs = cache.load(changed);
      const auto lowered = lower::lower({*inputs.graph, inputs.shape, changed.plan, changed.training, changed.cluster, *inputs.profile});
      const auto* legal = std::get_if<lower::Lowered>(&lowered);
      if (legal == nullptr) continue;
      Bytes reserved;
      for (const lower::Memory& memory : legal->memory) reserved = std::max(reserved, memory.reserved);
      if (reserved <= changed.cluster.node.gpu.memory) remedies.push_back({variant, reserved});
    } catch (const InputError&) {
      continue;  // a variant whose numbers the reader refuses is no remedy
    } catch (const InternalError&) {
      continue;  // nor is one that meets a bug of ours; the scenario's own result must still be printed
    }
  }
  return remedies;
}

std::string text_report(const std::vector<Remedy>& remedies) {
  if (remedies.empty()) return "nothing that was tried fits (sharding, recompute, micro-batch, tensor and pipeline parallel, singly and in pairs): use more or larger GPUs\n";
  TextTable table("lrl");
  table.row({"what would fit", "memory", "try it"});
  for (const Remedy& r : remedies) table.row({"  " + r.variant.name, to_text(r.reserved), flags_text(r.variant)});
  return table.text();
}

}  // namespace sgsim::scenario
