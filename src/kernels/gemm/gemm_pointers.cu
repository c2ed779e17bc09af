// SPDX-License-Identifier: Apache-2.0
// The kernels that prepare a batch given by addresses (gemm_pointers.cuh).
#include "kernels/common/emit.cuh"
#include "kernels/gemm/gemm_pointers.cuh"

#define TW_GEMM_POINTERS(feature, part, symbol, maps, variant)                  \
  TW_EMIT(                                                                      \
      feature, part,                                                            \
      extern "C" __global__ void __launch_bounds__(32 * tw::kGemmPointersWarps) \
          symbol(const __grid_constant__ tw::GemmPointersArgs args) {           \
            tw::gemm_read_pointers<maps>(args);                                 \
          })
#include "kernels/gemm/gemm_pointers.inc"
