# Synthetic workloads for benchmarks and property tests, the Google Benchmark cases (SGSIM_BENCH) and a plain program
# that prints how time and memory grow with the number of GPUs.
if(SGSIM_SIMULATOR)
  add_library(sgsim_engine_support STATIC EXCLUDE_FROM_ALL support/engine/synthetic.cpp)
  target_link_libraries(sgsim_engine_support PUBLIC sgsim_lower)
  add_executable(engine_scaling EXCLUDE_FROM_ALL bench/engine_scaling.cpp)
  target_link_libraries(engine_scaling PRIVATE sgsim_engine sgsim_engine_support)
  if(SGSIM_BENCH)
    find_package(benchmark REQUIRED)
    add_executable(engine_bench bench/engine_bench.cpp)
    target_link_libraries(engine_bench PRIVATE sgsim_engine sgsim_engine_support benchmark::benchmark_main)
    set_target_properties(engine_scaling PROPERTIES EXCLUDE_FROM_ALL FALSE)
  endif()
endif()
