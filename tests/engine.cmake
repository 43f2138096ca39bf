# Workloads for the engines' property tests and benchmarks, the properties, the Google Benchmark cases (SGSIM_BENCH) and
# a plain program that prints how time and memory grow with the number of GPUs.
if(SGSIM_SIMULATOR)
  add_library(sgsim_engine_support STATIC EXCLUDE_FROM_ALL
    support/engine/oracle.cpp support/engine/random_workload.cpp support/engine/synthetic.cpp)
  target_link_libraries(sgsim_engine_support PUBLIC sgsim_lower)
  find_library(SGSIM_RAPIDCHECK rapidcheck)
  if(SGSIM_RAPIDCHECK)
    sgsim_test(property engine DEPS sgsim_engine sgsim_engine_support ${SGSIM_RAPIDCHECK})
  endif()
  add_executable(engine_scaling EXCLUDE_FROM_ALL bench/engine_scaling.cpp)
  target_link_libraries(engine_scaling PRIVATE sgsim_engine sgsim_engine_support)
  if(SGSIM_BENCH)
    find_package(benchmark REQUIRED)
    add_executable(engine_bench bench/engine_bench.cpp)
    target_link_libraries(engine_bench PRIVATE sgsim_engine sgsim_engine_support benchmark::benchmark)
    set_target_properties(engine_scaling PROPERTIES EXCLUDE_FROM_ALL FALSE)
  endif()
endif()
