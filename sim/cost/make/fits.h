#pragma once

#include <string>
#include <vector>

#include "sim/cost/make/rows.h"
#include "sim/cost/make/traces.h"
#include "sim/cost/profile.h"

namespace sgsim::cost::make {

/// Sets efficiency and critical_efficiency of the model of one pass, mask and head size to the least mean absolute log error
/// over the measured shapes it serves; sigma becomes that error's 90 % quantile over 1.645.
void fit_attention(const Profile& profile, AttentionModel& model, const std::vector<Traced<graph::Attention>>& measured);

/// The curve of one kind through scattered (bytes, time) points: at fixed sizes the local robust mean of
/// log(time / (floor + bytes / plateau)); monotone. `floor_us` and `plateau` are its ends where no kernel was seen.
[[nodiscard]] BandwidthCurve fit_curve(graph::MemoryKind kind, const std::vector<TracedBytes>& points, double floor_us, BytesPerSecond plateau);

/// The curve of another GPU: launch floor kept, everything above it longer by `slower`.
[[nodiscard]] BandwidthCurve scaled_curve(const BandwidthCurve& curve, double slower);

struct FitError {
  double median = 0.0, p90 = 0.0;
  int rows = 0;
};

/// Fits base, hop and efficiency of the protocols of the NVLink ring and of pairwise exchange, and "collective.local", to the
/// rows of one node (all-reduce of eight GPUs from 1 MB up is left out where the GPU has multicast, which takes it over).
FitError fit_collectives(Profile& profile, const std::vector<CollectiveRow>& rows, bool multicast);

/// Relative errors of the model, without the profile's sweeps, over rows of one node.
[[nodiscard]] std::vector<double> collective_errors(const Profile& profile, const std::vector<CollectiveRow>& rows);

/// Layout factors of matrix products: medians of measured over predicted time by layout, against the linear layer's own.
struct LayoutFactors {
  double linear = 1.0, nn = 1.0, nt = 1.0;  // linear: measured over the table's prediction
  double spread = 0.0;                      // p90 of |measured / predicted - 1| over all
  int shapes = 0;
};
[[nodiscard]] LayoutFactors layout_factors(const Profile& profile, const std::vector<Traced<graph::Matmul>>& measured);

}  // namespace sgsim::cost::make
