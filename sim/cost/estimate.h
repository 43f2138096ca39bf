#pragma once

#include <cstdint>
#include <string>

#include "sim/core/quantity.h"

namespace sgsim::cost {

/// Where a number comes from, from best to worst.
enum class Source : std::uint8_t { measured, interpolated, fitted, analytic, assumed };
enum class Bound : std::uint8_t { compute, memory, latency, network };

/// A kernel's time with its parts, so that it can be explained.
struct Estimate {
  Seconds time;               // on the device, alone, launch gap excluded
  Flops flops;
  Bytes bytes;
  Bound bound = Bound::compute;
  Source source = Source::analytic;
  double sigma = 0.0;         // relative standard error of `time`, from the spread of its inputs
};

/// A collective or a point-to-point transfer, alone on its links: time = latency + wire_bytes / bandwidth.
struct TransferEstimate {
  Seconds latency;            // all hops and synchronisation steps
  Bytes wire_bytes;           // bytes one rank pushes through the bottleneck
  BytesPerSecond bandwidth;   // of the bottleneck, effective, for one rank
  std::string algorithm;      // "ring", "tree", "pairwise", "direct"
  std::string protocol;       // "LL", "LL128", "Simple"
  int channels = 1;
  bool inter_node = false;    // crosses the fabric: the simgrid engine makes flows of it
  Source source = Source::analytic;
  double sigma = 0.0;

  [[nodiscard]] Seconds time() const { return wire_bytes.value() == 0.0 ? latency : latency + wire_bytes / bandwidth; }
};

}  // namespace sgsim::cost
