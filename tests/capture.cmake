# The capture script against a real PyTorch; skipped (and says so) where the Python has none.
if(SGSIM_SIMULATOR)
  set(SGSIM_TORCH_PYTHON python3 CACHE STRING "Python with PyTorch, for the test of traces/capture")
  add_executable(capture_check capture/capture_check.cpp)
  target_link_libraries(capture_check PRIVATE sgsim_import)
  add_test(NAME capture.pytorch
    COMMAND ${SGSIM_TORCH_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/capture/capture_test.py $<TARGET_FILE:capture_check>)
  set_tests_properties(capture.pytorch PROPERTIES TIMEOUT 600 LABELS capture SKIP_RETURN_CODE 77)
endif()
