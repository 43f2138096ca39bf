#pragma once

#include <string_view>

#include "sim/cost/make/tables.h"
#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// What differs between the GPUs before anything is measured.
struct GpuFacts {
  std::string_view name;          // of the profile
  bool hopper = false;            // persistent kernels, FP8, NVLink 4 with multicast
  std::string_view products;      // file in kernels/
  std::string_view collectives;   // file in kernels/
  double watts = 0.0;             // power limit of a part whose kernels are carried from the measured H200; 0: its own tables
};

/// Throws InputError for a name that is none of profile_names().
[[nodiscard]] const GpuFacts& gpu_facts(std::string_view name);
[[nodiscard]] Datasheet datasheet(std::string_view name);
/// The constants of the matrix product bound (matmul.h) of bfloat16, fitted once on this GPU family's table.
[[nodiscard]] MatmulModel product_model(bool hopper);
/// The nodes that the tables are thinned to.
[[nodiscard]] Thinning product_thinning(bool hopper);
/// Provenance of everything that is not made from a table: datasheets, launch model, interference, networks.
void add_sources(Profile& profile);
/// Launch models, interference, copy rates, network protocols: constants with their derivation in the sources' notes.
void add_constants(Profile& profile, bool hopper);

}  // namespace sgsim::cost::make
