#pragma once

#include <functional>

#include "sim/timeline/timeline.h"

namespace sgsim::engine {

/// Runs `simulate` in a child process and hands back what it returns or throws (InputError as it is). SimGrid's engine is
/// a singleton whose clock no second engine resets, so each simulation gets a process of its own.
/// Throws EnvironmentError if the child cannot be made or dies.
[[nodiscard]] timeline::Timeline run_in_child(const std::function<timeline::Timeline()>& simulate);

}  // namespace sgsim::engine
