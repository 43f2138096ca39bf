// Topologies: NCCL XML and the matrix of nvidia-smi topo -m, on files small enough to check by hand.
#include "sim/core/error.h"
#include "sim/import/nccl_topo/nccl_topo.h"
#include "sim/import/nccl_topo/xml.h"
#include "sim/import/nvidia_smi/nvidia_smi.h"
#include "tests/support/catch.h"

using namespace sgsim;
using namespace sgsim::import;

namespace {

std::uint64_t count_of(const Diagnostics& report, const std::string& key) {
  const auto found = report.entries().find(key);
  return found == report.entries().end() ? 0 : found->second.count;
}

// Two A100s, each with 12 NVLinks to switches, behind one PCIe 4 switch with a 200 Gbit/s port.
const char* const kTwoGpus = R"(<!-- made by hand -->
<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="143" modelid="49">
    <pci busid="0000:01:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:02:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="80" rank="0" gdr="1">
          <nvlink target="0000:0a:00.0" count="6" tclass="0x068000"/>
          <nvlink target="0000:0b:00.0" count="6" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:03:00.0" class="0x030200" vendor="0x10de" device="0x20b2" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:0a:00.0" count="6" tclass="0x068000"/>
          <nvlink target="0000:0b:00.0" count="6" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:04:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" gdr="1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
)";

}  // namespace

TEST_CASE("an NCCL topology becomes one node") {
  const ImportedTopology topology = nccl_topo::read_system(kTwoGpus, "dir/two.xml");
  const cluster::Node& node = topology.cluster.node;
  CHECK(topology.cluster.name == "two.xml");
  CHECK(topology.cluster.nodes == 1);
  CHECK(node.gpus == 2);
  CHECK(node.gpu.name == "A100-SXM4-80GB");
  CHECK(node.intra == cluster::IntraNode::nvswitch);
  CHECK(node.nvlink.bandwidth.value() == Approx(12 * 25e9));
  // The narrowest PCIe link counts: 8 GT/s x 16 lanes x 128/130 / 8 bits.
  CHECK(node.pcie.bandwidth.value() == Approx(8e9 * 16 * 128.0 / 130.0 / 8.0));
  CHECK(node.nics == 1);
  CHECK(node.nic.bandwidth.value() == Approx(25e9));
  CHECK(count_of(topology.report, "import.nccl_topo.gpu") == 2);
  CHECK(count_of(topology.report, "import.nccl_topo.nvlink") == 24);
  CHECK(count_of(topology.report, "import.nccl_topo.link_bandwidth") == 1);  // guessed: not in the file
}

TEST_CASE("an NCCL topology's impossible numbers are counted and not used") {
  const auto read = [](const std::string& sm, const std::string& links) {
    return nccl_topo::read_system("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0:1\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\"><gpu dev=\"0\" sm=\"" + sm +
                                  "\"><nvlink target=\"0:2\" count=\"" + links + "\" tclass=\"0x030200\"/></gpu></pci></cpu></system>", "t.xml").report;
  };
  const char* const key = "import.nccl_topo.impossible_number";
  CHECK(count_of(read("80", "12"), key) == 0);
  CHECK(count_of(read("80", "12"), "import.nccl_topo.nvlink") == 12);
  CHECK(read("abc", "12").entries().at(key).example == "sm=\"abc\" of <gpu> in line 1, taken as not told");
  const Diagnostics report = read("80", "1000000000");
  CHECK(report.entries().at(key).example == "count=\"1000000000\" of <nvlink> in line 1, taken as not told");
  CHECK(count_of(report, "import.nccl_topo.nvlink") == 1);
  CHECK(count_of(read("80", "-1"), key) == 1);
}

TEST_CASE("an NCCL topology without GPUs' links says so") {
  const ImportedTopology topology = nccl_topo::read_system(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0:1\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\"/></cpu></system>", "t.xml");
  CHECK(topology.cluster.node.gpus == 1);
  CHECK(topology.cluster.node.intra == cluster::IntraNode::pcie);
  CHECK(topology.cluster.node.gpu.profile.empty());
  CHECK(count_of(topology.report, "import.nccl_topo.nvlink_absent") == 1);
  CHECK(count_of(topology.report, "import.nccl_topo.gpu_unknown") == 1);
}

TEST_CASE("NVLinks that end at their own GPU are dropped and counted") {
  const ImportedTopology topology = nccl_topo::read_system(
      "<system><cpu><pci busid=\"a\" class=\"0x030200\"><gpu dev=\"0\" sm=\"80\"><nvlink target=\"a\" count=\"12\" tclass=\"0x030200\"/></gpu></pci></cpu></system>", "t.xml");
  CHECK(topology.cluster.node.intra == cluster::IntraNode::pcie);
  CHECK(count_of(topology.report, "import.nccl_topo.nvlink_to_itself") == 1);
}

TEST_CASE("a graph dump lists its channels") {
  const ImportedFacts facts = nccl_topo::read_graphs(
      "<graphs version=\"1\"><graph id=\"0\" pattern=\"4\" nchannels=\"2\" speedintra=\"12\" speedinter=\"10\" typeintra=\"NVL\" typeinter=\"PIX\">"
      "<channel><net dev=\"0\"/><gpu dev=\"0\"/><gpu dev=\"1\"/></channel></graph></graphs>", "g.xml");
  REQUIRE(facts.facts.size() == 2);
  CHECK(facts.facts[0].second == "ring, 2 channels, 12 GB/s inside a node (NVL), 10 GB/s between nodes (PIX)");
  CHECK(facts.facts[1].second == "net 0 gpu 0 gpu 1");
  CHECK(count_of(facts.report, "import.nccl_topo.channel_count") == 1);  // 2 promised, 1 listed
}

