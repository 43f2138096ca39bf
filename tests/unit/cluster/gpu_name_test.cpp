#include "sim/cluster/builders.h"
#include "sim/cluster/gpu_name.h"
#include "tests/support/catch.h"

using sgsim::cluster::may_be_one_gpu;

TEST_CASE("names of one GPU: the model always, board and memory where both say them") {
  CHECK(may_be_one_gpu("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"));
  CHECK(may_be_one_gpu("NVIDIA A100-PG509-200", "A100-SXM4-40GB"));
  CHECK(may_be_one_gpu("NVIDIA A100 80GB PCIe", "A100-PCIe-80GB"));
  CHECK(may_be_one_gpu("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"));
  CHECK(may_be_one_gpu("NVIDIA H200", "H200-SXM-141GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA A100-SXM4-80GB", "H100-SXM5-80GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA A100-SXM4-40GB", "A100-SXM4-80GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA A100-SXM4-80GB", "A100-PCIe-80GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA H100 PCIe", "H100-SXM5-80GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA H100 NVL", "H100-SXM5-80GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA GH200 480GB", "H200-SXM-141GB"));
  CHECK_FALSE(may_be_one_gpu("Tesla V100-SXM2-32GB", "A100-SXM4-80GB"));
  CHECK_FALSE(may_be_one_gpu("AMD Radeon Graphics", "A100-SXM4-80GB"));
  CHECK_FALSE(may_be_one_gpu("NVIDIA Test", "A100-SXM4-80GB"));
}

TEST_CASE("each builtin machine's GPU is itself") {
  for (const std::string& name : sgsim::cluster::builtin_cluster_names()) {
    const std::string gpu = sgsim::cluster::builtin_cluster(name, 1)->node.gpu.name;
    CHECK(may_be_one_gpu(gpu, gpu));
    CHECK(may_be_one_gpu("NVIDIA " + gpu, gpu));
  }
}
