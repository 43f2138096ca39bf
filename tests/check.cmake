if(SGSIM_SIMULATOR)
  sgsim_test(unit check DEPS sgsim_check sgsim_engine)
endif()
