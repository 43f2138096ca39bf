// The work of captured kernels, and what another tensor size makes of it.
#include "sim/replay/captured_work.h"
#include "tests/support/catch.h"
#include "tests/unit/trace/kineto_text.h"

using namespace sgsim;
using namespace sgsim::testing;

namespace {

std::string mm(int id, double ts, const std::string& name, const std::string& dims) {
  return fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"{}","pid":10,"tid":20,"ts":{},"dur":8,"args":{{"External id":{},"Input Dims":{},"Input type":["c10::BFloat16","c10::BFloat16"]}}}})", name, ts, id, dims);
}

/// Products of one tensor parallel layer, 2,048 tokens, hidden size 4,096, divided by 8: query (512 columns), up (1,792), down (1,792 rows), weight gradient, key (128).
trace::ImportedRun layer(const std::vector<std::pair<std::string, std::string>>& operators) {
  std::vector<std::string> events;
  int i = 1;
  for (const auto& [name, dims] : operators) {
    events.push_back(mm(i, 100.0 * i, name, dims));
    events.push_back(launch(100.0 * i + 2.0, i));
    events.push_back(kernel(name.find("attention") != std::string::npos ? "flash_fwd_kernel" : "sm80_gemm", 100.0 * i + 10.0, 50.0, 7, i));
    ++i;
  }
  return read_text("captured_work", trace_text(events));
}

const std::vector<std::pair<std::string, std::string>> kLayer = {{"aten::mm", "[[2048,4096],[4096,512]]"}, {"aten::addmm", "[[1792],[2048,4096],[4096,1792]]"}, {"aten::mm", "[[2048,1792],[1792,4096]]"},
                                                                 {"aten::mm", "[[4096,2048],[2048,512]]"}, {"aten::mm", "[[2048,4096],[4096,128]]"}};

}  // namespace

TEST_CASE("tokens and hidden size are what the products of a layer have in common; the third extent is divided") {
  const auto run = layer(kLayer);
  const replay::CapturedWork work(run, run.ranks.at(0), 2.0);  // tp 8 to 4
  REQUIRE(work.undivided());
  CHECK(work.undivided()->tokens * work.undivided()->hidden == 2048 * 4096);
  CHECK(work.undivided()->tokens + work.undivided()->hidden == 2048 + 4096);
  const auto wanted = [&](std::uint32_t op) { return std::get<graph::Matmul>(work.of(op).at(0).wanted); };
  CHECK(wanted(0).n == 1024);  // 512 columns of 4,096 to 1,024
  CHECK(wanted(1).n == 3584);
  CHECK(wanted(2).k == 3584);  // rows of the second product
  CHECK(wanted(3).n == 1024);  // the weight's gradient
  CHECK(wanted(2).m == 2048);
  CHECK(wanted(2).n == 4096);
  CHECK(std::get<graph::Matmul>(work.of(0)[0].captured).n == 512);
  CHECK(std::get<graph::Matmul>(work.of(0)[0].captured).dtype == graph::DType::bfloat16);
}

TEST_CASE("what fits no layer is not divided: its work is not known") {
  auto operators = kLayer;
  operators.emplace_back("aten::mm", "[[77,33],[33,55]]");
  operators.emplace_back("aten::bmm", "[[4,2048,128],[4,128,2048]]");
  const auto run = layer(operators);
  CHECK(replay::CapturedWork(run, run.ranks.at(0), 2.0).of(5).empty());
  CHECK(replay::CapturedWork(run, run.ranks.at(0), 2.0).of(6).empty());
  CHECK_FALSE(replay::CapturedWork(run, run.ranks.at(0), 1.0).of(5).empty());  // on another GPU it is what it was
  const auto two = layer({kLayer[0], kLayer[1]});
  CHECK_FALSE(replay::CapturedWork(two, two.ranks.at(0), 2.0).undivided());  // any two products lie on a line
}

TEST_CASE("attention: heads are divided, by shapes and by flops and bytes") {
  auto operators = kLayer;
  operators.emplace_back("aten::_scaled_dot_product_flash_attention", "[[1,4,2048,128],[1,1,2048,128],[1,1,2048,128]]");
  auto run = layer(operators);
  const auto pairs = replay::CapturedWork(run, run.ranks.at(0), 2.0).of(5);
  REQUIRE(pairs.size() == 2);  // with and without a causal mask
  CHECK(std::get<graph::Attention>(pairs[0].captured).heads == 4);
  CHECK(std::get<graph::Attention>(pairs[0].wanted).heads == 8);
  CHECK(std::get<graph::Attention>(pairs[0].wanted).kv_heads == 2);
  // The same without shapes, as in timelines of sgsim: 4 heads of 128 over 2,048 tokens, one for keys.
  trace::DeviceOp& op = run.ranks[0].device_ops[5];
  op.op = trace::kNone;
  op.flops = 2.0 * 2.0 * 4.0 * 128.0 * (2048.0 * 2049.0 / 2.0);
  op.bytes = 2.0 * (2.0 * 4.0 * 2048.0 * 128.0 + 2.0 * 2048.0 * 128.0) + 4.0 * 4.0 * 2048.0;
  bool found = false;
  for (const auto& pair : replay::CapturedWork(run, run.ranks.at(0), 2.0).of(5)) {
    const auto& a = std::get<graph::Attention>(pair.captured);
    found = found || (a.batch == 1 && a.heads == 4 && a.kv_heads == 1 && a.q_len == 2048 && a.head_dim == 128 && a.causal);
  }
  CHECK(found);
}

TEST_CASE("attention: which extent is the heads, by operator; as the strides of grouped queries recorded on an H200 show for cuDNN's") {
  // 16 query and 4 key heads of 128 on 4,096 tokens. (1, 16, 4096, 128) with strides (8388608, 128, 2048, 1): a head's rows are 2,048 apart, so the second extent is the heads.
  const auto heads = [](const std::string& name, const std::string& dims) {
    const auto run = layer({kLayer[0], kLayer[1], kLayer[2], kLayer[3], kLayer[4], {name, dims}});
    const auto pairs = replay::CapturedWork(run, run.ranks.at(0), 0.5).of(5);
    REQUIRE_FALSE(pairs.empty());
    const auto &captured = std::get<graph::Attention>(pairs[0].captured), &wanted = std::get<graph::Attention>(pairs[0].wanted);
    CHECK(captured.q_len == 4096);
    CHECK(captured.kv_len == 4096);
    CHECK(captured.kv_heads == 4);
    CHECK(wanted.heads == 8);  // tensor size 2 to 4
    CHECK(wanted.kv_heads == 2);
    CHECK(replay::CapturedWork(run, run.ranks.at(0), 0.5).heads_of(5) == 16);
    return captured.heads;
  };
  CHECK(heads("aten::_cudnn_attention_forward", "[[1,16,4096,128],[1,4,4096,128],[1,4,4096,128]]") == 16);
  CHECK(heads("aten::_cudnn_attention_backward", "[[1,16,4096,128],[1,16,4096,128],[1,4,4096,128],[1,4,4096,128]]") == 16);
  CHECK(heads("aten::_scaled_dot_product_cudnn_attention", "[[1,16,4096,128],[1,4,4096,128],[1,4,4096,128]]") == 16);
  CHECK(heads("aten::_flash_attention_forward", "[[1,4096,16,128],[1,4096,4,128],[1,4096,4,128]]") == 16);
  CHECK(heads("aten::_efficient_attention_forward", "[[1,4096,16,128],[1,4096,4,128],[1,4096,4,128]]") == 16);
}