TEST_CASE("broken XML is refused with its line") {
  for (const char* text : {"<system>\n<cpu>\n</system>", "<system", "<system a=1/>", "<system/><system/>", "<system a=\"1/>", "", "<system></system>"}) {
    CHECK_THROWS_AS(nccl_topo::read_system(text, "t.xml"), InputError);
  }
  try {
    (void)xml::parse("<system>\n<cpu>\n</system>", "t.xml");
    FAIL("accepted");
  } catch (const InputError& error) {
    CHECK(error.problem().where == "line 3");
    CHECK(error.problem().expected == "</cpu>");
  }
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  CHECK_THROWS_AS(xml::parse(deep, "t.xml"), InputError);
}

TEST_CASE("nvidia-smi: switches, meshes and pairs") {
  const std::string switched =
      "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n"
      "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\x1b[0m\n"
      "GPU0\t X \tNV12\tNV12\tPXB\t0-31\t0\n"
      "GPU1\tNV12\t X \tNV12\tSYS\t0-31\t0\n"
      "GPU2\tNV12\tNV12\t X \tSYS\t0-31\t0\n"
      "NIC0\tPXB\tSYS\tSYS\t X \t\t\n\nLegend:\n\n  X    = Self\n";
  const ImportedTopology a = nvidia_smi::parse(switched, "a.txt");
  CHECK(a.cluster.node.gpus == 3);
  CHECK(a.cluster.node.nics == 1);
  CHECK(a.cluster.node.gpu.name == "A100-SXM4-80GB");
  CHECK(a.cluster.node.intra == cluster::IntraNode::nvswitch);  // 12 + 12 links are more than an A100 has
  CHECK(a.cluster.node.nvlink.bandwidth.value() == Approx(300e9));
  CHECK(count_of(a.report, "import.nvidia_smi.nvlink_pair") == 6);

  // Four GPUs joined pairwise by 4 links: 12 links a GPU.
  std::string mesh = "\tGPU0\tGPU1\tGPU2\tGPU3\tCPU Affinity\n";
  for (int i = 0; i < 4; ++i) {
    mesh += "GPU" + std::to_string(i);
    for (int k = 0; k < 4; ++k) mesh += i == k ? "\t X " : "\tNV4";
    mesh += "\t0-15\n";
  }
  const ImportedTopology b = nvidia_smi::parse(mesh, "b.txt");
  CHECK(b.cluster.node.intra == cluster::IntraNode::nvlink_mesh);
  CHECK(b.cluster.node.nvlink.bandwidth.value() == Approx(300e9));

  const ImportedTopology c = nvidia_smi::parse("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNODE\t0\nGPU1\tNODE\t X \t0\n", "c.txt");
  CHECK(c.cluster.node.intra == cluster::IntraNode::pcie);
  CHECK(count_of(c.report, "import.nvidia_smi.gpu_unknown") == 1);
}

// Columns as drivers of 2024 and later print them: underlined header from its first byte, doubled tabs before the last column, rows of NICs
// without affinities, a legend of NICs; and the same with spaces, as people paste it into issues.
TEST_CASE("nvidia-smi: eight GPUs behind switches, nine NICs") {
  const auto matrix = [](const std::string& gap, const std::string& start, const std::string& end) {
    std::string text = start;
    for (int g = 0; g < 8; ++g) text += gap + "GPU" + std::to_string(g);
    for (int n = 0; n < 9; ++n) text += gap + "NIC" + std::to_string(n);
    text += gap + "CPU Affinity" + gap + "NUMA Affinity" + gap + "GPU NUMA ID" + end + "\n";
    for (int g = 0; g < 8; ++g) {
      text += "GPU" + std::to_string(g);
      for (int k = 0; k < 8; ++k) text += gap + (k == g ? " X " : "NV18");
      for (int n = 0; n < 9; ++n) text += gap + (n == g ? "PIX" : "SYS");
      text += gap + "0-23,96-119" + gap + "0" + gap + gap + "N/A\n";
    }
    for (int n = 0; n < 9; ++n) {
      text += "NIC" + std::to_string(n);
      for (int k = 0; k < 17; ++k) text += gap + (k == n + 8 ? " X " : "SYS");
      text += gap + gap + "\n";
    }
    return text + "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_1\n";
  };
  for (const std::string& text : {matrix("\t", "\x1b[4m", "\x1b[0m"), matrix("    ", "", "")}) {
    const ImportedTopology t = nvidia_smi::parse(text, "t.txt");
    CHECK(t.cluster.node.gpus == 8);
    CHECK(t.cluster.node.nics == 9);
    CHECK(t.cluster.node.intra == cluster::IntraNode::nvswitch);
    CHECK(t.cluster.node.nvlink.bandwidth.value() == Approx(450e9));
  }
  const ImportedTopology one = nvidia_smi::parse("\tGPU0\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \tPHB\t0-251\t0\t\tN/A\nNIC0\tPHB\t X \n\nNIC Legend:\n\n  NIC0: mlx5_0\n", "one.txt");
  CHECK(one.cluster.node.gpus == 1);
  CHECK(one.cluster.node.nics == 1);
}

TEST_CASE("nvidia-smi: a torn matrix is refused") {
  CHECK_THROWS_AS(nvidia_smi::parse("\tGPU0\tGPU1\nGPU0\t X \tNV1\n", "t"), InputError);
  CHECK_THROWS_AS(nvidia_smi::parse("\tGPU0\tGPU1\nGPU0\t X \nGPU1\tNV1\t X\n", "t"), InputError);
  CHECK_THROWS_AS(nvidia_smi::parse("hello\n", "t"), InputError);
}
