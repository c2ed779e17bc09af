// SPDX-License-Identifier: Apache-2.0
#pragma once
// Warpgroup matrix products: D (64 x N, in registers) += A (64 x K) B (K x N), with K of 32 bytes
// and both operands in shared memory, given by descriptors. sm_90a only.
//
// A thread of warp w and lane l holds in d[4 j + 2 h + i] the element of row 16 w + l / 4 + 8 h and
// column 8 j + 2 (l % 4) + i (PTX ISA, "Register Fragments for wgmma.mma_async.m64nNk16").

#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/types.cuh"

namespace tw::ptx {

/// Descriptor of an operand in 128-byte-swizzled shared memory. `stride_bytes` is the distance from
/// one group of eight rows of 128 bytes to the next. An operand that is not contiguous along k
/// consists of panels, whose rows have 64 elements: `leading_bytes` is the distance from one panel
/// to the next. For other operands it is ignored.
__device__ __forceinline__ u64 wgmma_descriptor(u32 shared, u32 leading_bytes, u32 stride_bytes) {
  return static_cast<u64>((shared & 0x3ffff) >> 4) | static_cast<u64>(leading_bytes >> 4) << 16 |
         static_cast<u64>(stride_bytes >> 4) << 32 | 1ull << 62;
}

/// The lower half of a descriptor.
__device__ __forceinline__ u32 wgmma_descriptor_low(u32 shared, u32 leading_bytes) {
  return static_cast<u32>(wgmma_descriptor(shared, leading_bytes, 1024));
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

// Lists for every N: asm operands from %0 on and the registers bound to them. Each list extends the
// previous one by eight columns.
#define TW_REGS_8 "%0, %1, %2, %3"
#define TW_REGS_16 TW_REGS_8 ", %4, %5, %6, %7"
#define TW_REGS_24 TW_REGS_16 ", %8, %9, %10, %11"
#define TW_REGS_32 TW_REGS_24 ", %12, %13, %14, %15"
#define TW_REGS_40 TW_REGS_32 ", %16, %17, %18, %19"
#define TW_REGS_48 TW_REGS_40 ", %20, %21, %22, %23"
#define TW_REGS_56 TW_REGS_48 ", %24, %25, %26, %27"
#define TW_REGS_64 TW_REGS_56 ", %28, %29, %30, %31"
#define TW_REGS_72 TW_REGS_64 ", %32, %33, %34, %35"
#define TW_REGS_80 TW_REGS_72 ", %36, %37, %38, %39"
#define TW_REGS_88 TW_REGS_80 ", %40, %41, %42, %43"
#define TW_REGS_96 TW_REGS_88 ", %44, %45, %46, %47"
#define TW_REGS_104 TW_REGS_96 ", %48, %49, %50, %51"
#define TW_REGS_112 TW_REGS_104 ", %52, %53, %54, %55"
#define TW_REGS_120 TW_REGS_112 ", %56, %57, %58, %59"
#define TW_REGS_128 TW_REGS_120 ", %60, %61, %62, %63"
#define TW_REGS_136 TW_REGS_128 ", %64, %65, %66, %67"
#define TW_REGS_144 TW_REGS_136 ", %68, %69, %70, %71"
#define TW_REGS_152 TW_REGS_144 ", %72, %73, %74, %75"
#define TW_REGS_160 TW_REGS_152 ", %76, %77, %78, %79"
#define TW_REGS_168 TW_REGS_160 ", %80, %81, %82, %83"
#define TW_REGS_176 TW_REGS_168 ", %84, %85, %86, %87"
#define TW_REGS_184 TW_REGS_176 ", %88, %89, %90, %91"
#define TW_REGS_192 TW_REGS_184 ", %92, %93, %94, %95"
#define TW_REGS_200 TW_REGS_192 ", %96, %97, %98, %99"
#define TW_REGS_208 TW_REGS_200 ", %100, %101, %102, %103"
#define TW_REGS_216 TW_REGS_208 ", %104, %105, %106, %107"
#define TW_REGS_224 TW_REGS_216 ", %108, %109, %110, %111"
#define TW_REGS_232 TW_REGS_224 ", %112, %113, %114, %115"
#define TW_REGS_240 TW_REGS_232 ", %116, %117, %118, %119"
#define TW_REGS_248 TW_REGS_240 ", %120, %121, %122, %123"
#define TW_REGS_256 TW_REGS_248 ", %124, %125, %126, %127"
#define TW_OUT4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define TW_PAIR4(d, i) "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3])
#define TW_OUTS_8(d) TW_OUT4(d, 0)
#define TW_OUTS_16(d) TW_OUTS_8(d), TW_OUT4(d, 4)
#define TW_OUTS_24(d) TW_OUTS_16(d), TW_OUT4(d, 8)
#define TW_OUTS_32(d) TW_OUTS_24(d), TW_OUT4(d, 12)
#define TW_OUTS_40(d) TW_OUTS_32(d), TW_OUT4(d, 16)
#define TW_OUTS_48(d) TW_OUTS_40(d), TW_OUT4(d, 20)
#define TW_OUTS_56(d) TW_OUTS_48(d), TW_OUT4(d, 24)
#define TW_OUTS_64(d) TW_OUTS_56(d), TW_OUT4(d, 28)
#define TW_OUTS_72(d) TW_OUTS_64(d), TW_OUT4(d, 32)
#define TW_OUTS_80(d) TW_OUTS_72(d), TW_OUT4(d, 36)
#define TW_OUTS_88(d) TW_OUTS_80(d), TW_OUT4(d, 40)
#define TW_OUTS_96(d) TW_OUTS_88(d), TW_OUT4(d, 44)
#define TW_OUTS_104(d) TW_OUTS_96(d), TW_OUT4(d, 48)
#define TW_OUTS_112(d) TW_OUTS_104(d), TW_OUT4(d, 52)
#define TW_OUTS_120(d) TW_OUTS_112(d), TW_OUT4(d, 56)
#define TW_OUTS_128(d) TW_OUTS_120(d), TW_OUT4(d, 60)
#define TW_OUTS_136(d) TW_OUTS_128(d), TW_OUT4(d, 64)
#define TW_OUTS_144(d) TW_OUTS_136(d), TW_OUT4(d, 68)
#define TW_OUTS_152(d) TW_OUTS_144(d), TW_OUT4(d, 72)
#define TW_OUTS_160(d) TW_OUTS_152(d), TW_OUT4(d, 76)
#define TW_OUTS_168(d) TW_OUTS_160(d), TW_OUT4(d, 80)
#define TW_OUTS_176(d) TW_OUTS_168(d), TW_OUT4(d, 84)
#define TW_OUTS_184(d) TW_OUTS_176(d), TW_OUT4(d, 88)
#define TW_OUTS_192(d) TW_OUTS_184(d), TW_OUT4(d, 92)
#define TW_OUTS_200(d) TW_OUTS_192(d), TW_OUT4(d, 96)
#define TW_OUTS_208(d) TW_OUTS_200(d), TW_OUT4(d, 100)
#define TW_OUTS_216(d) TW_OUTS_208(d), TW_OUT4(d, 104)
#define TW_OUTS_224(d) TW_OUTS_216(d), TW_OUT4(d, 108)
#define TW_OUTS_232(d) TW_OUTS_224(d), TW_OUT4(d, 112)
#define TW_OUTS_240(d) TW_OUTS_232(d), TW_OUT4(d, 116)
#define TW_OUTS_248(d) TW_OUTS_240(d), TW_OUT4(d, 120)
#define TW_OUTS_256(d) TW_OUTS_248(d), TW_OUT4(d, 124)

// kColumnA, kColumnB: 1 if the operand is contiguous along m or n instead of k. `accumulate` 0
// overwrites d. The macro's numbers are asm operands after those of d: nvcc has no named operands.
#define TW_WGMMA(type, n, a, b, accumulates, column_a, column_b)                                 \
  template <int kColumnA, int kColumnB>                                                          \
  __device__ __forceinline__ void wgmma(float(&d)[n / 2], type, u64 desc_a, u64 desc_b,          \
                                        u32 accumulate) {                                        \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #accumulates                           \
                 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #n "k16.f32." TW_TYPE_##type        \
                 "." TW_TYPE_##type " {" TW_REGS_##n "}, %" #a ", %" #b ", p, 1, 1, %" #column_a \
                                                     ", %" #column_b ";\n\t}"                    \
                 : TW_OUTS_##n(d)                                                                \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "n"(kColumnA), "n"(kColumnB));     \
  }
#define TW_TYPE_Bf16 "bf16"
#define TW_TYPE_F16 "f16"
#define TW_WGMMA_SIZES(type)                   \
  TW_WGMMA(type, 8, 4, 5, 6, 7, 8)             \
  TW_WGMMA(type, 16, 8, 9, 10, 11, 12)         \
  TW_WGMMA(type, 24, 12, 13, 14, 15, 16)       \
  TW_WGMMA(type, 32, 16, 17, 18, 19, 20)       \
  TW_WGMMA(type, 40, 20, 21, 22, 23, 24)       \
  TW_WGMMA(type, 48, 24, 25, 26, 27, 28)       \
  TW_WGMMA(type, 56, 28, 29, 30, 31, 32)       \
  TW_WGMMA(type, 64, 32, 33, 34, 35, 36)       \
  TW_WGMMA(type, 72, 36, 37, 38, 39, 40)       \
  TW_WGMMA(type, 80, 40, 41, 42, 43, 44)       \
  TW_WGMMA(type, 88, 44, 45, 46, 47, 48)       \
  TW_WGMMA(type, 96, 48, 49, 50, 51, 52)       \
  TW_WGMMA(type, 104, 52, 53, 54, 55, 56)      \
  TW_WGMMA(type, 112, 56, 57, 58, 59, 60)      \
  TW_WGMMA(type, 120, 60, 61, 62, 63, 64)      \
  TW_WGMMA(type, 128, 64, 65, 66, 67, 68)      \
  TW_WGMMA(type, 136, 68, 69, 70, 71, 72)      \
  TW_WGMMA(type, 144, 72, 73, 74, 75, 76)      \
  TW_WGMMA(type, 152, 76, 77, 78, 79, 80)      \
  TW_WGMMA(type, 160, 80, 81, 82, 83, 84)      \
  TW_WGMMA(type, 168, 84, 85, 86, 87, 88)      \
  TW_WGMMA(type, 176, 88, 89, 90, 91, 92)      \
  TW_WGMMA(type, 184, 92, 93, 94, 95, 96)      \
  TW_WGMMA(type, 192, 96, 97, 98, 99, 100)     \
  TW_WGMMA(type, 200, 100, 101, 102, 103, 104) \
  TW_WGMMA(type, 208, 104, 105, 106, 107, 108) \
  TW_WGMMA(type, 216, 108, 109, 110, 111, 112) \
  TW_WGMMA(type, 224, 112, 113, 114, 115, 116) \
  TW_WGMMA(type, 232, 116, 117, 118, 119, 120) \
  TW_WGMMA(type, 240, 120, 121, 122, 123, 124) \
  TW_WGMMA(type, 248, 124, 125, 126, 127, 128) \
  TW_WGMMA(type, 256, 128, 129, 130, 131, 132)

TW_WGMMA_SIZES(Bf16)
TW_WGMMA_SIZES(F16)

// The products of one k block of 64 for the first columns of a 256-column tile, as one wgmma group.
// `width` is the index of the number of columns in the list below (kGemmWidths). All widths are
// branches of one asm statement, so that they share the accumulator registers. Cases of a switch
// would move accumulators while products run, and ptxas would serialize the wgmma.
#define TW_TARGETS_TO_160 "WIDTHS: .branchtargets N32, N48, N64, N80, N96, N112, N128, N144, N160"
#define TW_WIDTHS_TO_160(...) \
  TW_WIDTH(32, __VA_ARGS__)   \
  TW_WIDTH(48, __VA_ARGS__)   \
  TW_WIDTH(64, __VA_ARGS__)   \
  TW_WIDTH(80, __VA_ARGS__)   \
  TW_WIDTH(96, __VA_ARGS__)   \
  TW_WIDTH(112, __VA_ARGS__)  \
  TW_WIDTH(128, __VA_ARGS__) TW_WIDTH(144, __VA_ARGS__) TW_WIDTH(160, __VA_ARGS__)
#define TW_WIDTH_TARGETS TW_TARGETS_TO_160 ", N176, N192, N208, N224, N240, N256;\n\t"
#define TW_EACH_WIDTH(...)      \
  TW_WIDTHS_TO_160(__VA_ARGS__) \
  TW_WIDTH(176, __VA_ARGS__)    \
  TW_WIDTH(192, __VA_ARGS__)    \
  TW_WIDTH(208, __VA_ARGS__)    \
  TW_WIDTH(224, __VA_ARGS__) TW_WIDTH(240, __VA_ARGS__) TW_WIDTH(256, __VA_ARGS__)
#define TW_STEP(n, type, a, b, p)                                                     \
  "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." TW_TYPE_##type "." TW_TYPE_##type \
      " {" TW_REGS_##n "}, " a ", " b ", " p ", 1, 1, %132, %133;\n\t"
#define TW_WIDTH(n, type)                                                           \
  "N" #n ":\n\twgmma.fence.sync.aligned;\n\t" TW_STEP(n, type, "%128", "%129", "p") \
      TW_STEP(n, type, "a1", "b1", "1") TW_STEP(n, type, "a2", "b2", "1")           \
          TW_STEP(n, type, "a3", "b3", "1") "wgmma.commit_group.sync.aligned;\n\tbra.uni END;\n\t"
#define TW_WGMMA_ANY_WIDTH(type)                                                                \
  template <int kColumnA, int kColumnB, int kStepA, int kStepB>                                 \
  __device__ __forceinline__ void wgmma_any_width(float(&d)[128], type, u64 desc_a, u64 desc_b, \
                                                  u32 accumulate, u32 width) {                  \
    asm volatile(                                                                               \
        "{\n\t.reg .pred p;\n\t.reg .b64 a1, a2, a3, b1, b2, b3;\n\t"                           \
        "setp.ne.b32 p, %130, 0;\n\t"                                                           \
        "add.s64 a1, %128, %134;\n\tadd.s64 a2, a1, %134;\n\tadd.s64 a3, a2, %134;\n\t"         \
        "add.s64 b1, %129, %135;\n\tadd.s64 b2, b1, %135;\n\tadd.s64 b3, b2, "                  \
        "%135;\n\t" TW_WIDTH_TARGETS                                                            \
        "brx.idx.uni %131, WIDTHS;\n\t" TW_EACH_WIDTH(type) "END:\n\t}"                         \
        : TW_OUTS_256(d)                                                                        \
        : "l"(desc_a), "l"(desc_b), "r"(accumulate), "r"(width), "n"(kColumnA), "n"(kColumnB),  \
          "n"(kStepA), "n"(kStepB));                                                            \
  }
TW_WGMMA_ANY_WIDTH(Bf16)
TW_WGMMA_ANY_WIDTH(F16)
#undef TW_WGMMA_ANY_WIDTH
#undef TW_WIDTH
#undef TW_STEP

// The same for narrow types: 128 bytes of k, both operands contiguous along k.
#define TW_STEP(n, kinds, signs, a, b, p)                                                   \
  "wgmma.mma_async.sync.aligned.m64n" #n kinds " {" TW_REGS_##n "}, " a ", " b ", " p signs \
                                                                ";\n"                       \
                                                                "\t"
#define TW_WIDTH(n, kinds, signs, a, b, p) \
  "N" #n ":\n\twgmma.fence.sync.aligned;\n\t" TW_STEP(n, kinds, signs, a, b, p)              \
      TW_STEP(n, kinds, signs, "a1", "b1", "1") TW_STEP(n, kinds, signs, "a2", "b2", "1")    \
          TW_STEP(n, kinds, signs, "a3", "b3", "1") "wgmma.commit_group.sync.aligned;\n\tbra." \
                                                    "uni END;\n\t"
#define TW_STEPS(a, b)                                  \
  ".reg .b64 a1, a2, a3, b1, b2, b3;\n\tadd.s64 a1, " a \
  ", 2;\n\tadd.s64 a2, a1, "                            \
  "2;\n\tadd.s64 a3, a2, 2;\n\tadd.s64 b1, " b          \
  ", 2;\n\tadd.s64 b2, b1, 2;\n\tadd.s64 b3, b2, "      \
  "2;\n\t"
#define TW_WGMMA_ANY_WIDTH(Sum, outs, A, B, kinds, signs)                                     \
  __device__ __forceinline__ void wgmma_any_width(Sum(&d)[128], A, B, u64 desc_a, u64 desc_b, \
                                                  u32 accumulate, u32 width) {                \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %130, 0;\n\t" TW_STEPS("%128", "%129") \
                     TW_WIDTH_TARGETS "brx.idx.uni %131, WIDTHS;\n\t" TW_EACH_WIDTH(          \
                         kinds, signs, "%128", "%129", "p") "END:\n\t}"                       \
                 : outs                                                                       \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "r"(width));                    \
  }
#define TW_PAIR16(d, i) TW_PAIR4(d, i), TW_PAIR4(d, i + 4), TW_PAIR4(d, i + 8), TW_PAIR4(d, i + 12)
#define TW_PAIR64(d, i) \
  TW_PAIR16(d, i), TW_PAIR16(d, i + 16), TW_PAIR16(d, i + 32), TW_PAIR16(d, i + 48)
TW_WGMMA_ANY_WIDTH(float, TW_OUTS_256(d), F8E4M3, F8E4M3, "k32.f32.e4m3.e4m3", ", 1, 1")
TW_WGMMA_ANY_WIDTH(float, TW_OUTS_256(d), F8E4M3, F8E5M2, "k32.f32.e4m3.e5m2", ", 1, 1")
TW_WGMMA_ANY_WIDTH(float, TW_OUTS_256(d), F8E5M2, F8E4M3, "k32.f32.e5m2.e4m3", ", 1, 1")
TW_WGMMA_ANY_WIDTH(float, TW_OUTS_256(d), Tf32, Tf32, "k8.f32.tf32.tf32", ", 1, 1")
#define TW_INTEGERS(d) TW_PAIR64(d, 0), TW_PAIR64(d, 64)
TW_WGMMA_ANY_WIDTH(i32, TW_INTEGERS(d), I8, I8, "k32.s32.s8.s8", "")
#undef TW_INTEGERS
#undef TW_PAIR64
#undef TW_PAIR16
#undef TW_WGMMA_ANY_WIDTH

// The same for up to 160 columns, which leaves more registers.
#define TW_WGMMA_TO_160(A, B, kinds)                                                         \
  __device__ __forceinline__ void wgmma_to_160(float(&d)[80], A, B, u64 desc_a, u64 desc_b,  \
                                               u32 accumulate, u32 width) {                  \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %82, 0;\n\t" TW_STEPS("%80", "%81")   \
                     TW_TARGETS_TO_160 ";\n\tbrx.idx.uni %83, WIDTHS;\n\t" TW_WIDTHS_TO_160( \
                         kinds, ", 1, 1", "%80", "%81", "p") "END:\n\t}"                     \
                 : TW_OUTS_160(d)                                                            \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "r"(width));                   \
  }
TW_WGMMA_TO_160(F8E4M3, F8E4M3, "k32.f32.e4m3.e4m3")
TW_WGMMA_TO_160(F8E4M3, F8E5M2, "k32.f32.e4m3.e5m2")
TW_WGMMA_TO_160(F8E5M2, F8E4M3, "k32.f32.e5m2.e4m3")
#undef TW_WGMMA_TO_160

// The same for a fixed number of columns.
#define TW_WGMMA_BLOCK(n, a, b, accumulates, A, B, kinds)                                         \
  __device__ __forceinline__ void wgmma_block(float(&d)[n / 2], A, B, u64 desc_a, u64 desc_b,     \
                                              u32 accumulate) {                                   \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, " accumulates ", 0;\n\t" TW_STEPS(         \
                     a, b) "wgmma.fence.sync.aligned;\n\t" TW_STEP(n, kinds, ", 1, 1", a, b, "p") \
                     TW_STEP(n, kinds, ", 1, 1", "a1", "b1", "1")                                 \
                         TW_STEP(n, kinds, ", 1, 1", "a2", "b2", "1")                             \
                             TW_STEP(n, kinds, ", 1, 1", "a3", "b3",                              \
                                     "1") "wgmma.commit_group.sync.aligned;\n\t}"                 \
                 : TW_OUTS_##n(d)                                                                 \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate));                                    \
  }
TW_WGMMA_BLOCK(64, "%32", "%33", "%34", F8E4M3, F8E4M3, "k32.f32.e4m3.e4m3")
TW_WGMMA_BLOCK(128, "%64", "%65", "%66", F8E4M3, F8E4M3, "k32.f32.e4m3.e4m3")
#undef TW_WGMMA_BLOCK

// The products of a k block of 128 bytes for narrow types, as one wgmma group that overwrites d.
// `a` and `b` are the lower halves of descriptors; 1024 bytes are between groups of eight rows.
// Additions of whole descriptors would take twice as many instructions.
#define TW_NEW4(d, i) "=f"(d[i]), "=f"(d[i + 1]), "=f"(d[i + 2]), "=f"(d[i + 3])
#define TW_NEW8(d, i) TW_NEW4(d, i), TW_NEW4(d, i + 4)
#define TW_NEW16(d, i) TW_NEW8(d, i), TW_NEW8(d, i + 8)
#define TW_NEWS_32(d) TW_NEW16(d, 0)
#define TW_NEWS_48(d) TW_NEWS_32(d), TW_NEW8(d, 16)
#define TW_NEWS_64(d) TW_NEWS_32(d), TW_NEW16(d, 16)
#define TW_NEWS_80(d) TW_NEWS_64(d), TW_NEW8(d, 32)
#define TW_NEWS_96(d) TW_NEWS_64(d), TW_NEW16(d, 32)
#define TW_NEWS_112(d) TW_NEWS_96(d), TW_NEW8(d, 48)
#define TW_NEWS_128(d) TW_NEWS_96(d), TW_NEW16(d, 48)
#define TW_NEWS_144(d) TW_NEWS_128(d), TW_NEW8(d, 64)
#define TW_NEWS_160(d) TW_NEWS_128(d), TW_NEW16(d, 64)
#define TW_NEWS_192(d) TW_NEWS_160(d), TW_NEW16(d, 80)
#define TW_LOW_STEP(n, kinds, a, b, step, p)                                     \
  "add.u32 x, " a ", " step ";\n\tmov.b64 p, {x, h};\n\tadd.u32 x, " b ", " step \
  ";\n\tmov.b64 q, {x, h};\n\t" TW_STEP(n, kinds, ", 1, 1", "p", "q", p)
#define TW_WGMMA_NEW(n, a, b, A, B, kinds)                                                    \
  __device__ __forceinline__ void wgmma_new(float(&d)[n / 2], A, B, u32 low_a, u32 low_b) {   \
    asm volatile(                                                                             \
        "{\n\t.reg .b64 p, q;\n\t.reg .b32 x, h;\n\tmov.b32 h, 0x40000040;\n\t"               \
        "wgmma.fence.sync.aligned;\n\t" TW_LOW_STEP(n, kinds, a, b, "0", "0")                 \
            TW_LOW_STEP(n, kinds, a, b, "2", "1") TW_LOW_STEP(n, kinds, a, b, "4", "1")       \
                TW_LOW_STEP(n, kinds, a, b, "6", "1") "wgmma.commit_group.sync.aligned;\n\t}" \
        : TW_NEWS_##n(d)                                                                      \
        : "r"(low_a), "r"(low_b));                                                            \
  }
#define TW_WGMMA_NEWS(A, B, kinds)             \
  TW_WGMMA_NEW(32, "%16", "%17", A, B, kinds)  \
  TW_WGMMA_NEW(48, "%24", "%25", A, B, kinds)  \
  TW_WGMMA_NEW(64, "%32", "%33", A, B, kinds)  \
  TW_WGMMA_NEW(80, "%40", "%41", A, B, kinds)  \
  TW_WGMMA_NEW(96, "%48", "%49", A, B, kinds)  \
  TW_WGMMA_NEW(112, "%56", "%57", A, B, kinds) \
  TW_WGMMA_NEW(128, "%64", "%65", A, B, kinds) \
  TW_WGMMA_NEW(144, "%72", "%73", A, B, kinds) \
  TW_WGMMA_NEW(160, "%80", "%81", A, B, kinds) \
  TW_WGMMA_NEW(192, "%96", "%97", A, B, kinds)
TW_WGMMA_NEWS(F8E4M3, F8E4M3, "k32.f32.e4m3.e4m3")
TW_WGMMA_NEWS(F8E4M3, F8E5M2, "k32.f32.e4m3.e5m2")
TW_WGMMA_NEWS(F8E5M2, F8E4M3, "k32.f32.e5m2.e4m3")
#undef TW_WGMMA_NEWS
#undef TW_WGMMA_NEW
#undef TW_LOW_STEP
#undef TW_NEWS_192
#undef TW_NEWS_160
#undef TW_NEWS_144
#undef TW_NEWS_128
#undef TW_NEWS_112
#undef TW_NEWS_96
#undef TW_NEWS_80
#undef TW_NEWS_64
#undef TW_NEWS_48
#undef TW_NEWS_32
#undef TW_NEW16
#undef TW_NEW8
#undef TW_NEW4
#undef TW_STEPS
#undef TW_WIDTH
#undef TW_EACH_WIDTH
#undef TW_WIDTH_TARGETS
#undef TW_WIDTHS_TO_160
#undef TW_TARGETS_TO_160
#undef TW_STEP

// Accumulators in f16: d[2 j + h] holds columns 8 j + 2 (l % 4) and the next one, of row half h.
// Lists have half as many registers as for f32, so the list of half N is used.
#define TW_WGMMA_HALF(n, half_n, outs, a, b, accumulates, column_a, column_b)                     \
  template <int kColumnA, int kColumnB>                                                           \
  __device__ __forceinline__ void wgmma(u32(&d)[n / 4], F16, u64 desc_a, u64 desc_b,              \
                                        u32 accumulate) {                                         \
    asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %" #accumulates                            \
                 ", 0;\n\twgmma.mma_async.sync.aligned.m64n" #n                                   \
                 "k16.f16.f16.f16 {" TW_REGS_##half_n "}, %" #a ", %" #b ", p, 1, 1, %" #column_a \
                                                      ", %" #column_b ";\n\t}"                    \
                 : outs                                                                           \
                 : "l"(desc_a), "l"(desc_b), "r"(accumulate), "n"(kColumnA), "n"(kColumnB));      \
  }
#define TW_PAIR16(d, i) TW_PAIR4(d, i), TW_PAIR4(d, i + 4), TW_PAIR4(d, i + 8), TW_PAIR4(d, i + 12)
#define TW_PAIR32(d, i) TW_PAIR16(d, i), TW_PAIR16(d, i + 16)
TW_WGMMA_HALF(64, 32, TW_PAIR16(d, 0), 16, 17, 18, 19, 20)
TW_WGMMA_HALF(128, 64, TW_PAIR32(d, 0), 32, 33, 34, 35, 36)
#define TW_PAIR64(d) TW_PAIR32(d, 0), TW_PAIR32(d, 32)
TW_WGMMA_HALF(256, 128, TW_PAIR64(d), 64, 65, 66, 67, 68)
#undef TW_PAIR64
#undef TW_PAIR32
#undef TW_PAIR16
#undef TW_WGMMA_HALF

#undef TW_WGMMA_SIZES
#undef TW_TYPE_F16
#undef TW_TYPE_Bf16
#undef TW_WGMMA

}  // namespace tw::ptx
