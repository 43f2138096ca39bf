#include "sim/import/aot/aot.h"

#include "sim/core/error.h"
#include "sim/graph/graph_file.h"
#include "sim/import/aot/modules.h"
#include "tests/support/catch.h"
#include "tests/unit/import/captured.h"
#include "tests/unit/import/soundness.h"

using namespace sgsim;
using namespace sgsim::import;
using namespace sgsim::import::test;

namespace {

// y = x W^T, loss = mean(y^2), as AOTAutograd writes it; tests change pieces of it.
const std::string kLinear = R"({"model": "linear", "params": [["m.proj.weight", [2, 3], "float32"]], "graphs": [
{"graph": "forward", "nodes": [
 {"name": "primals_1", "op": "placeholder", "target": "primals_1", "args": [], "kwargs": {}, "out": {"shape": [2, 3], "dtype": "float32", "stride": [3, 1]}, "module": null, "seq_nr": null},
 {"name": "primals_2", "op": "placeholder", "target": "primals_2", "args": [], "kwargs": {}, "out": {"shape": [4, 3], "dtype": "float32", "stride": [3, 1]}, "module": null, "seq_nr": null},
 {"name": "t", "op": "call_function", "target": "aten.t.default", "args": [{"node": "primals_1"}], "kwargs": {}, "out": {"shape": [3, 2], "dtype": "float32", "stride": [1, 3]}, "module": ["L['self'].m.proj", "Linear"], "seq_nr": 1},
 {"name": "mm", "op": "call_function", "target": "aten.mm.default", "args": [{"node": "primals_2"}, {"node": "t"}], "kwargs": {}, "out": {"shape": [4, 2], "dtype": "float32", "stride": [2, 1]}, "module": ["L['self'].m.proj", "Linear"], "seq_nr": 2},
 {"name": "pow_1", "op": "call_function", "target": "aten.pow.Tensor_Scalar", "args": [{"node": "mm"}, 2], "kwargs": {}, "out": {"shape": [4, 2], "dtype": "float32", "stride": [2, 1]}, "module": ["L['self'].m", "Model"], "seq_nr": 3},
 {"name": "mean", "op": "call_function", "target": "aten.mean.default", "args": [{"node": "pow_1"}], "kwargs": {}, "out": {"shape": [], "dtype": "float32", "stride": []}, "module": ["L['self'].m", "Model"], "seq_nr": 4},
 {"name": "output", "op": "output", "target": "output", "args": [[{"node": "mean"}, {"node": "primals_2"}, {"node": "mm"}]], "kwargs": {}, "out": null, "module": null, "seq_nr": null}]},
{"graph": "backward", "nodes": [
 {"name": "primals_2", "op": "placeholder", "target": "primals_2", "args": [], "kwargs": {}, "out": {"shape": [4, 3], "dtype": "float32", "stride": [3, 1]}, "module": null, "seq_nr": null},
 {"name": "mm", "op": "placeholder", "target": "mm", "args": [], "kwargs": {}, "out": {"shape": [4, 2], "dtype": "float32", "stride": [2, 1]}, "module": null, "seq_nr": null},
 {"name": "tangents_1", "op": "placeholder", "target": "tangents_1", "args": [], "kwargs": {}, "out": {"shape": [], "dtype": "float32", "stride": []}, "module": null, "seq_nr": null},
 {"name": "expand", "op": "call_function", "target": "aten.expand.default", "args": [{"node": "tangents_1"}, [4, 2]], "kwargs": {}, "out": {"shape": [4, 2], "dtype": "float32", "stride": [0, 0]}, "module": null, "seq_nr": 4},
 {"name": "mul", "op": "call_function", "target": "aten.mul.Tensor", "args": [{"node": "expand"}, {"node": "mm"}], "kwargs": {}, "out": {"shape": [4, 2], "dtype": "float32", "stride": [2, 1]}, "module": null, "seq_nr": 3},
 {"name": "t_1", "op": "call_function", "target": "aten.t.default", "args": [{"node": "mul"}], "kwargs": {}, "out": {"shape": [2, 4], "dtype": "float32", "stride": [1, 2]}, "module": null, "seq_nr": 2},
 {"name": "mm_1", "op": "call_function", "target": "aten.mm.default", "args": [{"node": "t_1"}, {"node": "primals_2"}], "kwargs": {}, "out": {"shape": [2, 3], "dtype": "float32", "stride": [3, 1]}, "module": null, "seq_nr": 2},
 {"name": "output", "op": "output", "target": "output", "args": [[{"node": "mm_1"}, null]], "kwargs": {}, "out": null, "module": null, "seq_nr": null}]}]})";

std::string with(const std::string& from, const std::string& to, std::size_t occurrence = 0) {
  std::size_t at = kLinear.find(from);
  for (std::size_t i = 0; i < occurrence; ++i) at = kLinear.find(from, at + 1);
  REQUIRE(at != std::string::npos);
  return kLinear.substr(0, at) + to + kLinear.substr(at + from.size());
}

