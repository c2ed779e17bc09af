// SPDX-License-Identifier: Apache-2.0
// The split-K kernels for narrow types (8-bit floats) on Hopper.
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/narrow/gemm_split_narrow.cuh"
#endif

#define TW_GEMM_NARROW(feature, part, symbol, a, b, tm, tn, tk, schedule)                         \
  TW_EMIT(                                                                                        \
      feature, part,                                                                              \
      extern "C" __global__ void __launch_bounds__(128 * (1 + tw::gemm_consumers(tm)), 1) symbol( \
          const __grid_constant__ tw::GemmNarrowArgs args) {                                      \
        tw::gemm_split_narrow<                                                                    \
            tw::GemmConfig<tw::GemmPair<tw::a, tw::b>, tw::GemmAny, tw::kOrderROW,                \
                           tw::kOrderCOLUMN, tm, tn, tk, 1, 1, tw::kSchedule_##schedule>>(args);  \
      })
#include "kernels/gemm/wgmma/narrow/gemm_split_narrow.inc"
