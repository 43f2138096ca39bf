// Workload text and CUDA graph dumps, on files small enough to check by hand.
#include "sim/core/error.h"
#include "sim/core/order.h"
#include "sim/import/cuda_graph_dot/cuda_graph_dot.h"
#include "sim/import/cuda_graph_dot/dot.h"
#include "sim/import/simai/simai.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::import;

namespace {

std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}
std::vector<std::string> op_names(const trace::ImportedRun& run) {
  std::vector<std::string> names;
  for (const trace::DeviceOp& op : run.ranks.at(0).device_ops) names.push_back(run.strings.at(op.name));
  return names;
}
std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_of(const trace::ImportedRun& run) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const trace::Edge& edge : run.ranks.at(0).edges) edges.emplace_back(edge.from.index, edge.to.index);
  std::sort(edges.begin(), edges.end());
  return edges;
}

}  // namespace

TEST_CASE("SimAI: two layers, forward then backward") {
  const char* const text =
      "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 all_gpus: 8 pp: 1\n2\n"
      "a -1 100 ALLREDUCE 4096 200 NONE 0 300 ALLREDUCE 64 10\n"
      "b -1 50  NONE 0 60 ALLGATHER_EP 32 1 NONE 0 10\n";
  const trace::ImportedRun run = simai::parse_workload(text, "w.txt");
  CHECK(op_names(run) == std::vector<std::string>{"a forward", "a forward ALLREDUCE", "b forward", "b input gradient", "b input gradient ALLGATHER_EP",
                                                  "b weight gradient", "a input gradient", "a weight gradient", "a weight gradient ALLREDUCE"});
  // Computation then its transfer; a blocking transfer before the next computation; the weight gradient's does not block.
  CHECK(edges_of(run) == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {1, 2}, {3, 4}, {4, 5}, {7, 8}});
  REQUIRE(run.ranks[0].collectives.size() == 3);
  CHECK(run.groups[run.ranks[0].collectives[0].group].size == 2);  // tensor
  CHECK(run.strings.at(run.groups[run.ranks[0].collectives[1].group].name) == "ep");
  CHECK(run.groups[run.ranks[0].collectives[2].group].size == 4);  // 8 GPUs / 2
  CHECK(run.ranks[0].collectives[2].bytes == 64.0);
  CHECK(run.ranks[0].device_ops[0].start == trace::kNoTime);
  CHECK(count_of(run.report, "import.simai.collectives.all_reduce") == 2);
}

TEST_CASE("SimAI: odd lines") {
  CHECK_THROWS_AS(simai::parse_workload("DATA\n1\na -1 x NONE 0 1 NONE 0 1 NONE 0 1\n", "w"), InputError);
  CHECK_THROWS_AS(simai::parse_workload("DATA\n1\na -1 1 NONE\n", "w"), InputError);
  CHECK_THROWS_AS(simai::parse_workload("DATA\nmany\n", "w"), InputError);
  CHECK_THROWS_AS(simai::parse_workload("DATA\n99999999999\n", "w"), InputError);
  CHECK_THROWS_AS(simai::parse_workload("DATA\n0\n", "w"), InputError);
  const trace::ImportedRun run = simai::parse_workload("DATA\n7\na -1 1 NONE 0 1 NONE 0 1 GOSSIP 0 1\n", "w");
  CHECK(count_of(run.report, "import.simai.layer_count") == 1);
  CHECK(count_of(run.report, "import.simai.unknown_communication") == 1);
}

TEST_CASE("AICB lists keep order, sizes and measured times") {
  const char* const text =
      "[rank0 ~ rank7]\ncomm_type,comm_group,comm_group_size,msg_size,stage,dst,src,additional,_elapsed_time,algbw,busbw,count\n"
      "CommType.all_reduce,CommGroup.tp_group,2,1024,forward,None,None,,0.5,0,0,1\n"
      "CommType.barrier,CommGroup.all,None,None,init,None,None,,None,0,0,1\n"
      "broken,line\nCommType.epoch_end,,,,,,,,,,,\n";
  const trace::ImportedRun run = simai::parse_list(text, "l.csv");
  REQUIRE(run.ranks[0].collectives.size() == 2);
  CHECK(run.ranks[0].device_ops[0].duration == 500'000);
  CHECK(run.ranks[0].collectives[1].bytes == -1.0);
  CHECK(edges_of(run) == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}});
  CHECK(count_of(run.report, "import.simai.broken_line") == 1);
  CHECK(count_of(run.report, "import.simai.epoch_end") == 1);
}

