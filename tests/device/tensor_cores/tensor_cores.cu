// SPDX-License-Identifier: Apache-2.0
// A kernel for each form of dot products (forms.inc): D = C + A B for tiles of 64 x 8, one tile per
// block of 128 threads. Inline PTX that shares nothing with the library's kernels.
//
// A, C and D are row-major, B is column-major. A row of A or a column of B has 32 bytes, a row of C
// or D eight elements.

using u32 = unsigned int;
using u64 = unsigned long long;

namespace {

// Index of a thread's word of C and D. A thread has rows `row` and `row` + 8 and columns
// 2 (lane % 4) and the next. f16 packs both columns into one word.
template <u32 kWords>
__device__ u32 place(u32 index) {
  const u32 row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
  const u32 tile = blockIdx.x * 128 * kWords;
  return kWords == 4 ? tile + (row + index / 2 * 8) * 8 + 2 * quarter + index % 2
                     : tile + (row + index * 8) * 4 + quarter;
}
template <u32 kWords>
__device__ void load(const u32* c, u32 (&d)[kWords]) {
  for (u32 i = 0; i < kWords; ++i) d[i] = c[place<kWords>(i)];
}
template <u32 kWords>
__device__ void store(u32* out, const u32 (&d)[kWords]) {
  for (u32 i = 0; i < kWords; ++i) out[place<kWords>(i)] = d[i];
}

// wgmma operands in shared memory without a swizzle: cores of eight contiguous rows of 16 bytes.
struct __align__(128) Operands {
  uint4 a[128], b[16];
};
__device__ u64 descriptor(const void* operand) {
  constexpr u64 kLeading = 128, kStride = 256;
  const u64 shared = __cvta_generic_to_shared(operand);
  return (shared & 0x3ffff) >> 4 | kLeading >> 4 << 16 | kStride >> 4 << 32;
}
__device__ void fill(Operands& operands, const u32* a, const u32* b) {
  const u32 t = threadIdx.x, row = t / 2, half = t % 2;
  operands.a[row / 8 * 16 + half * 8 + row % 8] =
      reinterpret_cast<const uint4*>(a)[blockIdx.x * 128 + t];
  if (t < 16) operands.b[half * 8 + row] = reinterpret_cast<const uint4*>(b)[blockIdx.x * 16 + t];
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
}

// mma.sync operands: a register has four bytes of a row or column, the next lane the next four.
struct Fragments {
  u32 a[4], b[2];
  __device__ Fragments(const u32* from_a, const u32* from_b) {
    const u32 row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, quarter = threadIdx.x % 4;
    for (u32 i = 0; i < 4; ++i)
      a[i] = from_a[blockIdx.x * 512 + (row + i % 2 * 8) * 8 + quarter + i / 2 * 4];
    for (u32 i = 0; i < 2; ++i)
      b[i] = from_b[blockIdx.x * 64 + threadIdx.x % 32 / 4 * 8 + quarter + i * 4];
  }
};

}  // namespace

#define TW_KERNEL(name, words, body)                             \
  extern "C" __global__ void __launch_bounds__(128)              \
      name(const u32* a, const u32* b, const u32* c, u32* out) { \
    u32 d[words];                                                \
    load(c, d);                                                  \
    body store(out, d);                                          \
  }
#define TW_OUT_4 "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
#define TW_OUT_2 "+r"(d[0]), "+r"(d[1])

// The operands after the descriptors: scales of A and B and, for 16-bit types, whether A and B are
// contiguous along m and n.
#define TW_SCALES_f16 ", 1, 1, 0, 0"
#define TW_SCALES_bf16 ", 1, 1, 0, 0"
#define TW_SCALES_tf32 ", 1, 1"
#define TW_SCALES_e4m3 ", 1, 1"
#define TW_SCALES_e5m2 ", 1, 1"
#define TW_SCALES_s8
#define TW_SCALES_u8
#define TW_WGMMA(spelling, scales, list, outs)                                                     \
  __shared__ Operands operands;                                                                    \
  fill(operands, a, b);                                                                            \
  asm volatile("wgmma.fence.sync.aligned;\n\twgmma.mma_async.sync.aligned.m64n8" spelling " " list \
               ", 1" scales                                                                        \
               ";\n\twgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;"         \
               : outs                                                                              \
               : "l"(descriptor(operands.a)), "l"(descriptor(operands.b))                          \
               : "memory");
#define TW_WGMMA_4(name, spelling, scales) \
  TW_KERNEL(name, 4, TW_WGMMA(spelling, scales, "{%0, %1, %2, %3}, %4, %5", TW_OUT_4))
#define TW_WGMMA_2(name, spelling, scales) \
  TW_KERNEL(name, 2, TW_WGMMA(spelling, scales, "{%0, %1}, %2, %3", TW_OUT_2))

#define TW_MMA(spelling, list, outs, ...) \
  const Fragments of(a, b);               \
  asm volatile("mma.sync.aligned.m16n8" spelling " " list ";" : outs : __VA_ARGS__);
#define TW_MMA_4(name, spelling)                                                                   \
  TW_KERNEL(                                                                                       \
      name, 4,                                                                                     \
      TW_MMA(spelling, "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3}", TW_OUT_4, \
             "r"(of.a[0]), "r"(of.a[1]), "r"(of.a[2]), "r"(of.a[3]), "r"(of.b[0]), "r"(of.b[1])))
#define TW_MMA_2(name, spelling)                                                                 \
  TW_KERNEL(                                                                                     \
      name, 2,                                                                                   \
      TW_MMA(spelling, "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1}", TW_OUT_2, "r"(of.a[0]), \
             "r"(of.a[1]), "r"(of.a[2]), "r"(of.a[3]), "r"(of.b[0]), "r"(of.b[1])))
#define TW_MMA_HALF(name, spelling)                                                          \
  TW_KERNEL(name, 4,                                                                         \
            TW_MMA(spelling, "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3}", TW_OUT_4, \
                   "r"(of.a[0]), "r"(of.a[1]), "r"(of.b[0])))

#define TW_FORM_wgmma_f32(name, shape, d, a, b) \
  TW_WGMMA_4(name, #shape "." #d "." #a "." #b, TW_SCALES_##a)
#define TW_FORM_wgmma_s32(name, shape, d, a, b) \
  TW_WGMMA_4(name, #shape "." #d "." #a "." #b, TW_SCALES_##a)
#define TW_FORM_wgmma_f16(name, shape, d, a, b) \
  TW_WGMMA_2(name, #shape "." #d "." #a "." #b, TW_SCALES_##a)
#define TW_FORM_mma_f32(name, shape, d, a, b) \
  TW_MMA_4(name, #shape ".row.col." #d "." #a "." #b "." #d)
#define TW_FORM_mma_s32(name, shape, d, a, b) \
  TW_MMA_4(name, #shape ".row.col." #d "." #a "." #b "." #d)
#define TW_FORM_mma_f16(name, shape, d, a, b) \
  TW_MMA_2(name, #shape ".row.col." #d "." #a "." #b "." #d)

#define TW_FORM(name, unit, shape, d, a, b) TW_FORM_##unit##_##d(name, shape, d, a, b)
#define TW_HALF_FORM(name, unit, shape, d, a, b) \
  TW_MMA_HALF(name, #shape ".row.col." #d "." #a "." #b "." #d)
#include "forms.inc"
