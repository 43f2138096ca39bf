#include <map>

#include "sim/lower/binding/layout.h"
#include "sim/lower/data_parallel/buckets.h"
#include "sim/lower/data_parallel/multi_tensor.h"
#include "tests/support/catch.h"
#include "tests/unit/lower/program_fake_model.h"
#include "tests/unit/lower/program_reference_engine.h"

using namespace sgsim;
using namespace sgsim::lower;

namespace {

plan::Plan data_parallel(int dp, int micro_batches, plan::Sharding sharding = plan::Sharding::ddp) {
  plan::Plan p;
  p.dp = dp;
  p.sharding = sharding;
  p.global_batch = dp * micro_batches;
  return p;
}

struct Span {
  std::string name;
  double start, end;
};

// Tasks that take device time, of rank 0, in microseconds, in order of issue.
std::vector<Span> spans(const Lowered& l) {
  const auto times = reference::simulate(l.workload);
  REQUIRE(times);
  const Program& p = l.workload.programs[l.workload.ranks[0].program.value];
  std::vector<Span> s;
  for (std::size_t t = 0; t < p.tasks.size(); ++t) {
    if (p.tasks[t].device.value() <= 0.0) continue;
    s.push_back({p.names[p.segments[p.tasks[t].segment].name.value], (*times)[0][t].start.value() * 1e6, (*times)[0][t].end.value() * 1e6});
  }
  return s;
}

std::string text(const std::vector<Span>& spans, bool communication) {
  std::string s;
  for (const Span& x : spans) {
    const bool comm = x.name.find("_") != std::string::npos;
    if (comm == communication) s += fmt::format("{}{:.0f}-{:.0f}", s.empty() ? "" : " ", x.start, x.end);
  }
  return s;
}

// Forward 10 us, backward 20 us, 1,000 fp32 parameters (4,000 bytes: 4 us on the wire) a layer.
const fake::LayerSizes kLayer{.forward_us = 10.0, .backward_us = 20.0, .parameters = 1000, .boundary = 0.0, .saved = 0.0};

std::map<std::string, int> collectives(const Lowered& l) {
  std::map<std::string, int> count;
  const Program& p = l.workload.programs[0];
  for (const Task& t : p.tasks) {
    if (t.kind == TaskKind::collective) ++count[p.names[p.comms[t.comm].name.value]];
  }
  return count;
}

}  // namespace

// Three tensors of 100 elements become complete in the order 2, 1, 0. First bucket 300 bytes: closed by tensor 2 (400
// bytes); then 800 bytes: tensors 1 and 0.
TEST_CASE("buckets fill in the order in which gradients become complete") {
  const ParameterShard shard{.name = "w", .elements = 100, .dtype = graph::DType::float32, .tensor_sharded = false, .expert = false, .used_at = 0, .ready_at = 0};
  std::vector<OwnedParameter> parameters;
  for (std::uint32_t i = 0; i < 3; ++i) parameters.push_back({.shard = &shard, .position = i, .ready_at = 1, .tied_elsewhere = false});
  const auto buckets = make_buckets(parameters, graph::DType::float32, Bytes(800), Bytes(300));
  REQUIRE(buckets.size() == 2);
  CHECK(buckets[0].parameters == std::vector<std::uint32_t>{2});
  CHECK(buckets[0].position == 2);
  CHECK(buckets[1].parameters == std::vector<std::uint32_t>{1, 0});
  CHECK(buckets[1].position == 0);
  CHECK(buckets[1].elements == 200.0);
  CHECK(make_buckets(parameters, graph::DType::float32, Bytes(), Bytes(300)).size() == 1);
}

// Three layers, a bucket each. Forward to 30, backward 30-50-70-90; a bucket's 4 us run beside the next layer's
// backward; the last is exposed: 90-94.
TEST_CASE("DDP overlaps buckets with the backward pass") {
  plan::Plan p = data_parallel(2, 1);
  p.buckets.bucket = Bytes(4000);
  const auto s = spans(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs()));
  CHECK(text(s, false) == "0-30 30-50 50-70 70-90");
  CHECK(text(s, true) == "50-54 70-74 90-94");
}

// Without overlap everything follows the backward pass: 90-94-98-102; with one bucket 90-102.
TEST_CASE("DDP without overlap reduces at the end, once a step") {
  plan::Plan p = data_parallel(2, 2);
  p.buckets = {.bucket = Bytes(4000), .overlap = false};
  const Lowered l = fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs());
  CHECK(text(spans(l), true) == "180-184 184-188 188-192");
  p.buckets.bucket = Bytes();
  CHECK(text(spans(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs())), true) == "180-192");
}

