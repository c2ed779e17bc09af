// SPDX-License-Identifier: Apache-2.0
// The stream-K kernels for narrow types (8-bit floats, i8, tf32) on Hopper.
#include "kernels/gemm/wgmma/gemm_emit.cuh"
#if TW_HAS_wgmma
#include "kernels/gemm/wgmma/narrow/gemm_stream_narrow.cuh"
#endif

#define TW_GEMM_NARROW(...) TW_GEMM_NARROW_EMIT(gemm_stream_narrow, __VA_ARGS__)
#include "kernels/gemm/wgmma/narrow/gemm_stream_narrow.inc"
