# Tests of the program as users run it, and golden texts of what it computes.
if(SGSIM_SIMULATOR AND TARGET sgsim)
  sgsim_test(cli commands DEPS sgsim_core sqlite3)
  if(TARGET cli_commands)
    add_dependencies(cli_commands sgsim)
  endif()
  sgsim_test(golden scenarios DEPS sgsim_cli)
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME cli.schemas COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/cli/check_schemas.py $<TARGET_FILE:sgsim>
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(cli.schemas PROPERTIES TIMEOUT 300 LABELS cli SKIP_RETURN_CODE 77)
  endif()
endif()
