// SPDX-License-Identifier: Apache-2.0
// The mma.sync kernels for narrow types, with any strides, addresses and scales.
#include "kernels/common/emit.cuh"
#include "kernels/gemm/mma/gemm_scaled_mma.cuh"

#define TW_GEMM_SCALED_MMA(feature, part, symbol, in, loads, tm, tn, tk, threads)       \
  TW_EMIT(                                                                              \
      feature, part,                                                                    \
      extern "C" __global__ void __launch_bounds__(threads)                             \
          symbol(const __grid_constant__ tw::GemmScaledArgs args) {                     \
            static_assert((threads) == tw::kScaledThreads && (tm) == tw::kScaledRows && \
                          (tn) == tw::kScaledColumns && (tk) == tw::kScaledK);          \
            tw::gemm_scaled_mma<tw::Scaled##loads>(args);                               \
          })
#include "kernels/gemm/mma/gemm_scaled_mma.inc"
