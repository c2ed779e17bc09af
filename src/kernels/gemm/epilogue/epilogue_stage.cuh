// SPDX-License-Identifier: Apache-2.0
#pragma once
// Stages accumulators as a slab of D in shared memory. gemm_slab has the layout.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/ptx/types.cuh"

namespace tw {

// A thread's elements of D: two rows, eight apart, and in each the columns 8 j and 8 j + 1,
// relative to its first one. As constants these offsets take no registers.
__device__ __forceinline__ constexpr int epilogue_half(int i) {
  return (i & 2) / 2;
}
__device__ __forceinline__ constexpr int epilogue_column(int i) {
  return i / 4 * 8 + (i & 1);
}

// Swizzled slabs: 16-byte piece c of line r lies at c ^ (r % 8).
template <class Config>
__device__ __forceinline__ u32 epilogue_place(u32 staging, u32 line, u32 piece) {
  if constexpr (Config::kSlab.swizzled)
    return staging + line * 128 + ((piece ^ (line % 8)) << 4);
  else
    return staging + line * (Config::kSlab.contiguous * Config::Out::kBytes) + (piece << 4);
}

// Converts accumulators from `first` on to pairs of 16-bit elements.
template <class Config, int kPairs, int kCount>
__device__ __forceinline__ void epilogue_pack(const float (&d)[kCount], int first,
                                              u32 (&pairs)[kPairs]) {
#pragma unroll
  for (int i = 0; i < kPairs; ++i)
    pairs[i] = Config::Out::pack(d[first + 2 * i], d[first + 2 * i + 1]);
}

// Stages one slab of 16-bit columns, whose pairs begin at `first`.
template <class Config, int kPairs>
__device__ __forceinline__ void epilogue_stage_pairs(const u32 (&pairs)[kPairs], u32 staging,
                                                     int first) {
  constexpr int kGroups = static_cast<int>(Config::kSlab.contiguous) / 8;  // of eight columns
  const u32 lane = ptx::lane_id();
  const u32 row = threadIdx.x / 32 % 4 * 16 + lane % 16;
#pragma unroll
  for (int group = 0; group < kGroups; group += 2) {
    const int i = first + group * 2;
    const u32 to = epilogue_place<Config>(staging, row, static_cast<u32>(group) + lane / 16);
    if (group + 1 < kGroups)
      ptx::stmatrix_x4(to, pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]);
    else
      ptx::stmatrix_x2(to, pairs[i], pairs[i + 1]);
  }
}

// Stages one slab of 16-bit columns.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_stage_halves(const float (&d)[kCount], u32 staging,
                                                      int slab) {
  constexpr int kPairs = static_cast<int>(Config::kSlab.contiguous) / 4;
  u32 pairs[kPairs];
  epilogue_pack<Config>(d, slab * kPairs * 2, pairs);
  epilogue_stage_pairs<Config>(pairs, staging, 0);
}

// Stages one slab of floats. In a swizzled slab, the same eight columns of two successive rows
// share banks. Odd rows therefore store two groups of eight columns in the reverse order of even
// rows.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_stage_floats(const float (&d)[kCount], u32 staging,
                                                      int slab) {
  constexpr int kGroups = static_cast<int>(Config::kSlab.contiguous) / 8;
  constexpr int kSwapped = Config::kSlab.swizzled ? 2 : 0;
  static_assert(kSwapped == 0 || kGroups == 4,
                "a swizzled slab of floats has four groups of eight columns");
  u32 lane = ptx::lane_id();
  asm volatile("" : "+r"(lane));  // else nvcc keeps offsets in too many registers for 192 columns
  const bool odd = kSwapped != 0 && lane / 4 % 2 != 0;
#pragma unroll
  for (int group = 0; group < kGroups - kSwapped; ++group)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 row = threadIdx.x / 32 % 4 * 16 + lane / 4 + static_cast<u32>(8 * half);
      const u32 piece = static_cast<u32>(2 * group) + lane % 4 / 2;
      const int i = (slab * kGroups + group) * 4 + half * 2, j = i + kSwapped * 4;
      const auto put = [&](u32 at, float first, float second) {
        ptx::store_shared_v2(epilogue_place<Config>(staging, row, at) + lane % 2 * 8, first,
                             second);
      };
      put(odd ? piece ^ 4 : piece, odd ? d[j] : d[i], odd ? d[j + 1] : d[i + 1]);
      if (kSwapped != 0) put(odd ? piece : piece ^ 4, odd ? d[i] : d[j], odd ? d[i + 1] : d[j + 1]);
    }
}

// Stages slab `slab` of a tile, without swap-AB.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_stage(const float (&d)[kCount], u32 staging, int slab) {
  if constexpr (Config::Out::kBytes == 2)
    epilogue_stage_halves<Config>(d, staging, slab);
  else
    epilogue_stage_floats<Config>(d, staging, slab);
}

// Stages a slab with swap-AB, where each column is a line of D: the slab that is number `slab`
// along the lines and number `line_group` among the groups of lines.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_stage_transposed(const float (&d)[kCount], u32 staging,
                                                          int slab, int line_group) {
  constexpr int kGroups = static_cast<int>(Config::kSlab.lines) / 8;
  using Out = typename Config::Out;
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32 % 4;
  if constexpr (Out::kBytes == 2) {
    // Lanes 0 to 15 address the eight columns of one group, lanes 16 to 31 those of the next.
#pragma unroll
    for (int group = 0; group < kGroups; group += 2) {
      const int i = (line_group * kGroups + group) * 4;
      const u32 line = static_cast<u32>(group) * 8 + lane / 16 * 8 + lane % 8;
      const u32 to = epilogue_place<Config>(staging, line, warp * 2 + lane / 8 % 2);
      if (group + 1 < kGroups)
        ptx::stmatrix_x4_trans(to, Out::pack(d[i], d[i + 1]), Out::pack(d[i + 2], d[i + 3]),
                               Out::pack(d[i + 4], d[i + 5]), Out::pack(d[i + 6], d[i + 7]));
      else
        ptx::stmatrix_x2_trans(to, Out::pack(d[i], d[i + 1]), Out::pack(d[i + 2], d[i + 3]));
    }
  } else if (static_cast<int>(warp / 2) == slab) {
#pragma unroll
    for (int j = 0; j < kGroups * 4; ++j) {
      const int i = line_group * kGroups * 4 + j;
      const u32 row = warp % 2 * 16 + lane / 4 + static_cast<u32>(8 * epilogue_half(i));
      const u32 line = lane % 4 * 2 + static_cast<u32>(epilogue_column(j));
      ptx::store_shared(epilogue_place<Config>(staging, line, row / 4) + row % 4 * 4, d[i]);
    }
  }
}

}  // namespace tw
