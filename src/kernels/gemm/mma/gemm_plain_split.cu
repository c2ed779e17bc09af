// SPDX-License-Identifier: Apache-2.0
// The mma.sync split-K kernels for few columns of B, for operands that the TMA cannot address.
#include "kernels/common/emit.cuh"
#include "kernels/gemm/mma/gemm_plain_split.cuh"

#define TW_GEMM_MMA(feature, part, symbol, in, out, tm, tn, tk, threads, variant) \
  TW_EMIT(                                                                        \
      feature, part,                                                              \
      extern "C" __global__ void __launch_bounds__(threads, 2)                    \
          symbol(const __grid_constant__ tw::GemmArgs args) {                     \
            static_assert((threads) == tw::kPlainSplitThreads);                   \
            tw::gemm_plain_split<tw::in, tw::out>(args);                          \
          })
#include "kernels/gemm/mma/gemm_plain_split.inc"
