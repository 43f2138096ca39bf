#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/graph/collective.h"

namespace sgsim::cost::make {

/// One measured matrix product x W^T of a published table.
struct ProductRow {
  std::int64_t m = 0, n = 0, k = 0;
  double us = 0.0;
};

/// Rows of one `gemm_dtype` of an AIConfigurator table (framework, version, device, op_name, kernel_source, gemm_dtype, m, n,
/// k, latency in ms), sorted by m, n, k. Several kernels of one shape: the fastest.
[[nodiscard]] std::vector<ProductRow> read_products(const std::string& path, std::string_view gemm_dtype);

/// One measured collective on one node.
struct CollectiveRow {
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  int ranks = 2;
  std::int64_t bytes = 0;  // nccl-tests size
  double us = 0.0;
};

/// Rows of element type half of an AIConfigurator table (message_size in elements of the nccl-tests buffer: all-gather of 8
/// then has the bus bandwidth of all-reduce of 8, as it must; 2 bytes each; latency in ms).
[[nodiscard]] std::vector<CollectiveRow> read_collectives(const std::string& path);

/// One measured forward attention, causal, q_len = kv_len.
struct AttentionRow {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, head_dim = 128, length = 0;
  double us = 0.0;
};

/// Rows `attention_fwd_causal` of published/kernels.json.gz of one GPU name and one kernel (a part of its notes).
[[nodiscard]] std::vector<AttentionRow> read_attention(const std::string& path, std::string_view gpu, std::string_view kernel);

}  // namespace sgsim::cost::make
