#include "sim/scenario/program_totals.h"

#include <vector>

namespace sgsim::scenario {
namespace {

using lower::TaskKind;

/// How often each segment and each communication is used in a step.
struct Uses {
  std::vector<double> segments, comms;
};

Uses uses_of(const lower::Program& program) {
  Uses uses{std::vector<double>(program.segments.size()), std::vector<double>(program.comms.size())};
  for (const lower::Task& task : program.tasks) {
    switch (task.kind) {
      case TaskKind::compute:
      case TaskKind::copy:
        uses.segments.at(task.segment) += 1.0;
        break;
      case TaskKind::collective:
      case TaskKind::send:
      case TaskKind::receive:
        uses.comms.at(task.comm) += 1.0;
        break;
      case TaskKind::host_sync:
        break;
    }
  }
  for (std::size_t s = 0; s < program.segments.size(); ++s) {
    const lower::Segment& segment = program.segments[s];
    for (std::uint32_t p = segment.first_part; p < segment.first_part + segment.part_count; ++p) {
      if (program.parts.at(p).is_collective()) uses.comms.at(program.parts[p].comm) += uses.segments[s];
    }
  }
  return uses;
}

void add(ProgramTotals::Item& item, Seconds time, double sigma, double launches) {
  item.time += time * launches;
  item.error += time * (sigma * launches);
  item.launches += launches;
}

/// Sums by index of a program's names, without a look-up by text for each kernel.
using ItemsByName = std::vector<ProgramTotals::Item>;

std::map<std::string, ProgramTotals::Item> by_text(const ItemsByName& items, const std::vector<std::string>& names) {
  std::map<std::string, ProgramTotals::Item> result;
  for (std::size_t n = 0; n < items.size(); ++n) {
    if (items[n].launches == 0.0) continue;
    ProgramTotals::Item& sum = result[names[n]];
    sum.time += items[n].time;
    sum.error += items[n].error;
    sum.launches += items[n].launches;
  }
  return result;
}

void add_items(std::map<std::string, ProgramTotals::Item>& into, const std::map<std::string, ProgramTotals::Item>& from, double weight) {
  for (const auto& [name, item] : from) {
    ProgramTotals::Item& sum = into[name];
    sum.time += item.time * weight;
    sum.error += item.error * weight;
    sum.launches += item.launches * weight;
  }
}

}  // namespace

ProgramTotals totals_of(const lower::Program& program) {
  const Uses uses = uses_of(program);
  ProgramTotals totals;
  ItemsByName kernels(program.names.size()), layers(program.names.size()), communication(program.names.size());
  for (std::size_t s = 0; s < program.segments.size(); ++s) {
    if (uses.segments[s] == 0.0) continue;
    const lower::Segment& segment = program.segments[s];
    for (std::uint32_t k = 0; k < segment.kernel_count; ++k) {
      const lower::KernelCost& kernel = program.kernels.at(segment.first_kernel + k);
      const cost::Estimate& e = kernel.estimate;
      add(kernels.at(kernel.name.value), e.time, e.sigma, uses.segments[s]);
      add(layers.at(kernel.module), e.time, e.sigma, uses.segments[s]);
      totals.compute_by_source[static_cast<std::size_t>(e.source)] += e.time * uses.segments[s];
    }
  }
  for (std::size_t c = 0; c < program.comms.size(); ++c) {
    if (uses.comms[c] == 0.0) continue;
    const lower::Comm& comm = program.comms[c];
    const cost::TransferEstimate& e = comm.transfer;
    add(communication.at(comm.name.value), e.time(), e.sigma, uses.comms[c]);
    totals.comm_by_source[static_cast<std::size_t>(e.source)] += e.time() * uses.comms[c];
  }
  totals.kernels = by_text(kernels, program.names);
  totals.layers = by_text(layers, program.names);
  totals.communication = by_text(communication, program.names);
  return totals;
}

void accumulate(ProgramTotals& into, const ProgramTotals& from, double weight) {
  add_items(into.kernels, from.kernels, weight);
  add_items(into.layers, from.layers, weight);
  add_items(into.communication, from.communication, weight);
  for (std::size_t s = 0; s < kSources; ++s) {
    into.compute_by_source[s] += from.compute_by_source[s] * weight;
    into.comm_by_source[s] += from.comm_by_source[s] * weight;
  }
}

}  // namespace sgsim::scenario
