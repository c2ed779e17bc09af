// SPDX-License-Identifier: Apache-2.0
// The wgmma kernels for grouped products of 16-bit types and 8-bit floats on Hopper.
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/grouped/grouped_ranges_wgmma.cuh"
#include "kernels/grouped/grouped_scaled_wgmma.cuh"
#include "kernels/grouped/grouped_wgmma.cuh"
#endif

#define TW_GROUPED_KERNEL(body, feature, part, symbol, in, out, order_a, order_b, tm)            \
  TW_EMIT(                                                                                       \
      feature, part,                                                                             \
      extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1)        \
          symbol(const __grid_constant__ tw::GroupedArgs args) {                                 \
            tw::body<tw::GemmConfig<tw::in, tw::out, order_a, order_b, tm, tw::kGroupedTileRows, \
                                    tw::kGroupedTileK, 1, 1, tw::kSchedule_grouped>>(args);      \
          })
#define TW_GROUPED(feature, part, symbol, in, out, b_order, tm) \
  TW_GROUPED_KERNEL(grouped_wgmma, feature, part, symbol, in, out, 1 - tw::kOrder##b_order, 1, tm)
#define TW_GROUPED_RANGES(feature, part, symbol, in, out, tm) \
  TW_GROUPED_KERNEL(grouped_ranges_wgmma, feature, part, symbol, in, out, 1, 0, tm)
// Because of swap-AB, the type of B is that of the pipeline's A.
#define TW_GROUPED_SCALED_WGMMA(feature, part, symbol, a, b, tm)                                   \
  TW_EMIT(                                                                                         \
      feature, part,                                                                               \
      extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1)          \
          symbol(const __grid_constant__ tw::GroupedScaledArgs args) {                             \
            tw::grouped_scaled_wgmma<                                                              \
                tw::GemmConfig<tw::GemmPair<tw::b, tw::a>, tw::GemmAny, tw::kOrderROW,             \
                               tw::kOrderCOLUMN, tm, tw::kGroupedScaledTileRows,                   \
                               tw::kGroupedScaledTileK, 1, 1, tw::kSchedule_scaledgrouped>>(args); \
          })
#include "kernels/grouped/grouped_wgmma.inc"
