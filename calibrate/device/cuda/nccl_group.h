#pragma once

#include <nccl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/device/cuda/cuda.h"
#include "calibrate/device/nccl_names.h"

namespace sgsim::calibrate {

/// The one checked call of NCCL: throws EnvironmentError with its words.
void check_nccl(ncclResult_t status, const char* what);

enum class CollectiveKind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_receive };

/// How a communicator is made.
struct NcclOptions {
  int ranks = 1;               // GPUs 0 .. ranks - 1
  std::string protocol;        // "LL", "LL128", "Simple": forced; empty: NCCL's choice
  int channels = 0;            // most thread blocks; 0: NCCL's choice
  int number = 0;              // tells communicators of equal options apart
  auto operator<=>(const NcclOptions&) const = default;
};

/// One communicator over local GPUs, all driven by the calling thread, with a stream on each.
class NcclGroup {
 public:
  explicit NcclGroup(const NcclOptions& options);
  ~NcclGroup();
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;

  [[nodiscard]] int ranks() const { return static_cast<int>(comms_.size()); }
  [[nodiscard]] cudaStream_t stream(int rank) const { return streams_[static_cast<std::size_t>(rank)].get(); }
  /// Enqueues the operation on every rank's stream, bfloat16 sums. `bytes` as nccl-tests counts: the whole buffer.
  void enqueue(CollectiveKind kind, const std::vector<void*>& in, const std::vector<void*>& out, std::int64_t bytes) const;
  void synchronize() const;

 private:
  std::vector<ncclComm_t> comms_;
  std::vector<Stream> streams_;
};

/// Makes NCCL log its choices (subsystem TUNING) and its topology into files of this process, and switches NVLink multicast
/// off. To be made before the first communicator; takes the files away when it goes.
class NcclFiles {
 public:
  NcclFiles();
  ~NcclFiles();
  NcclFiles(const NcclFiles&) = delete;
  NcclFiles& operator=(const NcclFiles&) = delete;
};
/// What NCCL logged since the last call.
[[nodiscard]] std::vector<NcclChoice> new_nccl_choices();
/// PCIe, NVLink and NICs as NCCL found them; empty before the first communicator.
[[nodiscard]] std::string nccl_topology_xml();
[[nodiscard]] std::string nccl_version();

}  // namespace sgsim::calibrate
