// SPDX-License-Identifier: Apache-2.0
// Instantiates the quantize kernels of one part for the architecture being compiled. Each kernel
// may start before the predecessor grid has ended, and waits for it before it accesses memory.
#include "kernels/common/emit.cuh"
#include "kernels/quantize/quantize_any.cuh"
#include "kernels/quantize/quantize_steps.cuh"

namespace tw {

// The following functions process vectors of kVector elements, or single elements if kVector is 0.
template <u32 kVector>
__device__ __forceinline__ void quantize_amax_by(const QuantizeArgs& args) {
  if constexpr (kVector == 0)
    quantize_amax_any(args);
  else
    quantize_amax<kVector>(args);
}
template <u32 kVector>
__device__ __forceinline__ void quantize_cast_by(const QuantizeArgs& args) {
  if constexpr (kVector == 0)
    quantize_cast_any(args);
  else
    quantize_by_one_scale<kVector>(args);
}
template <u32 kVector>
__device__ __forceinline__ void quantize_dequantize_by(const QuantizeArgs& args) {
  if constexpr (kVector == 0)
    quantize_dequantize_any(args);
  else
    quantize_dequantize<kVector>(args);
}

}  // namespace tw

// 1024 threads per SM leave 64 registers per thread. That holds eight vectors and their results,
// and keeps 128 KB in flight.
#define TW_QUANTIZE_KERNEL(feature, part, symbol, threads, body)              \
  TW_EMIT(                                                                    \
      feature, part,                                                          \
      extern "C" __global__ void __launch_bounds__(threads, 1024 / (threads)) \
          symbol(const __grid_constant__ tw::QuantizeArgs args) { body(args); })
#define TW_QUANTIZE_GROUPS(feature, part, symbol, elements) \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::kQuantizeThreads, tw::quantize_groups<elements>)
#define TW_QUANTIZE_ROWS(feature, part, symbol, elements)         \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::kQuantizeThreads, \
                     tw::quantize_rows_of_teams<elements>)
#define TW_QUANTIZE_BLOCKS(feature, part, symbol, elements)                       \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::quantize_block_threads(elements), \
                     tw::quantize_blocks<elements>)
#define TW_QUANTIZE_AMAX(feature, part, symbol, elements) \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::kQuantizeThreads, tw::quantize_amax_by<elements>)
#define TW_QUANTIZE_CAST(feature, part, symbol, elements) \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::kQuantizeThreads, tw::quantize_cast_by<elements>)
#define TW_QUANTIZE_DEQUANTIZE(feature, part, symbol, elements)   \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::kQuantizeThreads, \
                     tw::quantize_dequantize_by<elements>)
#define TW_QUANTIZE_REGIONS(feature, part, symbol, elements) \
  TW_QUANTIZE_KERNEL(feature, part, symbol, tw::kQuantizeThreads, tw::quantize_regions)
#include "kernels/quantize/kernels.inc"
