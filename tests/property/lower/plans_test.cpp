// Every legal combination of parallel plan, recomputation and execution mode, drawn at random: lowering succeeds, the engine
// comes to its end, and what the programs hold, compute and send is what closed forms say.
#include <fmt/format.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>

#include "sim/engine/check/check.h"
#include "sim/engine/engine.h"
#include "sim/lower/lower_segmented.h"
#include "sim/plan/legality.h"
#include "tests/property/lower/closed_forms.h"
#include "tests/property/lower/plan_case.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::testing;
using lower::TaskKind;

namespace {

lower::SegmentedModel segmented(const PlanCase& c) { return lower::segment_model(model_of(c).graph, model_of(c).shape, c.plan, c.training); }

lower::Lowered lowered(const PlanCase& c, const lower::SegmentedModel& model, bool merge = false) {
  const cluster::Cluster cluster = cluster_of(c.plan);
  const lower::ShapeOf shape_of = [&](std::span<const GpuId> members, double concurrent) { return cluster::group_shape(cluster, members, concurrent); };
  return lower::lower_segmented(model, c.plan, c.training, cluster, shape_of, product_costs(), {.merge_lockstep = merge});
}

bool near(double a, double b, double tolerance = 1e-9) { return std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), 1.0}); }

/// Bytes and number of one rank's communications by name.
struct Traffic {
  std::map<std::string, double> bytes;
  std::map<std::string, int> count;
  double of(std::initializer_list<const char*> names) const {
    double sum = 0.0;
    for (const char* name : names) sum += bytes.contains(name) ? bytes.at(name) : 0.0;
    return sum;
  }
  double number(std::initializer_list<const char*> names) const {
    double sum = 0.0;
    for (const char* name : names) sum += count.contains(name) ? count.at(name) : 0;
    return sum;
  }
};
Traffic traffic_of(const lower::Program& program) {
  Traffic traffic;
  for (const lower::Task& task : program.tasks) {
    if (task.kind != TaskKind::collective && task.kind != TaskKind::send && task.kind != TaskKind::receive) continue;
    const lower::Comm& comm = program.comms[task.comm];
    const std::string& name = program.names[comm.name.value];
    traffic.bytes[name] += comm.payload.value();
    ++traffic.count[name];
  }
  return traffic;
}

double flops_of(const lower::Program& program) {
  double sum = 0.0;
  for (const lower::Task& task : program.tasks) {
    if (task.kind != TaskKind::compute) continue;
    const lower::Segment& segment = program.segments[task.segment];
    for (std::uint32_t k = 0; k < segment.kernel_count; ++k) sum += program.kernels[segment.first_kernel + k].estimate.flops.value();
  }
  return sum;
}

bool fully_sharded(const PlanCase& c) { return c.plan.sharding == plan::Sharding::fsdp || c.plan.sharding == plan::Sharding::hybrid; }

/// Bytes an element of parameters, gradients, kept optimizer state (master copy included).
struct ElementBytes {
  double parameter, kept, gradient, optimizer;
};
ElementBytes bytes_of(const PlanCase& c) {
  const double moments = c.training.optimizer == lower::Optimizer::adamw ? 8.0 : 0.0;
  const bool master = !c.training.autocast && !fully_sharded(c);
  return {.parameter = c.training.autocast ? 4.0 : 2.0, .kept = 4.0, .gradient = 4.0, .optimizer = moments + (master ? 4.0 : 0.0)};
}

struct Shards {
  double dense = 1.0, expert = 1.0;
};
Shards shards_of(const PlanCase& c) {
  const double data = c.plan.dp * c.plan.cp;
  switch (c.plan.sharding) {
    case plan::Sharding::ddp: return {1.0, 1.0};
    case plan::Sharding::hybrid: {
      double group = c.plan.fsdp.shard_group > 0 ? c.plan.fsdp.shard_group : std::min(std::max(1, cluster_of(c.plan).node.gpus / (c.plan.tp * c.plan.cp)) * c.plan.cp * 1.0, data);
      return {group, std::max(1.0, group / c.plan.ep)};
    }
    default: return {data, data / c.plan.ep};
  }
}

int stage_of_rank(const PlanCase& c, std::size_t rank) { return static_cast<int>(rank) / (c.plan.tp * c.plan.cp * c.plan.dp); }

/// What does not hold, each with its numbers.
class Problems {
 public:
  void equal(const std::string& what, double found, double expected) {
    if (!near(found, expected)) list.push_back(fmt::format("{}: {:.12g} where {:.12g} is expected", what, found, expected));
  }
  std::vector<std::string> list;
};

