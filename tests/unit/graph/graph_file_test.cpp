#include "sim/graph/graph_file.h"

#include <limits>

#include "sim/core/error.h"
#include "sim/graph/tensor_type.h"
#include "tests/support/catch.h"
#include "tests/unit/graph/graph_builder.h"

using namespace sgsim;
using namespace sgsim::graph;
using namespace sgsim::graph::test;

namespace {

OperatorGraph linear_with_gradient() {
  GraphBuilder b;
  b.graph.name = "linear";
  b.graph.modules = {"", "layers.0.proj"};
  b.graph.module_types = {"Model", "Linear"};
  const ValueRef w = b.source(NodeKind::parameter, "layers.0.proj.weight", contiguous({16, 8}, DType::bfloat16));
  const ValueRef x = b.source(NodeKind::input, "x", contiguous({32, 8}, DType::bfloat16));
  const ValueRef wt = b.call("aten.t.default", {arg(w)});
  const ValueRef y = b.call("aten.mm.default", {arg(x), arg(wt)});
  const ValueRef parts = b.call("aten.split.Tensor", {arg(y), arg(8), arg(1)});
  const ValueRef low = b.call("aten.masked_fill.Scalar", {arg(ValueRef{parts.node, 1}), arg(parts), arg(-std::numeric_limits<double>::infinity())});
  const ValueRef yt = b.call("aten.t.default", {arg(y)});
  const ValueRef dw = b.call("aten.mm.default", {arg(yt), arg(x)});
  for (const ValueRef value : {yt, dw}) b.graph.nodes[value.node.value].phase = Phase::backward;
  for (const ValueRef value : {wt, y, yt, dw}) b.graph.nodes[value.node.value].module = ModuleId{1};
  b.graph.nodes[y.node.value].seq_nr = 7;
  b.graph.outputs = {low};
  b.graph.gradients = {{w.node, dw}};
  b.graph.micro_batch = 32;
  return b.graph;
}

std::string problem_of(const std::string& text) {
  try {
    (void)parse_graph(text, "bad.json");
  } catch (const InputError& error) {
    return error.problem().where;
  }
  return "accepted";
}

}  // namespace

TEST_CASE("A graph file reads back as it was written") {
  const OperatorGraph graph = linear_with_gradient();
  CHECK(parse_graph(graph_to_json(graph), "x") == graph);
}

TEST_CASE("A packed graph file reads back, and equal graphs are equal files") {
  const OperatorGraph graph = linear_with_gradient();
  const std::string path = SGSIM_BINARY_DIR "/graph_file_test.graph.json.gz";
  write_graph(graph, path);
  CHECK(read_graph(path) == graph);
}

TEST_CASE("Canonical text") {
  CHECK(to_text(linear_with_gradient()) ==
        "parameter layers.0.proj.weight: bfloat16[16, 8]\n"
        "input x: bfloat16[32, 8]\n"
        "n2 = aten.t.default(layers.0.proj.weight) -> bfloat16[8, 16] stride [1, 8]  # layers.0.proj\n"
        "n3 = aten.mm.default(x, n2) -> bfloat16[32, 16]  # layers.0.proj\n"
        "n4 = aten.split.Tensor(n3, 8, 1) -> (bfloat16[32, 8] stride [16, 1], bfloat16[32, 8] stride [16, 1])\n"
        "n5 = aten.masked_fill.Scalar(n4[1], n4, \"-inf\") -> bfloat16[32, 8]\n"
        "n6 = aten.t.default(n3) -> bfloat16[16, 32] stride [1, 16]  # layers.0.proj backward\n"
        "n7 = aten.mm.default(n6, x) -> bfloat16[16, 8]  # layers.0.proj backward\n"
        "return n5\n"
        "gradient layers.0.proj.weight = n7\n");
}

TEST_CASE("Bad graph files name the place") {
  const std::string good = graph_to_json(linear_with_gradient());
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::size_t at = good.find(from);
    REQUIRE(at != std::string::npos);
    return good.substr(0, at) + to + good.substr(at + from.size());
  };
  CHECK(problem_of(good) == "accepted");
  CHECK(problem_of(with("\"version\":1", "\"version\":2")) == "$.version");
  CHECK(problem_of(with("sgsim.graph", "other")) == "$.format");
  CHECK(problem_of(with("\"name\":\"linear\"", "\"name\":7")) == "$.name");
  CHECK(problem_of(with("\"modules\"", "\"moduls\"")) == "$.moduls");
  CHECK(problem_of(with("{\"node\":\"layers.0.proj.weight\"}", "{\"node\":\"n3\"}")) == "$.nodes[2].args[0]");  // points forwards
  CHECK(problem_of(with("\"module\":1", "\"module\":2")) == "$.nodes[2].module");
  CHECK(problem_of(with("\"bfloat16\"", "\"bfloat17\"")) == "$.nodes[0].outputs[0].dtype");
  CHECK(problem_of(with("\"name\":\"n3\"", "\"name\":\"n2\"")) == "$.nodes[3].name");
  CHECK(problem_of(with("\"gradients\":{\"layers.0.proj.weight\":{\"node\":\"n7\"}", "\"gradients\":{\"layers.0.proj.weight\":{\"node\":\"n3\"}")) ==
        "$.gradients.layers.0.proj.weight");
  CHECK(problem_of(good.substr(0, good.size() / 2)) == "line 1");
  CHECK(problem_of("") == "line 1");
  CHECK(problem_of("[]") == "$");
}
