#include "sim/import/known/known.h"

#include <algorithm>
#include <array>

#include "sim/core/error.h"
#include "sim/core/protobuf_wire.h"
#include "sim/import/nccl_topo/xml.h"

namespace sgsim::import::known {
namespace {

struct Kind {
  std::array<std::string_view, 2> marks;  // both occur in the head ("": no second one)
  std::string_view what, hint;
};

constexpr std::string_view kNoTrace = "it has no operations of a run to read";

/// By content. Earlier entries win.
constexpr std::array kKinds = {
    Kind{{"SQLite format 3", "CREATE TABLE point (number INTEGER PRIMARY KEY"}, "results of sgsim sweep", "sgsim info says what they hold"},
    Kind{{"from torch._inductor", ""}, "code that Inductor generated", "import the AOT graph (Forward_graph, Backward_graph) or the TORCH_TRACE log it was made from"},
    Kind{{"async_compile", "def call(args)"}, "code that Inductor generated", "import the AOT graph or the TORCH_TRACE log it was made from"},
    Kind{{"npus_count", "topology"}, "a network of ASTRA-sim", "describe the machines in a cluster file (docs/formats/scenario.md, section cluster)"},
    Kind{{"npus-count", "topology"}, "a network of ASTRA-sim", "describe the machines in a cluster file (docs/formats/scenario.md, section cluster)"},
    Kind{{"\"logical-dims\"", ""}, "a network of ASTRA-sim", "describe the machines in a cluster file (docs/formats/scenario.md, section cluster)"},
    Kind{{"-implementation", "\"endpoint-delay\""}, "system settings of ASTRA-sim", kNoTrace},
    Kind{{"-implementation", "\"collective-optimization\""}, "system settings of ASTRA-sim", kNoTrace},
    Kind{{"\"preferred-dataset-splits\"", ""}, "system settings of ASTRA-sim", kNoTrace},
    Kind{{"-implementation-custom\"", ""}, "system settings of ASTRA-sim", kNoTrace},
    Kind{{"\"scheduling-policy\"", ""}, "system settings of ASTRA-sim", kNoTrace},
    Kind{{"\"attn_heads\"", "\"feedforward\""}, "a model of Calculon", "import the model's Hugging Face config.json, or write a scenario"},
    Kind{{"\"tensor_par\"", ""}, "a plan of Calculon", "write its sizes into the plan of a scenario"},
    Kind{{"\"matrix\"", "\"networks\""}, "a system of Calculon", "describe the machines in a cluster file, or use a GPU profile"},
    Kind{{"nccl-tests", ""}, "a log of nccl-tests", "a profile is made from measurements by sgsim-calibrate"},
    Kind{{"out-of-place", "busbw"}, "a log of nccl-tests", "a profile is made from measurements by sgsim-calibrate"},
    Kind{{"nvbandwidth", ""}, "a log of nvbandwidth", kNoTrace},
    Kind{{"GPCNet", ""}, "a log of GPCNeT", kNoTrace},
    Kind{{"Network Tests v", ""}, "a log of GPCNeT", kNoTrace},
    Kind{{"Network Load Test", ""}, "a log of GPCNeT", kNoTrace},
    Kind{{"bandwidthTest", ""}, "a log of CUDA's bandwidthTest", kNoTrace},
    Kind{{"[CUDA Bandwidth Test]", ""}, "a log of CUDA's bandwidthTest", kNoTrace},
    Kind{{"==PROF==", ""}, "a log of Nsight Compute", kNoTrace},
    Kind{{"CUBLAS", "gpu__time_duration"}, "a log of Nsight Compute", kNoTrace},
    Kind{{"RDMA_Read", ""}, "a log of perftest", kNoTrace},
    Kind{{"RDMA_Write", ""}, "a log of perftest", kNoTrace},
    Kind{{"vendid=", "switchguid="}, "a network dump of ibnetdiscover", "describe the switches in a cluster file (docs/formats/scenario.md, section cluster)"},
    Kind{{"CA '", "Port 1:"}, "a list of adapters (ibstat)", kNoTrace},
    Kind{{"elapsed time per iteration (ms)", ""}, "a log of Megatron", kNoTrace},
    Kind{{"train_iter:", "time_gpu_avg"}, "operator times of AICB", "import the workload text that AICB makes from them"},
    Kind{{"Parameter_size", "Hidden_size"}, "a list of models of AICB", kNoTrace},
    Kind{{"Rank ID,Total Probability", ""}, "a table of AICB", kNoTrace},
    Kind{{"pp_stage0", "comm_type,"}, "a communication list of AICB with several pipeline stages", "cut it into one list a stage and import each"},
    Kind{{"NetworkLoad Tests", ""}, "a log of GPCNeT", kNoTrace},
    Kind{{"this application must be run on at least", ""}, "a log of GPCNeT", kNoTrace},
    Kind{{"_under_numa", ""}, "a log of copy bandwidths", kNoTrace},
    Kind{{"VM_hostname", ""}, "a list of adapters (ibstat)", kNoTrace},
    Kind{{"real_accelerator.py", ""}, "a log of DeepSpeed", kNoTrace},
    Kind{{"gpusched/workloads", ""}, "a job trace of Gavel", "a cluster's jobs are no run of one model"},
    Kind{{"\"philly\"", ""}, "a cluster of Gavel", kNoTrace},
    Kind{{"python3 main.py", ""}, "a job trace of Gavel", "a cluster's jobs are no run of one model"},
    Kind{{"('ResNet-18", ""}, "throughputs of Gavel", kNoTrace},
    Kind{{"\"v100\"", "\"k80\""}, "a cluster of Gavel", kNoTrace},
};

/// Roots of XML files.
constexpr std::array<std::array<std::string_view, 3>, 3> kRoots = {{
    {"platform", "a platform of SimGrid", "describe the machines in a cluster file (docs/formats/scenario.md, section cluster)"},
    {"adag", "a workflow of Pegasus (DAX)", kNoTrace},
    {"algo", "a collective algorithm of MSCCL", "collectives are modelled as NCCL runs them"},
}};

bool is_tar(std::string_view bytes) { return bytes.size() > 262 && bytes.substr(257, 5) == "ustar"; }

/// Field numbers of perfetto.protos.Trace and TracePacket that stand in the first packets of every trace (perfetto.dev, "Trace Packet").
constexpr std::uint32_t kPacket = 1;
constexpr std::array<std::uint32_t, 7> kPacketFields = {6, 8, 10, 11, 33, 36, 60};  // clocks, timestamp, sequence, event, configuration, mark, track

/// The first two packets, or the only one.
bool is_perfetto(std::string_view bytes) {
  int packets = 0;
  while (!bytes.empty() && packets < 2) {
    std::uint64_t tag = 0, length = 0;
    if (!protobuf::take_varint(bytes, tag) || tag != (kPacket << 3U | 2U) || !protobuf::take_varint(bytes, length) || length > bytes.size()) return false;
    protobuf::Message packet(bytes.substr(0, length));
    bool known = false;
    while (const auto field = packet.next()) known = known || std::find(kPacketFields.begin(), kPacketFields.end(), field->number) != kPacketFields.end();
    if (!known || packet.damaged()) return false;
    bytes.remove_prefix(length);
    ++packets;
  }
  return packets > 0;
}

/// A table: the first line has commas and no bracket or quote of JSON.
bool is_table(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  return line.size() < 4000 && line.find(',') != std::string_view::npos && line.find_first_of("{}[]\"<>\x1b") == std::string_view::npos && bytes.find('\0') == std::string_view::npos;
}

struct Verdict {
  std::string_view what, hint;
};

std::optional<Verdict> verdict_of(std::string_view bytes) {
  if (is_tar(bytes)) return Verdict{"a tar archive", "unpack it (tar xf FILE) and import the folder"};
  if (is_perfetto(bytes)) {
    return Verdict{"a Perfetto trace (as sgsim export --to perfetto writes them)", "import the trace that it was made from, or its export --to kineto or chakra; ui.perfetto.dev opens this one"};
  }
  const std::string_view root = xml::root_name(bytes);
  for (const auto& [name, what, hint] : kRoots) {
    if (root == name) return Verdict{what, hint};
  }
  for (const Kind& kind : kKinds) {
    if (bytes.find(kind.marks[0]) != std::string_view::npos && bytes.find(kind.marks[1]) != std::string_view::npos) return Verdict{kind.what, kind.hint};
  }
  if (is_table(bytes)) return Verdict{"a table of comma-separated values", "of such tables AICB's communication lists are read (comm_type,comm_group,...)"};
  return std::nullopt;
}

Imported refuse(const std::vector<std::string>& paths, const Progress&) {
  const auto verdict = verdict_of(read_head(paths.front()).bytes);
  throw InputError({.file = paths.front(), .where = "", .found = verdict ? std::string(verdict->what) : "a file of no known kind", .expected = "a trace, an operator graph or a topology",
                    .hint = verdict ? std::string(verdict->hint) : "sgsim import --formats says what is read"});
}

}  // namespace

Format format() {
  return {.name = "known",
          .description = "files of other programs that hold no trace, graph or topology: refused with what they are",
          .confidence = [](const FileHead& head) { return verdict_of(head.bytes) ? 10 : 0; },
          .read = refuse};
}

}  // namespace sgsim::import::known
