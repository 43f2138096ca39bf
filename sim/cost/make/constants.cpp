#include "sim/cost/make/parts.h"

namespace sgsim::cost::make {
namespace {


/// Host costs measured with PyTorch on micro-graphs; latency and gap by CUPTI.
void add_launch(Profile& p, const std::string& mode, const std::array<double, 8>& us) {
  static constexpr std::array<const char*, 8> kNames = {"host_per_operator", "host_per_kernel", "host_per_collective", "host_per_graph",
                                                        "host_per_step", "host_backward_extra", "launch_latency", "device_gap"};
  constexpr std::size_t kFirstOfDevice = 6;
  for (std::size_t i = 0; i < kNames.size(); ++i) p.times["launch." + mode + "." + kNames[i]] = {Seconds(us[i] * 1e-6), i < kFirstOfDevice ? "host-pytorch" : "host-launch"};
}

}  // namespace

void add_sources(Profile& p) {
  p.sources["datasheet"] = {.kind = ProvenanceKind::published, .source = "NVIDIA A100, H100 and H200 Tensor Core GPU datasheets and architecture whitepapers (nvidia.com)", .machine = "",
                            .date = "", .software = "", .note = "dense rates; the clock is the one that the peak rates are computed with"};
  p.sources["memory-reported"] = {.kind = ProvenanceKind::published, .source = "total memory as the driver reports it and PyTorch prints it on these GPUs; H200: validation data set (shared/truth/h200/*.trace.json.gz, deviceProperties)",
                                  .machine = "", .date = "", .software = "", .note = ""};
  const std::string carried = p.name == "h200" ? "" : "; carried from the H200s' hosts: a host belongs to a machine, not to its GPU";
  p.sources["host-pytorch"] = {.kind = ProvenanceKind::measured, .source = "calibrate/pytorch_overhead.py: pytorch_host_1.json, pytorch_host_2.json, pytorch_host_3.json", .machine = "NVIDIA H200, Intel(R) Xeon(R) Processor", .date = "2026-11-29",
                               .software = "PyTorch 2.11.0+cu130, Python 3.12.3, CUDA 13.0, NCCL 2.28.9",
                               .note = "micro-graphs on 3 hosts, pooled; one eager addition takes 16.7, 9.3, 19.2 us on them. Median error of the lines 26 % eager, 19 % compiled. A step's costs a parameter tensor are "
                                       "counted for 150 tensors, a graph's a node for 256 nodes" + carried};
  p.sources["host-launch"] = {.kind = ProvenanceKind::measured, .source = "launch.samples.jsonl (sgsim-calibrate run --only launch), see the profile h200-measured", .machine = "NVIDIA H200, Intel(R) Xeon(R) Processor", .date = "2026-11-29",
                              .software = "driver 580.159.04, CUDA 13.0, CUPTI 130001",
                              .note = "launch latency and the gap between kernels of a busy stream and of a graph, by CUPTI activity records" + carried};
  p.sources["interference-h200"] = {
      .kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/h200/nccl_h200x2.json, llama_1b_fsdp2_*.trace.json.gz, llama_8b_fsdp2_compile.trace.json.gz)", .machine = "2 x NVIDIA H200, NVLink, NCCL 2.28.9", .date = "2026-11-29",
      .software = kTorch,
      .note = "Traces, kernels wholly beside a NCCL kernel over the same kernels alone: matrix products 1.36 (llama_1b), 1.44 (llama_8b), attention 1.19, bandwidth-bound kernels 1.10 to 1.15; weighted by their "
              "device time 1.30. Transfers beside computation over the fastest of the same size: 1.20 to 1.47, middle 1.35. Cross-check: 20 products of 8192^3 alone 30.66 ms, 6 all-reduces of 512 MB alone "
              "11.36 ms, together 35.71 ms; with products slowed 1.40 the overlap lasts 5.05 / (1 - 1/1.40) = 17.7 ms and the transfers are slowed 1.56"};
  p.sources["interference-carried"] = {.kind = ProvenanceKind::assumed, .source = "the H200's factors, see its profile", .machine = "", .date = "", .software = "",
                                       .note = "the cause is the same: NCCL's blocks hold SMs (24 of 108 or 132) and persistent or full-wave kernels wait for them; not measured on this GPU"};
  p.sources["interference-network"] = {.kind = ProvenanceKind::assumed, .source = "no measurement in the data set", .machine = "", .date = "", .software = "",
                                       .note = "NCCL holds the same SMs while NICs are the bottleneck, but moves fewer bytes a second through them and HBM; the NIC is not slowed by computation"};
  p.sources["network-tuning"] = {
      .kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/published/collectives.json.gz): all-reduce on 2, 4, 8 and 32 nodes of 8 A100 or H100 (Oracle, Meta, an InfiniBand cluster of 256 GPUs, two reports of H100 clusters); the Simple hop is "
                                            "NCCL's own 14 us (src/graph/tuning.cc)", .machine = "A100 and H100 clusters", .date = "", .software = "NCCL 2.12 to 2.29",
      .note = "one set for every GPU, eight numbers over 92 rows of seven fabrics, each fabric weighing the same: mean absolute log error 6.7 %; efficiency is of the NIC's line rate. Small all-reduces over AWS EFA take about twice as long (not in the fit)"};
  p.sources["network-sends"] = {
      .kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/published/collectives.json.gz, microsoft/vidur send_recv on 2 nodes)", .machine = "2 DGX H100 and 2 DGX A100, fabric not stated", .date = "", .software = "",
      .note = "time = 20 us + S / rate holds from 2 KB to 64 MB; 36 GB/s on H100 (0.72 of a 400 Gbit/s port); the efficiency between this and the ring's 0.96 is assumed"};
  p.sources["pcie-tuning"] = {.kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/published/collectives.json.gz, microsoft/vidur a100_pairwise_nvlink: 4 GPUs over PCIe)", .machine = "A100, 4 GPUs, PCIe 4", .date = "", .software = "",
                              .note = "ring of 4: 23.7 GB/s bus of 31.5; latencies are NVLink's times two"};
  p.sources["multicast"] = {.kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/kernels/h100_sxm_comm_nccl_2.29.2.csv.gz; published/collectives.json.gz, stas00/ml-engineering: H200 with 4 to 8 GPUs)", .machine = "H100 and H200, 8 GPUs, NVSwitch", .date = "",
                            .software = "NCCL 2.27 and 2.29", .note = "S (1 + 1/n) / time: 310, 304, 306 and 304 GB/s with 5, 6, 7 and 8 GPUs"};
  p.sources["tree"] = {.kind = ProvenanceKind::fitted, .source = "validation data set (shared/truth/published/collectives.json.gz: oracle-quickstart/oci-hpc-oke, oci-hpc-oke B4.8 and facebookresearch/gcm, 2 x 8 A100)", .machine = "2 x 8 A100-SXM4-40GB", .date = "", .software = "",
                       .note = "with 0.43 tree and ring tie on 2 nodes at 185 to 190 GB/s bus, as two of the three clusters show; the third reaches 238 GB/s, which 0.55 would give"};
  p.sources["copy"] = {.kind = ProvenanceKind::assumed, .source = "PCIe line rate times 0.85 pinned, 0.3 pageable", .machine = "", .date = "", .software = "", .note = "to be replaced by sgsim-calibrate"};
  p.sources["product-bound"] = {.kind = ProvenanceKind::fitted, .source = "", .machine = "", .date = "", .software = "", .note = ""};
}

