#pragma once

#include <string>
#include <vector>

#include "sim/import/format.h"

namespace sgsim::import::nsys {

/// SQLite exports of Nsight Systems 2020 to 2026 (nsys export --type sqlite), also gzip-packed.
[[nodiscard]] Format format();

/// A rank for each (process, device) with device work, ranks in order of device, then process (guessed and counted). NVTX
/// ranges of emit_nvtx are operators ("aten::mm, seq = 1, op_id = 2"), other ranges annotations; kernels, copies, sets, whole
/// CUDA graphs where only those were traced; API calls with the events and streams that the synchronisation tables tell.
/// Throws InputError.
[[nodiscard]] trace::ImportedRun read(const std::vector<std::string>& paths, const Progress& progress);
/// One export from its bytes (not packed).
[[nodiscard]] trace::ImportedRun parse(std::string bytes, const std::string& file);

}  // namespace sgsim::import::nsys
