#include "sim/replay/kernel_factors.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/core/error.h"
#include "sim/cost/cost.h"
#include "sim/replay/captured_work.h"

namespace sgsim::replay {
namespace {

/// Of all that a kernel may have computed, what the cost model times nearest to the captured time decides.
std::optional<double> by_model(const std::vector<WorkPair>& pairs, double captured_s, const Rescale& request, Diagnostics& report) {
  std::optional<double> factor;
  double nearest = std::numeric_limits<double>::infinity();
  for (const WorkPair& pair : pairs) {
    try {
      Diagnostics of_captured, of_wanted;
      const double before = cost::kernel_time(request.from.profile, pair.captured, of_captured).time.value();
      const double distance = std::fabs(std::log(before / captured_s));
      if (!(before > 0.0) || distance >= nearest) continue;
      const double after = cost::kernel_time(request.to.profile, pair.wanted, of_wanted).time.value();
      nearest = distance;
      factor = after / before;
      report = of_wanted;
    } catch (const InputError&) {  // the profile has no model of this type: as if the work were not known
    }
  }
  return factor;
}

/// What another tensor size leaves whole, and what not.
class Divisibility {
 public:
  Divisibility(const trace::ImportedRun& run, const trace::RankTrace& rank, const Rescale& request) : run_(run), rank_(rank), captured_(request.captured.tp), wanted_(request.wanted.tp) {}

  void take_heads(std::int64_t heads, trace::Text name) {
    known_ = true;
    if (heads * captured_ % wanted_ != 0) refuse(fmt::format("tensor parallel size {}, and {} heads in all ({} on each of {} captured ranks, times sequences; {})", wanted_, heads * captured_, heads, captured_, run_.strings.at(name)), "a size that divides them");
  }
  void take_product(bool divides, double time) {
    known_ = true;
    (divides ? divided_ : not_divided_) += time;
  }
  void decide() const {
    if (not_divided_ > divided_) refuse(fmt::format("tensor parallel size {}, which leaves no whole columns or rows of most matrix products captured with {}", wanted_, captured_), "a size that divides them");
    if (!known_ && wanted_ % captured_ != 0 && captured_ % wanted_ != 0) {
      refuse(fmt::format("tensor parallel size {}, captured {}", wanted_, captured_), "a multiple or a divisor of the captured size: the file tells no shapes by which another could be judged");
    }
  }

 private:
  [[noreturn]] void refuse(std::string found, std::string expected) const {
    throw InputError({.file = rank_.file, .where = "--tp", .found = std::move(found), .expected = std::move(expected),
                      .hint = captured_ > 1 ? fmt::format("for example --tp {} or --tp {}", captured_ * 2, captured_ % 2 == 0 ? captured_ / 2 : 1) : ""});
  }
  const trace::ImportedRun& run_;
  const trace::RankTrace& rank_;
  std::int64_t captured_, wanted_;
  bool known_ = false;
  double divided_ = 0.0, not_divided_ = 0.0;
};

}  // namespace

std::vector<double> kernel_factors(const trace::ImportedRun& run, const trace::RankTrace& rank, const std::array<double, trace::kKernelKinds>& by_kind, const Rescale& request, Diagnostics& report) {
  std::vector<double> factors(rank.device_ops.size(), 1.0);
  const double share = static_cast<double>(request.captured.tp) / request.wanted.tp;
  if (share == 1.0 && request.from.profile.gpu.name == request.to.profile.gpu.name) return factors;
  const CapturedWork work(run, rank, share);
  Divisibility divisibility(run, rank, request);
  std::map<std::tuple<trace::Text, trace::Text, double, double, trace::Nanoseconds>, std::optional<double>> known;  // kernels repeat
  std::uint64_t modelled = 0, others = 0;
  std::string example;
  for (std::uint32_t i = 0; i < factors.size(); ++i) {
    const trace::DeviceOp& op = rank.device_ops[i];
    const auto kind = trace::kernel_kind(run, op);
    factors[i] = by_kind[static_cast<std::size_t>(kind)];
    if (op.duration <= 0 || kind == trace::KernelKind::communication) continue;
    const trace::Text shapes = op.op == trace::kNone ? 0 : rank.ops[op.op].shapes;
    const auto [found, is_new] = known.try_emplace({op.name, shapes, op.flops, op.bytes, op.duration}, std::nullopt);
    if (is_new) {
      Diagnostics of_model;
      const std::vector<WorkPair> pairs = work.of(i);
      found->second = by_model(pairs, static_cast<double>(op.duration) * 1e-9, request, of_model);
      if (const auto heads = share == 1.0 ? std::nullopt : work.heads_of(i)) divisibility.take_heads(*heads, op.name);
      if (!pairs.empty() && kind == trace::KernelKind::matmul) divisibility.take_product(CapturedWork::divides(pairs.front(), share), static_cast<double>(op.duration));
      if (!pairs.empty() && !CapturedWork::divides(pairs.front(), share)) {
        report.add("import.rescale.tensor_size_does_not_divide", Severity::warning, run.strings.at(op.name) + fmt::format(": tensor size {} does not divide its heads or columns, which are rounded", request.wanted.tp));
      }
      report.merge(of_model);
    }
    if (found->second) factors[i] = *found->second;
    ++(found->second ? modelled : others);
    if (!found->second && example.empty()) example = run.strings.at(op.name);
  }
  if (share != 1.0) divisibility.decide();
  const std::string extents = work.undivided() && share != 1.0 ? fmt::format("; {} and {} are not divided", work.undivided()->tokens, work.undivided()->hidden) : std::string();
  if (modelled > 0) report.add("import.rescale.kernels_by_model", Severity::info, "the cost model's time for the wanted work over that for the captured" + extents, modelled);
  if (others > 0) report.add("import.rescale.kernels_by_kind", Severity::warning, example + " is scaled by its kind: the file does not tell its work", others);
  return factors;
}

}  // namespace sgsim::replay
