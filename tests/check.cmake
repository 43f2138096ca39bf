if(SGSIM_SIMULATOR)
  sgsim_test(unit check DEPS sgsim_check sgsim_engine)
endif()

# The project's own tolerances: CI holds the accuracy of the shipped records there.
if(TARGET sgsim)
  add_test(NAME validation.published COMMAND sh -c "exec \"$1\" check scenarios/records/*.json.gz --summary --suite scenarios/suites/published.json" sh $<TARGET_FILE:sgsim> WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(validation.published PROPERTIES TIMEOUT 600 LABELS validation)
endif()
