#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace sgsim::calibrate {

/// Element types of the measured operations, apart from the simulator's so that this folder needs no graph.
enum class Element : std::uint8_t { float32, float16, bfloat16, float8_e4m3, int64 };
[[nodiscard]] std::size_t size_of(Element element);

/// Random numbers, nearly normal with the given standard deviation: zeros hide errors and run faster than real data.
void fill_random(void* data, std::size_t count, Element element, std::uint64_t seed, float deviation, cudaStream_t stream);
/// Uniform indices in [0, bound).
void fill_indices(void* data, std::size_t count, std::int64_t bound, std::uint64_t seed, cudaStream_t stream);
/// All bits one: NaN in every floating type here, so that an element nobody writes is seen.
void poison(void* data, std::size_t bytes, cudaStream_t stream);

}  // namespace sgsim::calibrate