// torch.compile cuts at three buckets: the host calls each piece forward and backward, in both micro-batches, where a dispatch costs anything.
// Uncut, it calls none apart, and the reductions follow the backward pass as without overlap.
TEST_CASE("compiled DDP is called piece by piece, or reduces after its whole graph") {
  plan::Plan p = data_parallel(2, 2);
  p.buckets.bucket = Bytes(4000);
  Training t = fake::bare();
  t.execution = compile::Execution::compiled;
  const auto calls = [](const Lowered& l) {
    const Program& program = l.workload.programs[0];
    return std::count_if(program.tasks.begin(), program.tasks.end(), [&](const Task& task) { return program.names[program.segments[task.segment].name.value] == "call compiled piece"; });
  };
  TaskCosts costs = fake::costs();
  const auto lowered = [&] { return fake::lowered(fake::chain(3, kLayer), p, t, fake::gpus(1, 2), costs); };
  CHECK(calls(lowered()) == 0);
  costs.eager.host_per_operator = Seconds(1e-9);
  CHECK(calls(lowered()) == 2 * 2 * 3);
  t.stack.ddp_cuts_graph = false;
  CHECK(calls(lowered()) == 0);
  costs.eager.host_per_operator = Seconds();
  CHECK(text(spans(lowered()), true) == "180-184 184-188 188-192");
  t.stack = {};
  t.execution = compile::Execution::eager;
  CHECK(calls(lowered()) == 0);
}

TEST_CASE("gradients are reduced with the last micro-batch only; ZeRO-2 reduces in each") {
  plan::Plan p = data_parallel(2, 3);
  p.buckets.bucket = Bytes(4000);
  CHECK(collectives(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs())) == std::map<std::string, int>{{"all_reduce gradients", 3}});
  p.sharding = plan::Sharding::zero1;
  CHECK(collectives(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs())) ==
        std::map<std::string, int>{{"reduce_scatter gradients", 3}, {"all_gather parameters", 3}});
  p.sharding = plan::Sharding::zero2;
  CHECK(collectives(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs())) ==
        std::map<std::string, int>{{"reduce_scatter gradients", 9}, {"all_gather parameters", 3}});
}

// Three units of one layer, prefetch 1, gathered in fp32 (4 us each). Forward: gathers run ahead: 0-4, 4-8, and the third once
// unit 0 has been copied out (at 4): 8-12. Compute 4-14-24-34. Backward: the last unit is gathered again (nothing to wait for: at 34 the
// host has long issued it; FSDP2 prefetches it when the backward pass begins, but it may not run before unit 2 was
// copied out at 24): here it follows the third gather at 12.
TEST_CASE("FSDP gathers ahead and reduces behind") {
  plan::Plan p = data_parallel(2, 1, plan::Sharding::fsdp);
  p.fsdp.prefetch = 1;
  const Lowered l = fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs());
  const auto s = spans(l);
  CHECK(text(s, false) == "4-14 14-24 24-34 34-54 54-74 74-94");
  CHECK(collectives(l) == std::map<std::string, int>{{"all_gather unit", 6}, {"reduce_scatter unit", 3}});
  CHECK(s.back().end == Approx(98.0));  // the last unit's gradients: 94-98
}

// prefetch 0: a gather starts when the unit before it has run: 4 us exposed before each of the three forward and three backward passes, and
// after the last.
TEST_CASE("FSDP without prefetch exposes every gather") {
  plan::Plan p = data_parallel(2, 1, plan::Sharding::fsdp);
  p.fsdp.prefetch = 0;
  const auto s = spans(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs()));
  CHECK(text(s, false).rfind("4-14 18-28 32-42 46-66", 0) == 0);
}

TEST_CASE("FSDP keeps units after forward where it is told to") {
  plan::Plan p = data_parallel(2, 2, plan::Sharding::fsdp);
  p.fsdp.reshard_after_forward = false;
  CHECK(collectives(fake::lowered(fake::chain(3, kLayer), p, fake::bare(), fake::gpus(1, 2), fake::costs())) ==
        std::map<std::string, int>{{"all_gather unit", 6}, {"reduce_scatter unit", 6}});
  Training t = fake::bare();
  t.stack.fsdp_reduce_each_micro_batch = false;
  CHECK(collectives(fake::lowered(fake::chain(3, kLayer), p, t, fake::gpus(1, 2), fake::costs())) ==
        std::map<std::string, int>{{"all_gather unit", 6}, {"reduce_scatter unit", 3}});
}

