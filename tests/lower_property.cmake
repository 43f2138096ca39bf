# Properties of plans and lowering over every legal combination (rapidcheck).
find_library(SGSIM_RAPIDCHECK rapidcheck)
if(SGSIM_SIMULATOR AND SGSIM_RAPIDCHECK)
  sgsim_test(property lower DEPS sgsim_lower sgsim_import sgsim_engine ${SGSIM_RAPIDCHECK})
endif()