TEST_CASE("CUDA graph dump: kernels, a copy, a child graph in place of its node") {
  // k0 -> child{ k2 -> k3 } -> k4, and an event node between k0 and the copy.
  const char* const text = R"(digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="bold" shape="record" label="{KERNEL
| {ID | 0 (topoId: 4) | _Z3addPf\<\<\<{8,32},128,0\>\>\>}
| {priority | 0}
}"];
"graph_1_node_1"[style="solid" shape="rectangle" label="{CHILD_GRAPH
| {ID | 1}
}"];
subgraph cluster_2 {
label="graph_2" graph[style="dashed"];
"graph_2_node_0"[style="bold" shape="octagon" label="0
mul\<\<\<4,256,0\>\>\>"];
"graph_2_node_1"[style="bold" shape="octagon" label="1
sub\<\<\<4,256,0\>\>\>"];
"graph_2_node_0" -> "graph_2_node_1";
}
"graph_1_node_2"[label="{KERNEL| {ID | 2 | last\<\<\<1,1,0\>\>\>}}"];
"graph_1_node_3"[label="EVENT_RECORD"];
"graph_1_node_4"[label="{
MEMCPY
| {{ID | node handle} | {2 (topoId: 1) | 0x0}}
| {kind | DtoH (DEVICE to HOST PAGEABLE)}
| {Extent | {{Width | 4096} | {Height | 2} | {Depth | 1}}}
}"];
"graph_1_node_0" -> "graph_1_node_1" [headlabel=0];
"graph_1_node_1" -> "graph_1_node_2" [headlabel=0];
"graph_1_node_0" -> "graph_1_node_3" -> "graph_1_node_4";
}
}
)";
  const trace::ImportedRun run = cuda_graph_dot::parse(text, "g.dot");
  CHECK(op_names(run) == std::vector<std::string>{"_Z3addPf", "mul", "sub", "last", "MEMCPY DtoH"});
  CHECK(run.ranks[0].device_ops[0].blocks == 256);
  CHECK(run.ranks[0].device_ops[4].bytes == 8192.0);
  CHECK(run.ranks[0].device_ops[4].kind == trace::DeviceKind::copy);
  CHECK(edges_of(run) == std::vector<std::pair<std::uint32_t, std::uint32_t>>{{0, 1}, {0, 3}, {0, 4}, {1, 2}, {2, 3}});
  CHECK(count_of(run.report, "import.cuda_graph_dot.child_graph") == 1);
  CHECK(count_of(run.report, "import.cuda_graph_dot.passive_node") == 1);
}

// The shape of what PyTorch's CUDAGraph.debug_dump wrote with CUDA 12 (pytorch issue 126753): braces of dimensions escaped, handles and tables.
TEST_CASE("CUDA graph dump as CUDA 12 prints it with all flags") {
  const char* const text = R"(digraph dot {
subgraph cluster_1 {
label="graph_1" graph[style="dashed"];
"graph_1_node_0"[style="solid" shape="record" label="{
MEMSET
| {{ID | node handle | dptr | pitch | value | elementSize | width | height} | {0 (topoId: 2) | 0x00007FC44A2F2FF0 | 0x00007FC46BE00000 | 0 | 0 | 4 | 640 | 2}}}"];

"graph_1_node_1"[style="bold" shape="record" label="{KERNEL
| {ID | 1 (topoId: 1) | ampere_sgemm\<\<\<\{16,10,4\},128,0\>\>\>}
| {{node handle | func handle} | {0x00007FC44A2F36D0 | 0x000000000D55C270}}
| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | {0x0000000000000000 | 0 | 0.000000 | N | N}}
| {cooperative | 0}
| {priority | 0}
}"];

"graph_1_node_2"[style="bold" shape="record" label="{KERNEL
| {ID | 2 (topoId: 0) | reduce_kernel\<\<\<8,\{32,4\},2048\>\>\>}
}"];
"graph_1_node_0" -> "graph_1_node_1" [headlabel=0];
"graph_1_node_1" -> "graph_1_node_2" [headlabel=0];
}
}
)";
  const trace::ImportedRun run = cuda_graph_dot::parse(text, "g.dot");
  const auto& ops = run.ranks.at(0).device_ops;
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].kind == trace::DeviceKind::set);
  CHECK(ops[0].bytes == 4 * 640 * 2);
  CHECK(run.strings.at(ops[1].name) == "ampere_sgemm");
  CHECK(ops[1].blocks == 16 * 10 * 4);
  CHECK(run.strings.at(ops[2].name) == "reduce_kernel");
  CHECK(ops[2].blocks == 8);
  CHECK(run.ranks[0].edges.size() == 2);
}

TEST_CASE("CUDA graph dump: a cycle is named, other digraphs are refused") {
  try {
    (void)cuda_graph_dot::parse("digraph G { a->b; b->c; c->a; c->b; }", "g.dot");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().found == "a cycle of 2 nodes: b -> c -> b");  // shorter than a -> b -> c
  }
  CHECK_THROWS_AS(cuda_graph_dot::parse("digraph G { a->b; }", "g.dot"), InputError);
  for (const char* text : {"digraph", "digraph {", "digraph { a -> }", "digraph { a [label=\"x }", "graph { a }", "digraph { a } b", "digraph {}", "digraph { a [b"}) {
    CHECK_THROWS_AS(cuda_graph_dot::parse(text, "g.dot"), InputError);
  }
}

TEST_CASE("orders: a chain of 100,000, and shortest cycles") {
  Pairs chain;
  for (std::uint32_t i = 1; i < 100'000; ++i) chain.emplace_back(i - 1, i);
  const Order order = order_of(100'000, chain);
  CHECK(order.cycle.empty());
  CHECK(order.order.size() == 100'000);
  CHECK(order.order.back() == 99'999);
  chain.emplace_back(99'999, 0);
  CHECK(order_of(100'000, chain).cycle.size() == 100'000);
  CHECK(order_of(3, {{0, 1}, {1, 2}, {2, 2}}).cycle == std::vector<std::uint32_t>{2});
  CHECK(order_of(0, {}).order.empty());
}
