// SPDX-License-Identifier: Apache-2.0
// The mma.sync epilogue kernels, for any strides and addresses.
// "full" in names marks code of the epilogue kernels.
#include "kernels/common/emit.cuh"
#include "kernels/gemm/mma/gemm_full_plain.cuh"

#define TW_GEMM_MMA(feature, part, symbol, in, out, tm, tn, tk, threads, variant) \
  TW_EMIT(                                                                        \
      feature, part,                                                              \
      extern "C" __global__ void __launch_bounds__(threads)                       \
          symbol(const __grid_constant__ tw::GemmEpilogueArgs args) {             \
            static_assert((threads) == tw::kPlainThreads);                        \
            tw::gemm_full_plain<tw::in, tw::out>(args);                           \
          })
#include "kernels/gemm/mma/gemm_full_plain.inc"
