#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "sim/cost/cost.h"
#include "sim/cost/make/robust.h"
#include "sim/cost/make/traces.h"
#include "tests/support/catch.h"

namespace sgsim::cost::make {
namespace {

const std::string kTruth = std::string(SGSIM_SOURCE_DIR) + "/../shared/truth";

bool have_truth() {
  if (std::filesystem::exists(kTruth + "/h200")) return true;
  std::cout << "skipped: the validation data set is not beside the project\n";
  return false;
}

template <class Work>
std::vector<double> errors_of(const Profile& profile, const std::vector<Traced<Work>>& traced, const char* what) {
  std::vector<double> errors;
  Diagnostics diagnostics;
  double predicted = 0.0, measured = 0.0;
  for (const auto& t : traced) {
    const double us = kernel_time(profile, t.work, diagnostics).time.value() * 1e6;
    errors.push_back(std::abs(us / t.us - 1.0));
    predicted += us * t.calls;
    measured += t.us * t.calls;
  }
  if (!errors.empty()) {
    std::cout << fmt::format("  {}: {} shapes, median {:.1f} %, p90 {:.1f} %, total time {:+.1f} %\n", what, errors.size(), 100 * median(errors), 100 * quantile(errors, 0.9), 100 * (predicted / measured - 1.0));
  }
  return errors;
}

// The matrix products of real training steps, all layouts, on an H200: nothing but two layout factors was taken from them, the
// table is another laboratory's.
TEST_CASE("kernels of traced training steps on one H200") {
  if (!have_truth()) return;
  const Profile h200 = load_profile(std::string(SGSIM_SOURCE_DIR) + "/scenarios/profiles/h200.json");
  std::vector<double> products, attention;
  for (const char* run : {"gpt2_124m_mb1_compile", "gpt2_350m_compile", "llama_1b_compile", "llama_70b_l1_compile"}) {
    std::cout << run << "\n";
    const auto kernels = read_trace(kTruth + "/h200/" + run + ".trace.json.gz");
    for (const double e : errors_of(h200, traced_products(kernels), "matrix products")) products.push_back(e);
    for (const double e : errors_of(h200, traced_attention(kernels), "attention")) attention.push_back(e);
  }
  CHECK(median(products) <= 0.05);
  CHECK(quantile(products, 0.9) <= 0.15);
  CHECK(median(attention) <= 0.08);  // in sample: five constants a pass and head size
}

}  // namespace
}  // namespace sgsim::cost::make
