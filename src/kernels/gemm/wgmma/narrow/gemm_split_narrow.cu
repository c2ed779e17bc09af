// SPDX-License-Identifier: Apache-2.0
// The split-K kernels for narrow types (8-bit floats) on Hopper.
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/narrow/gemm_split_narrow.cuh"
#endif

#define TW_GEMM_NARROW(...) TW_GEMM_NARROW_EMIT(gemm_split_narrow, __VA_ARGS__)
#include "kernels/gemm/wgmma/narrow/gemm_split_narrow.inc"
