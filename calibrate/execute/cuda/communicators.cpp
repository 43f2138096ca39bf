#include "calibrate/execute/cuda/communicators.h"

#include <set>

#include "calibrate/device/cuda/nccl_group.h"

namespace sgsim::calibrate {

Communicators::Communicators(const ExecutableProgram& program) {
  std::set<std::uint32_t> used;
  for (const ProgramRank& rank : program.ranks) {
    for (const ProgramComm& comm : program.programs[rank.program].comms) used.insert(rank.groups[comm.slot]);
  }
  for (const std::uint32_t g : used) {
    const auto& members = program.groups[g].members;
    ncclUniqueId id{};
    check_nccl(ncclGetUniqueId(&id), "make an id");
    check_nccl(ncclGroupStart(), "begin a group");
    for (std::size_t m = 0; m < members.size(); ++m) {
      const DeviceScope scope(static_cast<int>(members[m]));
      check_nccl(ncclCommInitRank(&comms_[{g, members[m]}], static_cast<int>(members.size()), id, static_cast<int>(m)), "make a communicator");
    }
    check_nccl(ncclGroupEnd(), "make communicators");
  }
}

Communicators::~Communicators() {
  for (const auto& [key, comm] : comms_) (void)ncclCommDestroy(comm);
}

}  // namespace sgsim::calibrate