/// Bytes of parameters, optimizer state and gradients when the step starts.
void check_memory(const PlanCase& c, const Held& held, const lower::Memory& memory, Problems& problems) {
  const ElementBytes size = bytes_of(c);
  const Shards shards = shards_of(c);
  const double kept = std::ceil(held.dense / shards.dense) + std::ceil(held.expert / shards.expert);
  const auto start = [&](lower::MemoryClass m) { return memory.curve.front().by_class[static_cast<std::size_t>(m)].value(); };
  problems.equal("parameters", start(lower::MemoryClass::parameters), fully_sharded(c) ? kept * size.kept : held.all() * size.parameter);
  problems.equal("optimizer", start(lower::MemoryClass::optimizer), kept * size.optimizer);
  const bool persist = !fully_sharded(c) && (c.plan.dp * c.plan.cp > 1 || !c.training.autocast);
  problems.equal("gradients", start(lower::MemoryClass::gradients), persist ? (c.plan.sharding == plan::Sharding::zero2 ? kept : held.all()) * size.gradient : 0.0);
}

/// Gradients reduced and parameters gathered by data parallelism in one step, over ranks that hold the same.
void check_data_parallel(const PlanCase& c, const Held& held, const Traffic& traffic, Problems& problems) {
  const plan::Plan& p = c.plan;
  const ElementBytes size = bytes_of(c);
  const Shards shards = shards_of(c);
  const auto m = static_cast<double>(p.micro_batches());
  const double data = p.dp * p.cp;
  if (!fully_sharded(c)) {
    const double reduced = (data > 1 ? held.dense : 0.0) + (data / p.ep > 1 ? held.expert : 0.0);
    problems.equal("reduced gradients", traffic.of({"all_reduce gradients", "reduce_scatter gradients"}), reduced * size.gradient * (p.sharding == plan::Sharding::zero2 ? m : 1.0));
    problems.equal("gathered parameters", traffic.of({"all_gather parameters"}), p.sharding == plan::Sharding::ddp ? 0.0 : reduced * size.parameter);
    return;
  }
  const bool each = c.training.stack.fsdp_reduce_each_micro_batch && p.pp == 1;
  const double divided = (shards.dense > 1 ? held.dense : 0.0) + (shards.expert > 1 ? held.expert : 0.0);
  problems.equal("scattered gradients", traffic.of({"reduce_scatter unit", "reduce_scatter root", "reduce_scatter experts"}), divided * size.gradient * (each ? m : 1.0));
  const bool copies = p.sharding == plan::Sharding::hybrid && data > shards.dense;
  problems.equal("gradients reduced over copies", traffic.of({"all_reduce replicas"}),
                 copies ? (held.dense / shards.dense + held.expert / shards.expert) * size.gradient * (each ? m : 1.0) : 0.0);
}

/// Sends and receives of a stage's chunks, and sums over stages and tensor ranks.
void check_model_parallel(const PlanCase& c, int stage, const Held& held, const Traffic& traffic, Problems& problems) {
  const plan::Plan& p = c.plan;
  const ElementBytes size = bytes_of(c);
  const double dense_shards = fully_sharded(c) ? shards_of(c).dense : 1.0;
  int messages = 0;
  for (int v = 0; v < p.virtual_stages; ++v) messages += (v * p.pp + stage + 1 < p.pp * p.virtual_stages ? 1 : 0) + (v * p.pp + stage > 0 ? 1 : 0);
  const double expected = p.pp > 1 ? static_cast<double>(messages * p.micro_batches()) : 0.0;
  problems.equal("sends", traffic.number({"send activation", "send gradient"}), expected);
  problems.equal("receives", traffic.number({"receive activation", "receive gradient"}), expected);
  problems.equal("tied tables", traffic.of({"all_reduce tied embedding"}), held.tied / dense_shards * size.gradient);
  problems.equal("gradients of whole parameters under sequence parallelism", traffic.of({"all_reduce sequence-parallel gradients"}),
                 p.sequence_parallel ? held.replicated / dense_shards * size.gradient : 0.0);
}

void check_engine(const lower::Workload& workload, Problems& problems) {
  engine::check_workload(workload);
  const timeline::Timeline folded = engine::run_fast(engine::fold(workload), {});
  const timeline::Timeline full = engine::run_fast(engine::unfolded(workload), {});
  problems.equal("folded step", folded.step_time.value(), full.step_time.value());
  if (folded.step_time.value() <= 0.0) problems.list.push_back("no step time");
}

