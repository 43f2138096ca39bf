# Imported runs: reading, matching, dependencies, replay; and the shared traces of others (skipped visibly where they are absent).
option(SGSIM_TRACE_TESTS "Build the tests of imported runs" ON)
if(SGSIM_SIMULATOR AND SGSIM_TRACE_TESTS)
  sgsim_test(unit trace DEPS sgsim_import sgsim_replay sgsim_engine)
  sgsim_test(validation traces DEPS sgsim_import sgsim_replay sgsim_engine)
  sgsim_fuzz(kineto FOLDERS sim/core sim/graph sim/cluster sim/cost sim/timeline sim/trace sim/replay sim/import/kineto sim/import/runs DEPS sgsim_import sgsim_replay)
endif()
