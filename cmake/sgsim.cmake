# Compile settings and the two functions that every folder uses.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

find_program(SGSIM_CCACHE ccache)
if(SGSIM_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SGSIM_CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)

add_library(sgsim_options INTERFACE)
target_include_directories(sgsim_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(sgsim_options INTERFACE -fPIC -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(sgsim_options INTERFACE -fpch-preprocess)
endif()
target_link_libraries(sgsim_options INTERFACE fmt::fmt nlohmann_json::nlohmann_json Threads::Threads)

# One precompiled header for all: the standard library, fmt and nlohmann_json take most of a small file's compile time.
file(WRITE ${CMAKE_BINARY_DIR}/sgsim_pch.cpp "")
add_library(sgsim_pch OBJECT ${CMAKE_BINARY_DIR}/sgsim_pch.cpp)
target_link_libraries(sgsim_pch PUBLIC sgsim_options)
target_precompile_headers(sgsim_pch PRIVATE
  <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <string> <string_view> <unordered_map>
  <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)

# A precompiled header is not the same bytes twice; with ccache's pch_external_checksum its name stands for it, so that
# build folders share objects. Flags and sources are still hashed.
file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/sgsim_pch.dir/cmake_pch.hxx.gch.sum "sgsim 1 CMakeFiles/sgsim_pch.dir\n")

# sgsim_library(NAME DIR folder [EXCLUDE files...] DEPS libs...): a static library of the *.cpp files of one folder
# (its subfolders included).
function(sgsim_library name)
  cmake_parse_arguments(ARG "" "DIR" "DEPS;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARG_DIR}/*.cpp)
  list(REMOVE_ITEM sources ${ARG_EXCLUDE})
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE sgsim_options ${ARG_DEPS})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC sgsim_options ${ARG_DEPS})
  target_precompile_headers(${name} REUSE_FROM sgsim_pch)
endfunction()
