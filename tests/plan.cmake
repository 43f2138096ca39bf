# The planner's search, graph splits, export and checker.
if(SGSIM_SIMULATOR)
  sgsim_test(unit planner DEPS sgsim_search sgsim_split sgsim_plan_export sgsim_checker sgsim_cli)
  sgsim_test(validation plan DEPS sgsim_search sgsim_check sgsim_cli)
endif()