std::string problem_of(const std::string& text) {
  try {
    (void)parse_aot_graph(text, "bad.json");
  } catch (const InputError& error) {
    CHECK(error.problem().file == "bad.json");
    return error.problem().where;
  }
  return "accepted";
}

}  // namespace

TEST_CASE("A captured linear layer: forward and backward joined") {
  // The loss's gradient is ones; saved values are the forward nodes; backward nodes take their module by sequence number.
  CHECK(graph::to_text(parse_aot_graph(kLinear, "linear")) ==
        "parameter proj.weight: float32[2, 3]\n"
        "input primals_2: float32[4, 3]\n"
        "t = aten.t.default(proj.weight) -> float32[3, 2] stride [1, 3]  # proj\n"
        "mm = aten.mm.default(primals_2, t) -> float32[4, 2]  # proj\n"
        "pow_1 = aten.pow.Tensor_Scalar(mm, 2) -> float32[4, 2]  #\n"
        "mean = aten.mean.default(pow_1) -> float32[]  #\n"
        "tangents_1 = aten.ones_like.default(mean) -> float32[]  # backward\n"
        "expand = aten.expand.default(tangents_1, [4, 2]) -> float32[4, 2] stride [0, 0]  # backward\n"
        "mul = aten.mul.Tensor(expand, mm) -> float32[4, 2]  # backward\n"
        "t_1 = aten.t.default(mul) -> float32[2, 4] stride [1, 2]  # proj backward\n"
        "mm_1 = aten.mm.default(t_1, primals_2) -> float32[2, 3]  # proj backward\n"
        "return mean\n"
        "gradient proj.weight = mm_1\n");
}

TEST_CASE("Captured graphs of traces/graphs are sound to the last stride") {
  struct Expected {
    std::string name;
    std::size_t parameters, matmuls, attentions, convolutions;
    std::int64_t micro_batch, sequence;
  };
  // Counts: grep of the files; e.g. llama_1b: 16 layers of 7 linear layers + head, three products each, + one rotary.
  const Expected all[] = {{"gpt2_124m_mb1", 148, 3 * (12 * 4 + 1), 24, 0, 1, 1024},
                          {"gpt2_350m", 292, 3 * (24 * 4 + 1), 48, 0, 16, 1024},
                          {"llama_1b", 147, 3 * (16 * 7 + 1) + 1, 32, 0, 2, 4096},
                          {"llama_70b_l1", 12, 3 * (7 + 1) + 1, 2, 0, 1, 4096},
                          {"resnet50", 161, 3, 0, 53 + 2 * 53 - 1, 256, 0}};
  for (const Expected& expected : all) {
    INFO(expected.name);
    const graph::OperatorGraph graph = captured(expected.name);
    CHECK(flaws_of(graph, true) == std::vector<std::string>{});
    CHECK(parameters_of(graph).size() == expected.parameters);
    CHECK(graph.gradients.size() == expected.parameters);
    CHECK(graph::matmuls_of(graph).size() == expected.matmuls);
    CHECK(graph::attentions_of(graph).size() == expected.attentions);
    CHECK(graph::convolutions_of(graph).size() == expected.convolutions);
    CHECK(graph.micro_batch == expected.micro_batch);
    CHECK(graph.sequence == expected.sequence);
    CHECK(graph.type(graph.outputs[0]).shape.empty());
  }
}

TEST_CASE("Parameters get their names by module, role and gradient") {
  const auto gpt2 = parameters_of(captured("gpt2_124m_mb1"));
  CHECK(gpt2.at("transformer.wte.weight").shape == graph::Dims{50304, 768});
  CHECK(gpt2.at("transformer.h.11.attn.c_attn.bias").shape == graph::Dims{2304});
  // Weight and bias of a norm have one shape; the gradient tells them apart: outputs 1 and 2 of the norm's backward.
  for (const auto& [name, suffix, output] : {std::tuple{"gpt2_124m_mb1", "ln_1", 1U}, {"gpt2_350m", "ln_2", 1U}, {"resnet50", "bn2", 1U}}) {
    const graph::OperatorGraph graph = captured(name);
    int checked = 0;
    for (const auto& [parameter, gradient] : graph.gradients) {
      const std::string& full = graph.node(parameter).name;
      if (full.find(suffix) == std::string::npos) continue;
      CHECK(gradient.output == (full.ends_with(".weight") ? output : output + 1));
      ++checked;
    }
    CHECK(checked > 10);
  }
}

TEST_CASE("Running statistics are buffers") {
  const graph::OperatorGraph graph = captured("resnet50");
  std::size_t buffers = 0;
  for (const graph::Node& node : graph.nodes) buffers += node.kind == graph::NodeKind::buffer ? 1 : 0;
  CHECK(buffers == 3 * 53);                      // mean, variance and counter of each batch norm
  CHECK(graph.outputs.size() == 1 + 3 * 53);     // the loss, then their new values
}

