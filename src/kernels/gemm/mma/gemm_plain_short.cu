// SPDX-License-Identifier: Apache-2.0
// The kernels for few rows and a k of at most 64, without tensor cores.
#include "kernels/common/emit.cuh"
#include "kernels/gemm/mma/gemm_plain_short.cuh"

#define TW_GEMM_MMA(feature, part, symbol, in, out, tm, tn, tk, threads, variant) \
  TW_EMIT(                                                                        \
      feature, part,                                                              \
      extern "C" __global__ void __launch_bounds__(threads, 4)                    \
          symbol(const __grid_constant__ tw::GemmArgs args) {                     \
            static_assert((threads) == tw::kPlainShortThreads);                   \
            tw::gemm_plain_short<tw::in, tw::out>(args);                          \
          })
#include "kernels/gemm/mma/gemm_plain_short.inc"
