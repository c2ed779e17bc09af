// SPDX-License-Identifier: Apache-2.0
// The grouped products on Hopper.
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/grouped/grouped_wgmma.cuh"
#endif

#define TW_GROUPED(feature, part, symbol, in, out, b_order, tm)                                    \
  TW_EMIT(feature, part,                                                                           \
          extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1)      \
              symbol(const __grid_constant__ tw::GroupedArgs args) {                               \
                tw::grouped_wgmma<tw::GemmConfig<tw::in, tw::out, 1 - tw::kOrder##b_order, 1, tm,  \
                                                 256, 64, 1, 1, tw::kSchedule_grouped>>(args);     \
              })
#include "kernels/grouped/grouped_wgmma.inc"