std::vector<std::string> problems_of(const PlanCase& c) {
  Problems problems;
  try {
    const lower::Lowered low = lowered(c, segmented(c));
    double flops = 0.0;
    for (const lower::RankBinding& rank : low.workload.ranks) flops += flops_of(low.workload.programs[rank.program.value]);
    problems.equal("product flops", flops, product_flops(c));
    for (std::size_t r = 0; r < low.workload.ranks.size(); ++r) {
      const std::uint32_t program = low.workload.ranks[r].program.value;
      const int stage = stage_of_rank(c, r);
      const Held held = held_by(c, stage);
      const Traffic traffic = traffic_of(low.workload.programs[program]);
      check_memory(c, held, low.memory[program], problems);
      check_data_parallel(c, held, traffic, problems);
      check_model_parallel(c, stage, held, traffic, problems);
      if (!problems.list.empty()) break;
    }
    check_engine(low.workload, problems);
  } catch (const std::exception& e) {
    problems.list.push_back(fmt::format("threw: {}", e.what()));
  }
  return problems.list;
}

std::vector<std::string> collective_problems(const PlanCase& c) {
  const lower::SegmentedModel model = segmented(c);
  const lower::ModelSegment& layer = model.segments[model.order[model.order.size() / 2]];
  static constexpr const char* kOps[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"};
  std::map<std::string, int> counts, expected = layer_collectives(c);
  for (const auto& [pass, kernels] : {std::pair{"forward ", &layer.forward}, {"recompute ", &layer.recompute}, {"backward ", &layer.backward}}) {
    for (const compile::Kernel& kernel : *kernels) {
      if (kernel.is_communication) ++counts[std::string(pass) + (kernel.communication.group == "cp" ? "cp " : "") + kOps[static_cast<int>(kernel.communication.op)]];
    }
  }
  Problems problems;
  for (const auto& [name, count] : counts) expected[name] += 0;
  for (const auto& [name, count] : expected) problems.equal(name, counts[name], count);
  return problems.list;
}

void require_none(const PlanCase& c, const std::vector<std::string>& problems) {
  RC_LOG() << to_text(c) << "\n";
  for (const std::string& problem : problems) RC_LOG() << problem << "\n";
  RC_ASSERT(problems.empty());
}

}  // namespace

TEST_CASE("every legal plan of generated models lowers, runs and holds what closed forms say") {
  CHECK(rc::check([] {
    const PlanCase c = draw_case(false);
    require_none(c, problems_of(c));
  }));
}

TEST_CASE("plans of captured models lower, run and hold what closed forms say") {
  int left = 12;  // real graphs take longer; the other draws of a run pass by
  CHECK(rc::check([&left] {
    if (left-- <= 0) return;
    const PlanCase c = draw_case(true);
    require_none(c, problems_of(c));
  }));
}

TEST_CASE("collectives of a layer are the literature's") {
  CHECK(rc::check([] {
    const PlanCase c = draw_case(false);
    RC_PRE(c.family != Family::mixtral && c.plan.tp * c.plan.cp > 1);
    require_none(c, collective_problems(c));
  }));
}

// Not a test: every kind of difference, how often, and one example of each. SURVEY_CAPTURED=1: captured graphs.
TEST_CASE("survey of plans", "[.survey]") {
  std::map<std::string, std::pair<int, std::string>> kinds;
  int cases = 0;
  (void)rc::check([&] {
    const PlanCase c = draw_case(std::getenv("SURVEY_CAPTURED") != nullptr);
    ++cases;
    auto problems = problems_of(c);
    if (c.family != Family::mixtral && c.plan.tp * c.plan.cp > 1) {
      for (const std::string& p : collective_problems(c)) problems.push_back("collectives: " + p);
    }
    for (const std::string& p : problems) {
      auto& [count, example] = kinds[p.substr(0, p.find(": ")) + fmt::format(", family {}, sharding {}, recompute {}", static_cast<int>(c.family), static_cast<int>(c.plan.sharding), static_cast<int>(c.plan.recompute))];
      if (++count == 1 || to_text(c).size() < example.size()) example = to_text(c) + "\n    " + p;
    }
  });
  std::printf("%d cases\n", cases);
  for (const auto& [kind, entry] : kinds) std::printf("%5d %s\n    %s\n", entry.first, kind.c_str(), entry.second.c_str());
}
