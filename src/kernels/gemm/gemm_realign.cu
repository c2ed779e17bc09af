// SPDX-License-Identifier: Apache-2.0
// The staging copy of operands that no tensor map can describe (gemm_realign.cuh).
#include "kernels/common/emit.cuh"
#include "kernels/gemm/gemm_realign.cuh"

#define TW_GEMM_REALIGN(feature, part, symbol)                                                    \
  TW_EMIT(                                                                                        \
      feature, part,                                                                              \
      extern "C" __global__ void __launch_bounds__(tw::kStagingThreads, tw::kStagingRegisterCtas) \
          symbol(const __grid_constant__ tw::GemmStagingArgs args) { tw::gemm_realign(args); })
#include "kernels/gemm/gemm_realign.inc"
