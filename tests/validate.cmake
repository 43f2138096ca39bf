# sgsim validate: scaling down, programs, comparison. The executor without a GPU is tested with the rest of calibrate.
if(SGSIM_SIMULATOR)
  sgsim_test(unit validate DEPS sgsim_validate sgsim_calibrate_execute sgsim_check sgsim_cli)
endif()
if(SGSIM_SIMULATOR)
  sgsim_test(validation validate DEPS sgsim_validate sgsim_cli)
endif()
