# Readers of other programs' files, apart from unit.import so that each builds quickly.
if(SGSIM_SIMULATOR)
  sgsim_test(unit import_formats DEPS sgsim_import)
  sgsim_test(validation import_formats DEPS sgsim_import)
endif()
