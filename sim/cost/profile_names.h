#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/cost/profile.h"

namespace sgsim::cost {

/// The words that files use for the enumerations of a profile, in enumeration order.
template <class Enum>
struct Names;

template <>
struct Names<ProvenanceKind> {
  static constexpr std::string_view what = "kind";
  static constexpr std::string_view words[] = {"measured", "published", "fitted", "assumed"};
};
template <>
struct Names<graph::Pass> {
  static constexpr std::string_view what = "pass";
  static constexpr std::string_view words[] = {"forward", "backward"};
};
template <>
struct Names<graph::ConvolutionPass> {
  static constexpr std::string_view what = "convolution pass";
  static constexpr std::string_view words[] = {"forward", "input_gradient", "weight_gradient"};
};
template <>
struct Names<graph::MemoryKind> {
  static constexpr std::string_view what = "kind of memory-bound kernel";
  static constexpr std::string_view words[] = {"pointwise", "reduction", "norm", "softmax", "cross_entropy", "embedding",
                                               "embedding_gradient", "copy", "transpose", "optimizer", "gather_scatter", "pooling"};
};
template <>
struct Names<Protocol> {
  static constexpr std::string_view what = "protocol";
  static constexpr std::string_view words[] = {"LL", "LL128", "Simple"};
};
template <>
struct Names<Algorithm> {
  static constexpr std::string_view what = "algorithm";
  static constexpr std::string_view words[] = {"ring", "tree", "nvls", "pairwise", "direct"};
};
template <>
struct Names<LinkClass> {
  static constexpr std::string_view what = "kind of link";
  static constexpr std::string_view words[] = {"nvlink", "pcie", "network"};
};
template <>
struct Names<graph::CollectiveOp> {
  static constexpr std::string_view what = "collective operation";
  static constexpr std::string_view words[] = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send_receive"};
};

template <class Enum>
constexpr std::string_view name_of(Enum value) {
  return Names<Enum>::words[static_cast<std::size_t>(value)];
}

}  // namespace sgsim::cost
