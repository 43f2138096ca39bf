// ONNX models, written field by field here: two layers small enough to check by hand, and what must be refused.
#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"
#include "sim/graph/graph_file.h"
#include "sim/import/onnx/onnx.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::import;
using protobuf::Writer;

namespace {

std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}

Writer value_info(std::string_view name, const std::vector<std::int64_t>& dims, std::int64_t type = 1) {
  Writer shape;
  for (const std::int64_t dim : dims) shape.message(1, dim < 0 ? Writer().text(2, "batch") : Writer().integer(1, dim));
  return Writer().text(1, name).message(2, Writer().message(1, Writer().integer(1, type).message(2, shape)));
}
Writer weight(std::string_view name, const std::vector<std::uint64_t>& dims, bool external) {
  Writer tensor;
  tensor.packed(1, dims).integer(2, 1).text(8, name);
  if (external) tensor.message(13, Writer().text(1, "location").text(2, "w.bin")).integer(14, 1);
  return tensor;
}
Writer integers(std::string_view name, const std::vector<std::uint64_t>& values) { return Writer().packed(1, {values.size()}).integer(2, 7).packed(7, values).text(8, name); }
Writer node(std::string_view op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs, const std::vector<Writer>& attributes = {}) {
  Writer result;
  for (const std::string& input : inputs) result.text(1, input);
  for (const std::string& output : outputs) result.text(2, output);
  result.text(4, op);
  for (const Writer& attribute : attributes) result.message(5, attribute);
  return result;
}
Writer attribute(std::string_view name, std::int64_t value) { return Writer().text(1, name).integer(3, value); }
std::string model(const Writer& graph, std::int64_t opset = 17) {
  return Writer().integer(1, 8).text(2, "hand").message(7, graph).message(8, Writer().text(1, "").integer(2, opset)).bytes();
}

}  // namespace

TEST_CASE("ONNX: a linear layer with external and absent weights, and a reshape by computed sizes") {
  Writer graph;
  graph.message(1, node("MatMul", {"x", "w"}, {"y"}));
  graph.message(1, node("Add", {"y", "b"}, {"z"}));
  graph.message(1, node("Shape", {"z"}, {"s"}));                 // [2, 3, 8]
  graph.message(1, node("Gather", {"s", "zero"}, {"n"}));        // [2]
  graph.message(1, node("Concat", {"n", "minus"}, {"to"}));      // [2, -1]
  graph.message(1, node("Reshape", {"z", "to"}, {"r"}));
  graph.message(1, node("Softmax", {"r"}, {"p"}));
  graph.text(2, "linear");
  graph.message(5, weight("w", {4, 8}, true)).message(5, weight("b", {8}, false));
  graph.message(5, integers("zero", {0})).message(5, integers("minus", {~std::uint64_t{0}}));
  graph.message(11, value_info("x", {2, 3, 4})).message(12, value_info("p", {2, 24}));
  const ImportedGraphs result = onnx::parse(model(graph), "m.onnx");
  REQUIRE(result.graphs.size() == 1);
  CHECK(graph::to_text(result.graphs[0].second) ==
        "parameter w: float32[4, 8]\n"
        "parameter b: float32[8]\n"
        "input x: float32[2, 3, 4]\n"
        "y = aten.matmul.default(x, w) -> float32[2, 3, 8]\n"
        "z = aten.add.Tensor(y, b) -> float32[2, 3, 8]\n"
        "r = aten.view.default(z, [2, 24]) -> float32[2, 24]\n"
        "p = aten._softmax.default(r, 1, false) -> float32[2, 24]\n"
        "return p\n");
  CHECK(count_of(result.report, "import.onnx.external_weight") == 1);
  CHECK(count_of(result.report, "import.onnx.absent_weight") == 1);
  CHECK(count_of(result.report, "import.onnx.folded") == 3);
  CHECK(result.graphs[0].second.micro_batch == 2);
}

TEST_CASE("ONNX: symbolic sizes are taken as 1 and counted; unknown operators keep their declared results") {
  Writer graph;
  graph.message(1, node("RotaryEmbedding", {"x"}, {"y"})).message(11, value_info("x", {-1, 4})).message(12, value_info("y", {1, 4}));
  const ImportedGraphs result = onnx::parse(model(graph), "m.onnx");
  CHECK(result.graphs[0].second.nodes[1].target == "onnx.RotaryEmbedding");
  CHECK(count_of(result.report, "import.onnx.symbolic_dimension") == 1);
  CHECK(count_of(result.report, "import.onnx.kept_operator") == 1);
}

TEST_CASE("ONNX: convolution with one-sided padding, old softmax over all that follows the axis") {
  Writer graph;
  // 5x5 with a 3x3 kernel, stride 2, SAME_UPPER: 3x3 out, needs (3-1)*2+3-5 = 2 in all, one on each side.
  graph.message(1, node("Conv", {"x", "w"}, {"y"}, {Writer().text(1, "strides").packed(8, {2, 2}), Writer().text(1, "auto_pad").text(4, "SAME_UPPER")}));
  graph.message(1, node("Softmax", {"y"}, {"z"}));
  graph.message(5, weight("w", {6, 3, 3, 3}, false)).message(11, value_info("x", {1, 3, 5, 5})).message(12, value_info("z", {1, 6, 3, 3}));
  const ImportedGraphs result = onnx::parse(model(graph, 9), "m.onnx");
  const graph::OperatorGraph& g = result.graphs[0].second;
  CHECK(g.nodes[2].outputs[0].shape == std::vector<std::int64_t>{1, 6, 3, 3});
  CHECK(g.nodes[3].target == "aten.view.default");
  CHECK(g.nodes[4].outputs[0].shape == std::vector<std::int64_t>{1, 54});
}

TEST_CASE("ONNX: what is refused") {
  const auto refused = [](const std::string& bytes) { CHECK_THROWS_AS(onnx::parse(bytes, "m.onnx"), InputError); };
  refused("");
  refused("ir_version: 7\ngraph { }");
  refused(Writer().integer(1, 8).bytes());
  Writer loop;  // a loop body depends on data
  loop.message(1, node("Loop", {"n"}, {"y"}, {Writer().text(1, "body").message(6, Writer())})).message(11, value_info("n", {}, 7)).message(12, value_info("y", {1}));
  refused(model(loop));
  Writer data;  // sizes that are inputs
  data.message(1, node("Reshape", {"x", "to"}, {"y"})).message(11, value_info("x", {2, 2})).message(11, value_info("to", {1}, 7));
  refused(model(data));
  Writer unknown;
  unknown.message(1, node("Mystery", {"x"}, {"y"})).message(11, value_info("x", {2}));
  refused(model(unknown));
  Writer misfit;
  misfit.message(1, node("MatMul", {"x", "x"}, {"y"})).message(11, value_info("x", {2, 3}));
  refused(model(misfit));
  refused(Writer().integer(1, 8).message(7, Writer()).message(25, Writer()).bytes());  // model-local functions
  Writer nested = Writer().message(1, node("If", {"c"}, {"y"}));
  for (int i = 0; i < 40; ++i) nested = Writer().message(1, node("If", {"c"}, {"y"}, {Writer().text(1, "then_branch").message(6, nested)}));
  refused(model(nested));
}
