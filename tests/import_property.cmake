# The Kineto reader's two ways of reading an event agree on damaged text.
if(SGSIM_SIMULATOR)
  sgsim_test(property import DEPS sgsim_import)
endif()
