#include "sim/core/error.h"
#include "sim/engine/engine.h"

namespace sgsim::engine {

timeline::Timeline run_simgrid(const Folded&, const cluster::Cluster&, const Options&) {
  throw EnvironmentError("the simgrid engine is not there yet");
}

}  // namespace sgsim::engine
