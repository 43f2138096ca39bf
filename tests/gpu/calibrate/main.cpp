// Exit code 77, which ctest shows as skipped, where there is no GPU.
#include <cuda_runtime.h>

#include <cstdio>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char** argv) {
  int devices = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess || devices == 0) {
    std::printf("SKIPPED: these tests need a GPU that CUDA can use (%s)\n", status == cudaSuccess ? "none here" : cudaGetErrorString(status));
    return 77;
  }
  return Catch::Session().run(argc, argv);
}
