#include "sim/lower/program/stage_program.h"

#include <algorithm>
#include <utility>

#include "sim/core/error.h"

namespace sgsim::lower {
namespace {

std::uint32_t intern(std::string_view text, std::map<std::string, std::uint32_t, std::less<>>& index, std::vector<std::string>& table) {
  const auto found = index.find(text);
  if (found != index.end()) return found->second;
  table.emplace_back(text);
  return index.emplace(std::string(text), static_cast<std::uint32_t>(table.size() - 1)).first->second;
}

}  // namespace

StageProgram::StageProgram(std::string name) {
  skeleton_.program.name = std::move(name);
  (void)stream("compute");
}

NameId StageProgram::name(std::string_view text) { return NameId{intern(text, names_, skeleton_.program.names)}; }

std::uint32_t StageProgram::label(std::string_view text) { return intern(text, labels_, skeleton_.labels); }

std::uint16_t StageProgram::stream(std::string_view text) {
  auto& streams = skeleton_.program.streams;
  const auto found = std::find(streams.begin(), streams.end(), text);
  if (found != streams.end()) return static_cast<std::uint16_t>(found - streams.begin());
  streams.emplace_back(text);
  positions_.push_back(0);
  return static_cast<std::uint16_t>(streams.size() - 1);
}

std::uint32_t StageProgram::comm(Slot slot, graph::CollectiveOp op, Bytes payload, std::string_view text) {
  const CommUse use{.slot = slot, .op = op, .payload = payload};
  const NameId id = name(text);
  const auto [found, added] = comms_.try_emplace({use, id.value}, static_cast<std::uint32_t>(skeleton_.uses.size()));
  if (!added) return found->second;
  auto& slots = skeleton_.slots;
  const auto at = std::find(slots.begin(), slots.end(), slot) - slots.begin();
  if (static_cast<std::size_t>(at) == slots.size()) slots.push_back(slot);
  skeleton_.uses.push_back(use);
  skeleton_.program.comms.push_back({.slot = static_cast<std::uint16_t>(at), .name = id, .transfer = {}, .payload = payload, .op = op});
  return found->second;
}

std::uint32_t StageProgram::add_segment(const Segment& segment) {
  skeleton_.program.segments.push_back(segment);
  return static_cast<std::uint32_t>(skeleton_.program.segments.size() - 1);
}

std::uint32_t StageProgram::add_kernel(const KernelCost& kernel) {
  skeleton_.program.kernels.push_back(kernel);
  return static_cast<std::uint32_t>(skeleton_.program.kernels.size() - 1);
}

std::uint32_t StageProgram::add_parts(const std::vector<Part>& parts) {
  auto& all = skeleton_.program.parts;
  all.insert(all.end(), parts.begin(), parts.end());
  return static_cast<std::uint32_t>(all.size() - parts.size());
}

KernelCost StageProgram::kernel_cost(const compile::Kernel& kernel, const cost::Estimate& estimate, const std::vector<std::string>& modules) {
  const auto found = kernel_costs_.find(&kernel);
  if (found != kernel_costs_.end()) return found->second;
  const bool known = kernel.module.valid() && kernel.module.value < modules.size();
  const KernelCost cost{.name = name(kernel.name), .module = name(known ? std::string_view(modules[kernel.module.value]) : "").value, .estimate = estimate};
  kernel_costs_.emplace(&kernel, cost);
  return cost;
}

std::uint32_t StageProgram::add_piece(Piece piece) {
  produced_.resize(next_token_);
  skeleton_.pieces.push_back(std::move(piece));
  return static_cast<std::uint32_t>(skeleton_.pieces.size() - 1);
}

void StageProgram::reserve(const std::vector<std::uint32_t>& pieces) {
  std::size_t tasks = skeleton_.program.tasks.size(), dependencies = skeleton_.program.dependencies.size();
  for (const std::uint32_t index : pieces) {
    const Piece& piece = skeleton_.pieces[index];
    tasks += piece.steps.size();
    for (const Step& step : piece.steps) dependencies += step.wait_count + (step.after_compute ? 1 : 0);
  }
  constexpr std::size_t kRest = 64;  // the pieces before and after the passes
  skeleton_.program.tasks.reserve(tasks + kRest);
  skeleton_.program.dependencies.reserve(dependencies + kRest);
  skeleton_.emissions.reserve(pieces.size() + 2);
}

void StageProgram::add_dependency(Dependency dependency, std::uint32_t first) {
  auto& all = skeleton_.program.dependencies;
  for (std::size_t i = first; i < all.size(); ++i) {
    if (all[i].stream == dependency.stream) {
      all[i].position = std::max(all[i].position, dependency.position);
      return;
    }
  }
  all.push_back(dependency);
}

void StageProgram::lay(std::uint32_t index, std::int32_t micro_batch) {
  const Piece& piece = skeleton_.pieces[index];
  Program& program = skeleton_.program;
  skeleton_.emissions.push_back({.piece = index, .first_task = static_cast<std::uint32_t>(program.tasks.size()), .micro_batch = micro_batch});
  for (const Step& step : piece.steps) {
    const auto first = static_cast<std::uint32_t>(program.dependencies.size());
    if (step.after_compute && step.stream != 0 && positions_[0] > 0) add_dependency({.stream = 0, .position = positions_[0]}, first);
    for (std::uint32_t w = step.first_wait; w < step.first_wait + step.wait_count; ++w) {
      const Token token = piece.waits[w];
      if (!token.valid() || token.value >= produced_.size()) continue;
      const Dependency dependency = produced_[token.value];
      if (dependency.position > 0 && dependency.stream != step.stream) add_dependency(dependency, first);
    }
    const auto count = static_cast<std::uint32_t>(program.dependencies.size()) - first;
    program.tasks.push_back({.kind = step.kind, .stream = step.stream, .first_dependency = first, .dependency_count = count,
                             .device = step.cost.device, .issue_to_end = step.cost.issue_to_end, .host = step.cost.host,
                             .comm = step.comm, .segment = step.segment, .micro_batch = micro_batch});
    ++positions_[step.stream];
    if (step.produces.valid()) produced_[step.produces.value] = {.stream = step.stream, .position = positions_[step.stream]};
  }
}

Skeleton StageProgram::finish() && { return std::move(skeleton_); }

}  // namespace sgsim::lower
