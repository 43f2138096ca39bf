# Execution traces, Chakra, nsys, writers, others' tools and the fuzz replays.
option(SGSIM_IMPORT_RUN_TESTS "Build the tests of imported runs, of exports, and the fuzz replays of their readers" ON)
if(SGSIM_SIMULATOR AND SGSIM_IMPORT_RUN_TESTS)
  sgsim_test(unit import_runs DEPS sgsim_import)
  sgsim_test(validation import_runs DEPS sgsim_import)
  include(${CMAKE_CURRENT_LIST_DIR}/tools/tools.cmake)
  include(${CMAKE_CURRENT_LIST_DIR}/fuzz/import_formats.cmake)
endif()
