// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warpgroup matrix products: D (64 x N, f32, in registers) += A (64 x 16) B (16 x N), both operands
// in shared memory behind descriptors. sm_90a alone.
//
// A thread of warp w and lane l holds in d[4 j + 2 h + i] the element of row 16 w + l / 4 + 8 h and
// column 8 j + 2 (l % 4) + i (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").

#include "kernels/parts/types.cuh"
#include "kernels/ptx/basic.cuh"

namespace tw::ptx {

/// Descriptor of an operand in 128-byte-swizzled shared memory. `stride_bytes` is the distance of
/// groups of eight rows, `leading_bytes` that of 64-element columns where the operand is not
/// contiguous along k (ignored otherwise).
__device__ __forceinline__ u64 wgmma_descriptor(u32 shared, u32 leading_bytes, u32 stride_bytes) {
  return static_cast<u64>((shared & 0x3ffff) >> 4) | static_cast<u64>(leading_bytes >> 4) << 16 |
         static_cast<u64>(stride_bytes >> 4) << 32 | 1ull << 62;
}

__device__ __forceinline__ void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

#define TW_REGS_0                            \
  "%0, %1, %2, %3, %4, %5, %6, %7, "         \
  "%8, %9, %10, %11, %12, %13, %14, %15, "   \
  "%16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31"
#define TW_REGS_1                            \
  "%32, %33, %34, %35, %36, %37, %38, %39, " \
  "%40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, " \
  "%56, %57, %58, %59, %60, %61, %62, %63"
#define TW_REGS_2                            \
  "%64, %65, %66, %67, %68, %69, %70, %71, " \
  "%72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, " \
  "%88, %89, %90, %91, %92, %93, %94, %95"
#define TW_REGS_3                                    \
  "%96, %97, %98, %99, %100, %101, %102, %103, "     \
  "%104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, " \
  "%120, %121, %122, %123, %124, %125, %126, %127"
#define TW_OUT4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TW_OUT16(d, i) TW_OUT4(d, i), TW_OUT4(d, i + 4), TW_OUT4(d, i + 8), TW_OUT4(d, i + 12)
#define TW_OUT32(d, i) TW_OUT16(d, i), TW_OUT16(d, i + 16)

// kColumnA, kColumnB: 1 where the operand is contiguous along m or n instead of k. `accumulate` 0
// overwrites d.
#define TW_WGMMA(n, type, regs, a, b, s, ta, tb, ...)                                          \
  template <int kColumnA, int kColumnB>                                                        \
  __device__ __forceinline__ void wgmma(float(&d)[n / 2], type, u64 desc_a, u64 desc_b,        \
                                        u32 accumulate) {                                      \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " s                                     \
                 ", 0;\n\t"                                                                    \
                 "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." TW_TYPE_##type              \
                 "." TW_TYPE_##type " {" regs "}, " a ", " b ", p, 1, 1, " ta ", " tb ";\n\t}" \
                 : __VA_ARGS__                                                                 \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "n"(kColumnA), "n"(kColumnB));   \
  }
#define TW_TYPE_Bf16 "bf16"
#define TW_TYPE_F16 "f16"
#define TW_WGMMA_SIZES(type)                                                                       \
  TW_WGMMA(64, type, TW_REGS_0, "%32", "%33", "%34", "%35", "%36", TW_OUT32(d, 0))                 \
  TW_WGMMA(128, type, TW_REGS_0 ", " TW_REGS_1, "%64", "%65", "%66", "%67", "%68", TW_OUT32(d, 0), \
           TW_OUT32(d, 32))                                                                        \
  TW_WGMMA(192, type, TW_REGS_0 ", " TW_REGS_1 ", " TW_REGS_2, "%96", "%97", "%98", "%99", "%100", \
           TW_OUT32(d, 0), TW_OUT32(d, 32), TW_OUT32(d, 64))                                       \
  TW_WGMMA(256, type, TW_REGS_0 ", " TW_REGS_1 ", " TW_REGS_2 ", " TW_REGS_3, "%128", "%129",      \
           "%130", "%131", "%132", TW_OUT32(d, 0), TW_OUT32(d, 32), TW_OUT32(d, 64),               \
           TW_OUT32(d, 96))

TW_WGMMA_SIZES(Bf16)
TW_WGMMA_SIZES(F16)

#undef TW_WGMMA_SIZES
#undef TW_TYPE_F16
#undef TW_TYPE_Bf16
#undef TW_WGMMA
#undef TW_OUT32
#undef TW_OUT16
#undef TW_OUT4
#undef TW_REGS_3
#undef TW_REGS_2
#undef TW_REGS_1
#undef TW_REGS_0

}  // namespace tw::ptx