void add_constants(Profile& p, bool hopper) {
  // operator, kernel, collective, graph, step, backward, latency, gap; microseconds.
  add_launch(p, "eager", {13.4423565, 7.93511993, 63.6431, 0, 549.193912, 3.20044562, 6.797, 1.00024004});
  add_launch(p, "compiled", {0.487221606, 23.9541586, 63.6431, 0, 3201.46939, 0, 6.797, 1.00024004});
  add_launch(p, "cuda_graph", {0, 0, 0, 116.859793, 4620.24579, 0, 4.989, 0.308239954});
  const std::string inside = p.name == "h200" ? "interference-h200" : "interference-carried";
  p.factors["interference.intra_node.compute"] = {1.30, inside};
  p.factors["interference.intra_node.transfer"] = {1.35, inside};
  p.factors["interference.intra_node.compute.matmul"] = {1.40, inside};
  p.factors["interference.intra_node.compute.attention"] = {1.19, inside};
  p.factors["interference.intra_node.compute.memory_bound"] = {1.12, inside};
  p.factors["interference.inter_node.compute"] = {1.20, "interference-network"};
  p.factors["interference.inter_node.transfer"] = {1.05, "interference-network"};
  p.factors["collective.tree_efficiency"] = {0.43, "tree"};
  p.factors["collective.sigma_network"] = {0.15, "network-tuning"};
  p.rates["nvlink.bandwidth"] = {BytesPerSecond(hopper ? 450e9 : 300e9), "datasheet"};
  const double pcie_bandwidth = hopper ? 63e9 : 31.5e9;
  p.rates["copy.host_to_device.pinned"] = {BytesPerSecond(0.85 * pcie_bandwidth), "copy"};
  p.rates["copy.device_to_host.pinned"] = {BytesPerSecond(0.85 * pcie_bandwidth), "copy"};
  p.rates["copy.host_to_device.pageable"] = {BytesPerSecond(0.3 * pcie_bandwidth), "copy"};
  p.rates["copy.device_to_host.pageable"] = {BytesPerSecond(0.3 * pcie_bandwidth), "copy"};
  p.protocols.push_back({Algorithm::ring, Protocol::ll, LinkClass::network, 23.0_us, 1.8_us, 0.11, "network-tuning"});
  p.protocols.push_back({Algorithm::ring, Protocol::ll128, LinkClass::network, 22.0_us, 19.0_us, 0.40, "network-tuning"});
  p.protocols.push_back({Algorithm::ring, Protocol::simple, LinkClass::network, 220.0_us, 14.0_us, 0.962, "network-tuning"});
  p.protocols.push_back({Algorithm::pairwise, Protocol::ll, LinkClass::network, 12.0_us, 4.0_us, 0.25, "network-sends"});
  p.protocols.push_back({Algorithm::pairwise, Protocol::simple, LinkClass::network, 16.0_us, 4.0_us, 0.80, "network-sends"});
  for (const Algorithm a : {Algorithm::ring, Algorithm::pairwise}) {
    p.protocols.push_back({a, Protocol::ll, LinkClass::pcie, 12.0_us, 2.0_us, 0.25, "pcie-tuning"});
    p.protocols.push_back({a, Protocol::simple, LinkClass::pcie, 30.0_us, 6.0_us, 0.75, "pcie-tuning"});
  }
  if (hopper) p.protocols.push_back({Algorithm::nvls, Protocol::simple, LinkClass::nvlink, 25.0_us, 0.3_us, 0.68, "multicast"});
}

}  // namespace sgsim::cost::make
