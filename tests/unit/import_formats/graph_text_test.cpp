// Graphs printed by torch.fx, alone and in TORCH_TRACE logs.
#include "sim/core/error.h"
#include "sim/graph/graph_file.h"
#include "sim/graph/tensor_type.h"
#include "sim/import/fx_text/fx_text.h"
#include "sim/import/torch_trace/torch_trace.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::import;

namespace {

std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}

const char* const kGraph = R"(class GraphModule(torch.nn.Module):
    def forward(
        self,
        arg0_1: "f16[8, 4][4, 1]cuda:0",  # PlainAOTInput(idx=0)
        arg1_1: "f16[2, 4]",
    ):
        # File: x.py:1 in f, code: a = "it's (odd"
        permute: "f16[4, 8][1, 4]cuda:0" = torch.ops.aten.permute.default(arg0_1, [1, 0]);  arg0_1 = None
        mm: "f16[2, 8]" = torch.ops.aten.mm.default(arg1_1, permute);  arg1_1 = permute = None
        convert: "f32[2, 8]" = torch.ops.prims.convert_element_type.default(mm, torch.float32);  mm = None
        var_mean = torch.ops.aten.var_mean.correction(convert, [1], correction = 0, keepdim = True)
        getitem: "f32[2, 1]" = var_mean[0]
        getitem_1: "f32[2, 1]" = var_mean[1];  var_mean = None
        sub = torch.ops.aten.sub.Tensor(convert, getitem_1)
        full: "f32[2]" = torch.ops.aten.full.default([2], -1.5e-05, dtype = torch.float32, device = device(type='cuda', index=0), pin_memory = False)
        return (sub, getitem, full)
)";

}  // namespace

TEST_CASE("a printed graph becomes nodes with types") {
  Diagnostics report;
  const graph::OperatorGraph graph = fx_text::parse(kGraph, "g.py", graph::Phase::forward, report);
  CHECK(graph::to_text(graph) ==
        "input arg0_1: float16[8, 4]\n"
        "input arg1_1: float16[2, 4]\n"
        "permute = aten.permute.default(arg0_1, [1, 0]) -> float16[4, 8] stride [1, 4]\n"
        "mm = aten.mm.default(arg1_1, permute) -> float16[2, 8]\n"
        "convert = prims.convert_element_type.default(mm, torch.float32) -> float32[2, 8]\n"
        "var_mean = aten.var_mean.correction(convert, [1], correction=0, keepdim=true) -> (float32[2, 1], float32[2, 1])\n"
        "sub = aten.sub.Tensor(convert, var_mean[1]) -> float32[2, 8]\n"
        "full = aten.full.default([2], -1.5e-05, device=cuda:0, dtype=torch.float32, pin_memory=false) -> float32[2]\n"
        "return sub\nreturn var_mean\nreturn full\n");
  REQUIRE(graph.outputs.size() == 3);
  CHECK(graph.type(graph.outputs[1]).shape == graph::Dims{2, 1});
  CHECK(count_of(report, "import.fx_text.call") == 6);
  CHECK(count_of(report, "import.fx_text.inferred_type") == 1);       // sub has no annotation
  CHECK(count_of(report, "import.fx_text.placeholder_as_input") == 2);
}

TEST_CASE("annotations") {
  CHECK(graph::to_text(*fx_text::type_of_annotation("bf16[3, 5][1, 3]cuda:0")) == "bfloat16[3, 5] stride [1, 3]");
  CHECK(graph::to_text(*fx_text::type_of_annotation("b8[]")) == "bool[]");
  for (const char* text : {"Sym(s0)", "f32[s0, 4]", "f32[", "f32[-1]", "x9[1]", "", "f32[4 4]", "i64[99999999999999999999]", "f32[1099511627776, 1099511627776]"}) {
    CHECK_FALSE(fx_text::type_of_annotation(text));
  }
}

