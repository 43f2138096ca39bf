# Fuzz targets: tests/fuzz/<name>.cpp with seeds and once-failing inputs in tests/fuzz/corpus/<name>/.
# sgsim_fuzz(NAME FOLDERS sim folders... DEPS libs...): always a test "fuzz.<name>" that replays the corpus; with SGSIM_FUZZ
# (clang) also the libFuzzer program fuzz_<name>, of which the sources in FOLDERS are built with sanitizers:
#   cmake -S . -B build/fuzz -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DSGSIM_FUZZ=ON && ninja -C build/fuzz fuzz_aot_graph
#   build/fuzz/bin/fuzz_aot_graph -max_total_time=300 build/fuzz/corpus tests/fuzz/corpus/aot_graph
function(sgsim_fuzz name)
  cmake_parse_arguments(ARG "" "" "FOLDERS;DEPS" ${ARGN})
  set(target ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/${name}.cpp)
  add_executable(fuzz_replay_${name} ${target} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/replay.cpp)
  target_link_libraries(fuzz_replay_${name} PRIVATE ${ARG_DEPS})
  add_test(NAME fuzz.${name} COMMAND fuzz_replay_${name} ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
  set_tests_properties(fuzz.${name} PROPERTIES TIMEOUT 300 LABELS fuzz)
  if(SGSIM_FUZZ)
    set(objects)
    foreach(folder ${ARG_FOLDERS})  # one set of instrumented objects a folder, shared by the targets
      string(REPLACE "/" "_" objects_of "fuzz_objects_${folder}")
      if(NOT TARGET ${objects_of})
        file(GLOB_RECURSE found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
        add_library(${objects_of} OBJECT ${found})
        target_link_libraries(${objects_of} PRIVATE sgsim_options)
        target_compile_options(${objects_of} PRIVATE -O1 -g1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
      endif()
      list(APPEND objects $<TARGET_OBJECTS:${objects_of}>)
    endforeach()
    add_executable(fuzz_${name} ${target} ${objects})
    target_link_libraries(fuzz_${name} PRIVATE sgsim_options ZLIB::ZLIB)
    target_compile_options(fuzz_${name} PRIVATE -O1 -g1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  endif()
endfunction()

if(SGSIM_SIMULATOR)
  sgsim_fuzz(graph_file FOLDERS sim/core sim/graph DEPS sgsim_graph)
  sgsim_fuzz(aot_graph FOLDERS sim/core sim/graph sim/import/aot sim/import/hf_config sim/import/stack DEPS sgsim_import)
  sgsim_fuzz(hf_config FOLDERS sim/core sim/graph sim/import/hf_config DEPS sgsim_import)
endif()
