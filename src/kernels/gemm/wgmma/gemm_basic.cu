// SPDX-License-Identifier: Apache-2.0
// Translation unit of the basic wgmma kernels (sm_90a).
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/gemm_basic.cuh"
#endif

#define TW_GEMM(...) TW_GEMM_EMIT(gemm_basic, GemmArgs, __VA_ARGS__)
#include "kernels/gemm/wgmma/gemm_basic.inc"