TEST_CASE("printed graphs that are none are refused") {
  Diagnostics report;
  for (const char* text : {"", "def forward(self):\n", "def forward(self, x):\n return (x,)\n", "def forward(self, x: \"f32[s0]\"):\n return (x,)\n",
                           "def forward(self, x: \"f32[2]\"):\n a: \"f32[2]\" = torch.ops.aten.relu.default(y)\n return (a,)\n",
                           "def forward(self, x: \"f32[2]\"):\n a = x +\n return (a,)\n", "def forward(self, x: \"f32[2]\"):\n a = torch.sin(x)\n return (a,)\n"}) {
    CHECK_THROWS_AS(fx_text::parse(text, "g.py", graph::Phase::forward, report), InputError);
  }
  std::string deep = "def forward(self, x: \"f32[2]\"):\n a = torch.ops.aten.relu.default(" + std::string(100'000, '[') + "\n";
  CHECK_THROWS_AS(fx_text::parse(deep, "g.py", graph::Phase::forward, report), InputError);
}

TEST_CASE("TORCH_TRACE: graphs by rank and compilation, parameters by Dynamo's names, damaged records counted") {
  const std::string head = "V0516 11:47:27.901000 139733 torch/x.py:19] ";
  std::string log = head + "{\"str\": [\"/a.py\", 0]}\n" + head + "{\"broken\n";
  log += head + "{\"dynamo_output_graph\": {}, \"rank\": 3, \"frame_id\": 0, \"frame_compile_id\": 1, \"attempt\": 0, \"has_payload\": \"x\"}\n";
  log += "\tclass GraphModule(torch.nn.Module):\n\t    def forward(self, L_self_modules_lin_parameters_weight_: \"f32[2, 2]\", L_x_: \"f32[2, 2]\"):\n\t        return (L_x_,)\n";
  log += head + "{\"aot_inference_graph\": {}, \"rank\": 3, \"frame_id\": 0, \"frame_compile_id\": 1, \"attempt\": 0, \"has_payload\": \"x\"}\n";
  log += "\tclass <lambda>(torch.nn.Module):\n\t    def forward(self, arg0_1: \"f32[2, 2]\", arg1_1: \"f32[2, 2]\"):\n\t        mm: \"f32[2, 2]\" = torch.ops.aten.mm.default(arg1_1, arg0_1)\n\t        return (mm,)\n";
  log += head + "{\"aot_joint_graph\": {}, \"frame_id\": 1, \"frame_compile_id\": 0}\n\tdef forward(self, a: \"f32[s0]\"):\n\t    return (a,)\n";
  log += "stray\n";
  const ImportedGraphs graphs = torch_trace::parse(log, "t.log");
  REQUIRE(graphs.graphs.size() == 1);
  CHECK(graphs.graphs[0].first == "rank 3 [0/1] aot_inference_graph");
  CHECK(graphs.graphs[0].second.nodes[0].kind == graph::NodeKind::parameter);
  CHECK(graphs.graphs[0].second.nodes[0].name == "L_self_modules_lin_parameters_weight_");
  CHECK(graphs.graphs[0].second.nodes[1].kind == graph::NodeKind::input);
  CHECK(count_of(graphs.report, "import.torch_trace.corrupt_record") == 1);
  CHECK(count_of(graphs.report, "import.torch_trace.unreadable_graph") == 1);
  CHECK(count_of(graphs.report, "import.torch_trace.stray_line") == 1);
  CHECK_THROWS_AS(torch_trace::parse(head + "{\"str\": [\"/a.py\", 0]}\n", "t.log"), InputError);
}

TEST_CASE("TORCH_TRACE: forward and backward become one training graph") {
  // loss = sum(x w): the gradient of w is x^T times ones.
  const std::string head = "V0516 11:47:27.901000 139733 torch/x.py:19] ";
  const std::string frame = "\"frame_id\": 0, \"frame_compile_id\": 0, \"attempt\": 0, \"has_payload\": \"x\"}\n";
  std::string log = head + "{\"dynamo_output_graph\": {}, " + frame;
  log += "\tdef forward(self, L_self_modules_lin_parameters_weight_: \"f32[4, 3]\", L_x_: \"f32[2, 4]\"):\n\t    return (y.sum(),)\n";
  log += head + "{\"aot_forward_graph\": {}, " + frame;
  log += "\tdef forward(self, primals_1: \"f32[4, 3]\", primals_2: \"f32[2, 4]\"):\n\t    mm: \"f32[2, 3]\" = torch.ops.aten.mm.default(primals_2, primals_1)\n"
         "\t    sum_1: \"f32[]\" = torch.ops.aten.sum.default(mm)\n\t    return (sum_1, primals_2)\n";
  log += head + "{\"aot_backward_graph\": {}, " + frame;
  log += "\tdef forward(self, primals_2: \"f32[2, 4]\", tangents_1: \"f32[]\"):\n\t    expand: \"f32[2, 3]\" = torch.ops.aten.expand.default(tangents_1, [2, 3])\n"
         "\t    t: \"f32[4, 2][1, 4]\" = torch.ops.aten.t.default(primals_2)\n\t    mm_1: \"f32[4, 3]\" = torch.ops.aten.mm.default(t, expand)\n\t    return (mm_1, None)\n";
  const ImportedGraphs graphs = torch_trace::parse(log, "t.log");
  INFO((graphs.report.entries().contains("import.torch_trace.not_joined") ? graphs.report.entries().at("import.torch_trace.not_joined").example : std::string()));
  REQUIRE(graphs.graphs.size() == 3);
  CHECK(graphs.graphs[0].first == "training step");
  const graph::OperatorGraph& g = graphs.graphs[0].second;
  CHECK(g.nodes[0].name == "lin.weight");
  CHECK(g.nodes[0].kind == graph::NodeKind::parameter);
  REQUIRE(g.gradients.size() == 1);
  CHECK(g.type(g.gradients.begin()->second).shape == graph::Dims{4, 3});
  CHECK(g.nodes.back().phase == graph::Phase::backward);
}
