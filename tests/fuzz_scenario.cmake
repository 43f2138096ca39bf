# The readers of scenario, cluster and sweep files (sgsim_fuzz is in fuzz.cmake).
if(SGSIM_SIMULATOR)
  sgsim_fuzz(scenario FOLDERS sim/core sim/graph sim/cluster sim/cost sim/plan sim/import sim/compile sim/lower sim/timeline sim/scenario DEPS sgsim_scenario)
  if(TARGET fuzz_scenario)
    target_link_libraries(fuzz_scenario PRIVATE sqlite3)
    target_compile_definitions(fuzz_objects_sim_scenario PRIVATE SGSIM_SOURCE_DATA="${PROJECT_SOURCE_DIR}/scenarios")
  endif()
endif()
