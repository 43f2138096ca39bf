#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/quantity.h"
#include "sim/cost/cost.h"
#include "sim/cost/estimate.h"
#include "sim/graph/collective.h"
#include "sim/graph/dtype.h"
#include "sim/graph/work.h"

namespace sgsim::cost {

enum class ProvenanceKind : std::uint8_t { measured, published, fitted, assumed };

/// Where numbers come from. Profile::sources holds them by key; every table and constant names its key.
struct Provenance {
  ProvenanceKind kind = ProvenanceKind::assumed;
  std::string source;    // file, paper or page, exact enough to find it again
  std::string machine;   // what it was measured on; empty for a datasheet or an assumption
  std::string date;      // of the measurement or publication, ISO; empty when the source gives none
  std::string software;  // driver and library versions, as far as the source gives them
  std::string note;      // derivation, what it was fitted on, error of the fit, licence
  bool operator==(const Provenance&) const = default;
};

template <class T>
struct Sourced {
  T value{};
  std::string source;  // key of Profile::sources
  bool operator==(const Sourced&) const = default;
};

/// The GPU by its datasheet; dense rates.
struct Datasheet {
  std::string name;                                      // "NVIDIA A100-SXM4-80GB"
  Sourced<int> sms;
  Sourced<double> clock_hz;                              // boost clock
  Sourced<Bytes> memory;
  Sourced<BytesPerSecond> hbm_bandwidth;
  Sourced<Bytes> l2;
  std::map<graph::DType, Sourced<FlopsPerSecond>> peak;  // matrix units; float32: as TF32 when products may use it
  Sourced<FlopsPerSecond> vector_peak;                   // float32 on the CUDA cores
  bool operator==(const Datasheet&) const = default;
};

/// How well an interpolation predicts rows that it has not seen (relative errors).
struct HeldOut {
  int rows = 0;
  double median = 0.0, p90 = 0.0;
  bool operator==(const HeldOut&) const = default;
};

/// One shape of output tile that the library's kernels use, and its rate against the best tile.
struct Tile {
  std::int64_t m = 128, n = 256;
  double efficiency = 1.0;
  bool operator==(const Tile&) const = default;
};

/// Constants of the analytic bound of a matrix product of one type (matmul.h has the formula).
struct MatmulModel {
  graph::DType dtype = graph::DType::bfloat16;
  std::vector<Tile> tiles;             // empty: work spreads evenly over the SMs (persistent kernels with many tile shapes)
  double wave_weight = 0.0;            // 0..1: how much of a last, partly filled wave of tiles costs as a full one
  double partial_wave_weight = 0.0;    // the same where all tiles fit in one wave
  double k_overhead = 0.0;             // prologue and epilogue of a tile, in elements of k
  double math_efficiency = 1.0;        // of the peak rate where no table corrects the bound
  double memory_efficiency = 1.0;      // of the HBM bandwidth
  double sharpness = 8.0;              // p-norm that joins arithmetic and memory time; large: their maximum
  Seconds fixed;                       // start and end of the kernel
  double nn_factor = 1.0;              // time of a * b over a * b^T, both row-major (input gradient of a linear layer)
  double nt_factor = 1.0;              // time of a^T * b over a * b^T (weight gradient)
  double unaligned_factor = 1.0;       // time when a row is no multiple of 16 bytes over the same shape aligned
  double sigma = 0.0;                  // relative spread of measured over this bound
  std::string source;
  bool operator==(const MatmulModel&) const = default;
};

/// Measured matrix products of one type and layout on a grid; `time_ns` is batch-major, then m, n, k; 0 = not measured.
struct MatmulTable {
  graph::DType dtype = graph::DType::bfloat16;
  bool a_transposed = false, b_transposed = true;        // as graph::Matmul; a linear layer's forward is (false, true)
  std::vector<std::int64_t> batch{1}, m, n, k;           // ascending
  std::vector<std::int64_t> time_ns;
  HeldOut held_out;
  std::string source;
  bool operator==(const MatmulTable&) const = default;
};

/// Measured fused attention of one type, pass, mask and head size, q_len = kv_len = length; `time_ns` is group-major, then
/// batch_heads, then length; 0 = not measured.
struct AttentionTable {
  graph::DType dtype = graph::DType::bfloat16;
  graph::Pass pass = graph::Pass::forward;
  bool causal = true, dense_mask = false;
  std::int64_t head_dim = 128;
  std::vector<std::int64_t> group;                       // query heads that share a key-value head
  std::vector<std::int64_t> batch_heads;                 // batch * heads
  std::vector<std::int64_t> length;
  std::vector<std::int64_t> time_ns;
  HeldOut held_out;
  std::string source;
  bool operator==(const AttentionTable&) const = default;
};

/// Constants of the bound of fused attention that counts waves of blocks over the SMs (attention.h has the formula).
struct AttentionWaves {
  double efficiency = 0.5;             // of one SM's peak rate within a block of products
  Seconds start;                       // of a thread block: its rows loaded, its result written
  double wave_weight = 1.0;            // 0..1: how much of a last, partly filled wave costs as a full one (no causal mask)
  double tail = 0.5;                   // of the longest thread block that ends after the others (causal mask)
  double ragged = 1.0;                 // time of blocks of a length that is no multiple of 128 over others
  bool operator==(const AttentionWaves&) const = default;
};

/// Constants of the analytic bound of fused attention of one pass and head size (attention.h has the formula). The model
/// of the nearest head size is used.
struct AttentionModel {
  graph::Pass pass = graph::Pass::forward;
  bool dense_mask = false;
  std::int64_t head_dim = 128;
  double efficiency = 0.5;             // of the peak rate, counting graph::flops_of
  double critical_efficiency = 0.5;    // of one SM's peak rate, for the longest tile of rows
  Seconds fixed;                       // start and end; backward: of its helper kernels too
  double sigma = 0.0;
  std::string source;
  std::optional<AttentionWaves> waves = {};  // takes the place of the two efficiencies where it was fitted
  bool operator==(const AttentionModel&) const = default;
};

struct ConvolutionPoint {
  graph::Convolution work;
  std::int64_t time_ns = 0;
  std::string source;
  bool operator==(const ConvolutionPoint&) const = default;
};

/// Time of bandwidth-bound kernels of one kind over the bytes they move (memory_bound.h): launch floor, ramp and plateau.
struct BandwidthCurve {
  graph::MemoryKind kind = graph::MemoryKind::pointwise;
  std::vector<std::int64_t> bytes, time_ns;              // ascending; straight in log-log between points
  double sigma = 0.0;
  std::string source;
  bool counts_sum = false;                               // softmax and cross-entropy too: over read plus written, not the larger
  bool operator==(const BandwidthCurve&) const = default;
};

enum class Protocol : std::uint8_t { ll, ll128, simple };
enum class Algorithm : std::uint8_t { ring, tree, nvls, pairwise, direct };
enum class LinkClass : std::uint8_t { nvlink, pcie, network };

/// One algorithm and protocol over one kind of link, as NCCL's tuner sees it (collective.h has the formulas). `ring` serves
/// trees too, `pairwise` single sends too.
struct ProtocolCost {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  LinkClass link = LinkClass::nvlink;
  Seconds base;                        // once an operation
  Seconds hop;                         // each step over such a link; network: beside the NIC's and switches' latency
  double efficiency = 1.0;             // of the raw bandwidth
  std::string source;
  bool operator==(const ProtocolCost&) const = default;
};

/// A measured sweep of one operation on one node: corrects the model where operation and ranks match.
struct CollectiveSweep {
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  int ranks = 2;
  std::vector<std::int64_t> bytes, time_ns;              // nccl-tests sizes (graph/collective.h)
  std::string source;
  bool operator==(const CollectiveSweep&) const = default;
};

/// Everything a GPU and its links can do, and how we know. Machine-independent inputs (NIC rates) are the cluster's.
struct Profile {
  std::string name;                                      // "a100-80gb"
  std::map<std::string, Provenance> sources;
  std::map<std::string, std::string> environment;        // of the measuring machine: driver, clocks, topology
  Datasheet gpu;
  std::vector<MatmulModel> matmul_models;
  std::vector<MatmulTable> matmul_tables;
  std::vector<AttentionModel> attention_models;
  std::vector<AttentionTable> attention_tables;
  std::vector<ConvolutionPoint> convolutions;
  std::vector<BandwidthCurve> bandwidth_curves;
  std::vector<ProtocolCost> protocols;
  std::vector<CollectiveSweep> sweeps;
  std::map<std::string, Sourced<double>> factors;        // dimensionless, by name ("interference.intra.compute")
  std::map<std::string, Sourced<Seconds>> times;         // by name ("launch.eager.host_per_operator", "graph.instantiate_per_node")
  std::map<std::string, Sourced<BytesPerSecond>> rates;  // by name ("copy.host_to_device.pinned")
  bool operator==(const Profile&) const = default;
};

/// Reads a profile file (docs/formats/profile.md). Throws InputError: file, JSON path, found, expected.
[[nodiscard]] Profile load_profile(const std::filesystem::path& path);
/// The same from text; `file` names it in errors.
[[nodiscard]] Profile profile_from_text(std::string_view text, const std::string& file);
/// The file's text: canonical (keys sorted, one number format), so that equal profiles give equal bytes.
[[nodiscard]] std::string to_text(const Profile& profile);
/// Throws EnvironmentError when the file cannot be written.
void save_profile(const Profile& profile, const std::filesystem::path& path);

}  // namespace sgsim::cost
