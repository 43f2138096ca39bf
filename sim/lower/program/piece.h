#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/lower/program/actions.h"
#include "sim/lower/program/run_cost.h"

namespace sgsim::lower {

/// A task of a piece before it has a place in a program.
struct Step {
  TaskKind kind = TaskKind::compute;
  std::uint16_t stream = 0;
  bool after_compute = false;   // waits for what stands on the compute stream when it is issued
  RunCost cost = {};            // communication: host part
  std::uint32_t comm = 0, segment = 0;
  std::uint32_t first_wait = 0, wait_count = 0;  // of Piece::waits
  Token produces = {};
};

/// A memory change during step `step` (the step count: at the end).
struct MemoryStep {
  std::uint32_t step = 0;
  MemoryClass memory_class = MemoryClass::activations;
  bool transient = false;
  double delta = 0.0;           // bytes
  std::uint32_t label = 0;      // Skeleton::labels
  std::uint32_t of = 0;         // Skeleton::labels too: the place in the model; an empty one: none
};

/// What a rank does for one micro-batch and chunk in one direction, or once a step: laid into the program as often as the
/// schedule says.
struct Piece {
  std::vector<Step> steps;
  std::vector<Token> waits;
  std::vector<MemoryStep> memory;
};

/// One laid piece.
struct Emission {
  std::uint32_t piece = 0;      // Skeleton::pieces
  std::uint32_t first_task = 0;
  std::int32_t micro_batch = -1;
};

/// Operation of an entry of Program::comms.
struct CommUse {
  Slot slot = Slot::data;
  graph::CollectiveOp op = graph::CollectiveOp::all_reduce;
  Bytes payload;
  auto operator<=>(const CommUse&) const = default;
};

/// A stage's program before its communicators are known: transfers have no time yet.
struct Skeleton {
  Program program;
  std::vector<CommUse> uses;        // parallel to program.comms
  std::vector<Slot> slots;          // Comm::slot -> what it is
  std::vector<Piece> pieces;
  std::vector<Emission> emissions;
  std::vector<std::string> labels;  // of memory changes
};

}  // namespace sgsim::lower
