#include "calibrate/device/cuda/nccl_group.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/core/error.h"

namespace sgsim::calibrate {

void check_nccl(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  throw EnvironmentError(std::string("NCCL could not ") + what + ": " + ncclGetErrorString(status) + " (" + ncclGetLastError(nullptr) + ")");
}

namespace {

std::filesystem::path own_file(const char* name) {
  return std::filesystem::temp_directory_path() / ("sgsim-calibrate-" + std::to_string(getpid()) + "-" + name);
}

/// Sets an environment variable while it lives: NCCL reads NCCL_PROTO when a communicator is made.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(value.empty() ? nullptr : name) {
    if (name_ != nullptr) (void)setenv(name_, value.c_str(), 1);
  }
  ~Variable() {
    if (name_ != nullptr) (void)unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

}  // namespace

NcclGroup::NcclGroup(const NcclOptions& options) {
  int devices = 0;
  check_cuda(cudaGetDeviceCount(&devices), "count the GPUs");
  SGSIM_CHECK(options.ranks >= 1 && options.ranks <= devices, "a rank a local GPU");
  const Variable protocol("NCCL_PROTO", options.protocol);
  ncclUniqueId id{};
  check_nccl(ncclGetUniqueId(&id), "make an id");
  comms_.resize(static_cast<std::size_t>(options.ranks));
  check_nccl(ncclGroupStart(), "begin a group");
  for (int rank = 0; rank < options.ranks; ++rank) {
    const DeviceScope scope(rank);
    streams_.emplace_back();
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (options.channels > 0) {
      config.minCTAs = 1;
      config.maxCTAs = options.channels;
    }
    check_nccl(ncclCommInitRankConfig(&comms_[static_cast<std::size_t>(rank)], options.ranks, id, rank, &config), "make a communicator");
  }
  check_nccl(ncclGroupEnd(), "make communicators");
}

NcclGroup::~NcclGroup() {
  for (const ncclComm_t comm : comms_) (void)ncclCommDestroy(comm);
}

void NcclGroup::synchronize() const {
  for (int rank = 0; rank < ranks(); ++rank) {
    const DeviceScope scope(rank);
    streams_[static_cast<std::size_t>(rank)].synchronize();
  }
}

void NcclGroup::enqueue(CollectiveKind kind, const std::vector<void*>& in, const std::vector<void*>& out, std::int64_t bytes) const {
  const auto n = static_cast<std::size_t>(ranks());
  const std::size_t count = static_cast<std::size_t>(bytes) / 2, part = count / n;
  check_nccl(ncclGroupStart(), "begin a group");
  for (std::size_t r = 0; r < n; ++r) {
    const ncclComm_t comm = comms_[r];
    const cudaStream_t s = streams_[r].get();
    switch (kind) {
      case CollectiveKind::all_reduce: check_nccl(ncclAllReduce(in[r], out[r], count, ncclBfloat16, ncclSum, comm, s), "all-reduce"); break;
      case CollectiveKind::all_gather: check_nccl(ncclAllGather(in[r], out[r], part, ncclBfloat16, comm, s), "all-gather"); break;
      case CollectiveKind::reduce_scatter: check_nccl(ncclReduceScatter(in[r], out[r], part, ncclBfloat16, ncclSum, comm, s), "reduce-scatter"); break;
      case CollectiveKind::broadcast: check_nccl(ncclBroadcast(in[r], out[r], count, ncclBfloat16, 0, comm, s), "broadcast"); break;
      case CollectiveKind::send_receive:
        check_nccl(ncclSend(in[r], count, ncclBfloat16, static_cast<int>((r + 1) % n), comm, s), "send");
        check_nccl(ncclRecv(out[r], count, ncclBfloat16, static_cast<int>((r + n - 1) % n), comm, s), "receive");
        break;
      case CollectiveKind::all_to_all:
        for (std::size_t peer = 0; peer < n; ++peer) {
          check_nccl(ncclSend(static_cast<char*>(in[r]) + peer * part * 2, part, ncclBfloat16, static_cast<int>(peer), comm, s), "send");
          check_nccl(ncclRecv(static_cast<char*>(out[r]) + peer * part * 2, part, ncclBfloat16, static_cast<int>(peer), comm, s), "receive");
        }
        break;
    }
  }
  check_nccl(ncclGroupEnd(), "end a group");
}

NcclFiles::NcclFiles() {
  (void)setenv("NCCL_NVLS_ENABLE", "0", 1);
  (void)setenv("NCCL_DEBUG", "INFO", 1);
  (void)setenv("NCCL_DEBUG_SUBSYS", "TUNING", 1);
  (void)setenv("NCCL_DEBUG_FILE", own_file("nccl.log").c_str(), 1);
  (void)setenv("NCCL_TOPO_DUMP_FILE", own_file("topology.xml").c_str(), 1);
}

NcclFiles::~NcclFiles() {
  std::error_code ignored;  // never written without a communicator
  for (const char* name : {"nccl.log", "topology.xml"}) std::filesystem::remove(own_file(name), ignored);
}

std::vector<NcclChoice> new_nccl_choices() {
  static std::streamoff read = 0;
  std::ifstream log(own_file("nccl.log"));
  if (!log) return {};
  log.seekg(read);
  const std::string text((std::istreambuf_iterator<char>(log)), {});
  const std::size_t whole = text.rfind('\n') + 1;
  read += static_cast<std::streamoff>(whole);
  return parse_tuning_log(std::string_view(text).substr(0, whole));
}

std::string nccl_topology_xml() {
  std::ifstream file(own_file("topology.xml"));
  return {(std::istreambuf_iterator<char>(file)), {}};
}

std::string nccl_version() {
  int v = 0;
  check_nccl(ncclGetVersion(&v), "tell its version");
  return std::to_string(v / 10000) + "." + std::to_string(v % 10000 / 100) + "." + std::to_string(v % 100);
}

}  // namespace sgsim::calibrate