TEST_CASE("Backward nodes belong to modules, so that a graph can be cut by layer") {
  for (const std::string name : {"gpt2_124m_mb1", "llama_1b", "llama_70b_l1"}) {
    const graph::OperatorGraph graph = captured(name);
    for (const auto& work : graph::matmuls_of(graph)) {
      CHECK(graph.node(work.node).module.valid());
    }
    int without = 0;
    for (const graph::Node& node : graph.nodes) {
      if (node.kind == graph::NodeKind::call && !node.module.valid()) ++without;
    }
    CHECK(without <= 16);  // the loss that GPT-2's graph break put outside any module
  }
}

TEST_CASE("A captured graph survives the graph file") {
  const graph::OperatorGraph graph = captured("llama_70b_l1");
  CHECK(graph::parse_graph(graph::graph_to_json(graph), "x") == graph);
}

TEST_CASE("Bad captured files name the place") {
  CHECK(problem_of(kLinear) == "accepted");
  CHECK(problem_of(kLinear.substr(0, kLinear.size() / 2)).starts_with("line "));
  CHECK(problem_of("") == "line 1");
  CHECK(problem_of("[1, 2]") == "$");
  CHECK(problem_of("{\"model\": 1, \"params\": [], \"graphs\": []}") == "$.model");
  CHECK(problem_of("{\"model\": \"x\", \"params\": [], \"graphs\": []}") == "$.graphs");  // no loss
  CHECK(problem_of(with("\"params\"", "\"parameters\"")) == "$.parameters");
  CHECK(problem_of(with("[2, 3], \"float32\"", "[2, -3], \"float32\"")) == "$.params[0][1][1]");
  CHECK(problem_of(with("\"float32\", \"stride\"", "\"float33\", \"stride\"")) == "$.graphs[0].nodes[0].out.dtype");
  CHECK(problem_of(with("\"stride\": [3, 1]", "\"stride\": [3]")) == "$.graphs[0].nodes[0].out.stride");
  CHECK(problem_of(with("call_function", "call_module")) == "$.graphs[0].nodes[2].op");
  CHECK(problem_of(with("{\"node\": \"t\"}", "{\"node\": \"nowhere\"}")) == "$.graphs[0].nodes[3]");   // dangling
  CHECK(problem_of(with("{\"node\": \"primals_1\"}", "{\"node\": \"mm\"}")) == "$.graphs[0].nodes[2]");  // a cycle
  CHECK(problem_of(with("\"name\": \"pow_1\"", "\"name\": \"mm\"")) == "$.graphs[0].nodes[4]");        // twice
  CHECK(problem_of(with("\"name\": \"mm\", \"op\": \"placeholder\"", "\"name\": \"mm_7\", \"op\": \"placeholder\"")) == "$.graphs[1].nodes[4]");
  CHECK(problem_of(with("[[{\"node\": \"mm_1\"}, null]]", "[[{\"node\": \"mm_1\"}]]")) == "$.graphs[1]");  // one gradient short
  CHECK(problem_of(with("[[{\"node\": \"mm_1\"}, null]]", "[[{\"node\": \"mul\"}, null]]")) == "$.graphs[1].nodes[7]");  // wrong shape
  CHECK(problem_of(with("m.proj.weight\", [2, 3]", "m.proj.weight\", [5, 3]")) == "$.graphs[0].nodes[0]");  // no such parameter
  CHECK(problem_of(with("\"seq_nr\": 1", "\"seq_nr\": 1, \"more\": 2")) == "$.graphs[0].nodes[2].more");
  CHECK(problem_of(with("{\"shape\": [], \"dtype\": \"float32\", \"stride\": []}", "{\"shape\": [7], \"dtype\": \"float32\", \"stride\": [1]}")) ==
        "$.graphs[1].nodes[2]");  // the gradient of the loss fits no result
  std::string nested(100, '[');
  nested.append("1").append(100, ']');
  CHECK(problem_of(with("{\"node\": \"mm\"}, 2]", "{\"node\": \"mm\"}, " + nested + "]")).starts_with("$.graphs[0].nodes[4].args[1]"));
}

TEST_CASE("Truncated and damaged packed files are refused") {
  CHECK_THROWS_AS(read_aot_graph("/no/such/file.graph.json.gz"), InputError);
}

TEST_CASE("Module paths") {
  CHECK(aot::dotted_path("L['self'].m.model.layers.0.self_attn.q_proj") == "m.model.layers.0.self_attn.q_proj");
  CHECK(aot::dotted_path("L['self']._modules['layers']._modules['3']") == "layers.3");
  CHECK(aot::dotted_path("L['self'].layers[0].mlp") == "layers.0.mlp");
  CHECK(aot::dotted_path("_orig_mod.fc.weight") == "fc.weight");
  CHECK(aot::dotted_path("L['self']._modules['bn1']._buffers['running_mean']") == "bn1.running_mean");
  CHECK(aot::dotted_path("L['self']").empty());
  CHECK(aot::wrapper_of({"m.a.weight", "m.b.weight"}) == "m.");
  CHECK(aot::wrapper_of({"model.a.weight", "model.b.weight"}).empty());
  CHECK(aot::without_wrapper("m", "m.").empty());
}
