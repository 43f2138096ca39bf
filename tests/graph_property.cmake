# Properties of shape inference, generated and stacked graphs (rapidcheck).
find_library(SGSIM_RAPIDCHECK rapidcheck)
if(SGSIM_SIMULATOR AND SGSIM_RAPIDCHECK)
  sgsim_test(property graph DEPS sgsim_import ${SGSIM_RAPIDCHECK})
endif()
