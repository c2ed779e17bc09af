// SPDX-License-Identifier: Apache-2.0
// Translation unit of the wgmma epilogue kernels (sm_90a).
// "full" in names marks code of the epilogue kernels.
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/gemm_full.cuh"
#endif

#define TW_GEMM(...) TW_GEMM_EMIT(gemm_full, GemmEpilogueArgs, __VA_ARGS__)
#include "kernels/gemm/wgmma/gemm_full.inc"