// Layers of 1,000 frozen and 100 trained elements between a frozen embedding and head, on 2 GPUs.
TEST_CASE("frozen parameters are gathered and kept, without gradients and optimizer state") {
  const fake::LayerSizes side{.forward_us = 1.0, .backward_us = 1.0, .parameters = 10};
  SegmentedModel m = fake::chain(3, kLayer, &side, &side);
  for (ModelSegment& segment : m.segments) segment.parameters[0].trained = false;
  m.segments[0].parameters.push_back({.name = "adapter", .elements = 100, .dtype = graph::DType::float32, .tensor_sharded = true, .expert = false, .trained = true, .used_at = 0, .ready_at = 0});
  Training t = fake::bare();
  t.optimizer = Optimizer::adamw;
  t.stack.gradient_bucket_view = true;
  const auto kept = [&](const Lowered& l, MemoryClass c) { return l.memory[0].curve.back().by_class[static_cast<std::size_t>(c)].value(); };  // when the step ends
  for (const plan::Sharding sharding : {plan::Sharding::ddp, plan::Sharding::zero1, plan::Sharding::zero2, plan::Sharding::fsdp}) {
    INFO(static_cast<int>(sharding));
    const Lowered l = fake::lowered(m, data_parallel(2, 1, sharding), t, fake::gpus(1, 2), fake::costs());
    const bool sharded = sharding == plan::Sharding::fsdp, divided = sharding != plan::Sharding::ddp;
    CHECK(kept(l, MemoryClass::parameters) == 4.0 * (2 * 10 + 3 * 1100) / (sharded ? 2 : 1));
    CHECK(kept(l, MemoryClass::optimizer) == 8.0 * 300 / (divided ? 2 : 1));
    if (sharded) {
      CHECK(collectives(l) == std::map<std::string, int>{{"all_gather root", 2}, {"all_gather unit", 6}, {"reduce_scatter unit", 3}});
    } else {
      CHECK(kept(l, MemoryClass::gradients) == 4.0 * 300 / (sharding == plan::Sharding::zero2 ? 2 : 1));
    }
  }
}

TEST_CASE("units of two layers, and the root around them") {
  const fake::LayerSizes side{.forward_us = 1.0, .backward_us = 1.0, .parameters = 10};
  plan::Plan p = data_parallel(4, 1, plan::Sharding::fsdp);
  p.fsdp.layers_per_unit = 2;
  const SegmentedModel m = fake::chain(3, kLayer, &side, &side);
  Training t = fake::bare();
  t.stack.fsdp_root_reshards = false;
  CHECK(collectives(fake::lowered(m, p, t, fake::gpus(1, 4), fake::costs())) ==
        std::map<std::string, int>{{"all_gather root", 1}, {"all_gather unit", 4}, {"reduce_scatter root", 1}, {"reduce_scatter unit", 2}});
}

// Hybrid shard on 2 nodes of 2: gathers and reduce-scatters inside a node, then each shard (half a unit: 2,000 bytes) is reduced
// over the two copies.
TEST_CASE("hybrid shard reduces over the copies") {
  const plan::Plan p = data_parallel(4, 1, plan::Sharding::hybrid);
  const Lowered l = fake::lowered(fake::chain(2, kLayer), p, fake::bare(), fake::gpus(2, 2), fake::costs());
  CHECK(collectives(l) == std::map<std::string, int>{{"all_gather unit", 4}, {"reduce_scatter unit", 2}, {"all_reduce replicas", 2}});
  const Program& program = l.workload.programs[0];
  for (const Comm& c : program.comms) {
    const bool replicas = program.names[c.name.value] == "all_reduce replicas";
    CHECK(c.payload.value() == (replicas ? 2000.0 : 4000.0));
    CHECK(c.transfer.inter_node == replicas);
  }
}

// _fused_adamw_ on 1.498 billion elements over two ranks: 749 M / (320 * 65,536) = 35.7: 36 launches, as the profiled run
// of llama_1b under FSDP2 shows (validation data set, h200/llama_1b_fsdp2_compile.trace.json.gz).
TEST_CASE("multi-tensor launches") {
  CHECK(multi_tensor_launches(1498482688.0 / 2, 147, 36) == 36);
  CHECK(multi_tensor_launches(147, 147, 110) == 2);
  CHECK(multi_tensor_launches(10, 1, 36) == 1);
}

// 8 data-parallel ranks, experts over 2, groups of 4 that hold everything once. Rank 5 has the odd experts of the second group: rank
// 7 has them too and shares them with it; rank 1 is its copy in the first group (torchtitan's HSDP with expert parallelism).
TEST_CASE("hybrid shard with experts: each group holds all experts once") {
  plan::Plan p;
  p.dp = 8, p.ep = 2, p.sharding = plan::Sharding::hybrid;
  const auto members = [&](Slot slot) {
    std::vector<std::uint32_t> ranks;
    for (const RankId rank : members_of(p, 4, slot, coordinates_of(p, RankId{5}))) ranks.push_back(rank.value);
    return ranks;
  };
  CHECK(members(Slot::expert) == std::vector<std::uint32_t>{4, 5});
  CHECK(members(Slot::expert_data) == std::vector<std::uint32_t>{5, 7});
  CHECK(members(Slot::shard) == std::vector<std::uint32_t>{4, 5, 6, 7});
  CHECK(members(Slot::replicate) == std::vector<std::uint32_t>{1, 5});
  CHECK(leader_of(p, 4, Slot::expert_data, coordinates_of(p, RankId{7})) == RankId{5});
  p.sharding = plan::Sharding::fsdp;
  CHECK(members(Slot::expert_data) == std::vector<std::uint32_t>{1, 3, 5, 7});
}
