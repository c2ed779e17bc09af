// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a staged slab to D where its pitch or address suits no tensor map: line by line, a warp at a
// time, 4 bytes a lane. From the registers a store of the warp would be eight pieces of four
// elements, each of which the L2 has to merge with its neighbours.

#include "kernels/parts/epilogue_stage.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// Element `at` of a line of a slab.
template <class Config>
__device__ __forceinline__ u32 lines_place(u32 staging, u32 line, u32 at) {
  constexpr u32 kPerPiece = 16 / Config::Out::kBytes;
  return epilogue_place<Config>(staging, line, at / kPerPiece) +
         at % kPerPiece * Config::Out::kBytes;
}

// Elements [0, count) of a line of 2-byte elements. `to` is even but need not be a multiple of 4:
// then words begin one element later, and the first element and the last are alone. Nothing is
// added to those.
template <class Config>
__device__ __forceinline__ void lines_write(unsigned short* to, u32 staging, u32 line, i32 count,
                                            bool) {
  const i32 lane = static_cast<i32>(ptx::lane_id());
  const i32 odd = static_cast<i32>(reinterpret_cast<u64>(to) / 2 & 1);
  if (odd != 0 && lane == 0) to[0] = ptx::shared_load<2>(lines_place<Config>(staging, line, 0));
#pragma unroll
  for (i32 first = 0; first < static_cast<i32>(Config::kSlab.contiguous); first += 64) {
    const i32 at = first + 2 * lane + odd;
    const u32 from = lines_place<Config>(staging, line, static_cast<u32>(at));
    if (at + 1 < count) {
      // Of an odd pair the second element may lie in the next piece.
      const u32 word = odd == 0 ? ptx::shared_load<4>(from)
                                : ptx::shared_load<2>(from) |
                                      static_cast<u32>(ptx::shared_load<2>(lines_place<Config>(
                                          staging, line, static_cast<u32>(at) + 1)))
                                          << 16;
      *reinterpret_cast<u32*>(to + at) = word;
    } else if (at < count) {
      to[at] = ptx::shared_load<2>(from);
    }
  }
}

template <class Config>
__device__ __forceinline__ void lines_write(float* to, u32 staging, u32 line, i32 count,
                                            bool adds) {
#pragma unroll
  for (u32 first = 0; first < Config::kSlab.contiguous; first += 32) {
    const u32 at = first + ptx::lane_id();
    if (static_cast<i32>(at) >= count) continue;
    const float value =
        __uint_as_float(ptx::shared_load<4>(lines_place<Config>(staging, line, at)));
    to[at] = adds ? to[at] + value : value;
  }
}

/// The warpgroup's 64 x (2 kCount) part of D whose first element is (m0, n0), with alpha and beta
/// in it, through the group's first slab, which the copy engine has no part in. `adds`: to what
/// lies there, in f32.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_lines(const float (&d)[kCount], const GemmArgs& args,
                                               u32 staging, u32 group, i32 m0, i32 n0, bool adds) {
  using Storage = typename Config::Out::Storage;
  constexpr bool kTransposed = Config::kTransposed;
  constexpr i32 kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  constexpr i32 kExtent = kTransposed ? 64 : 2 * kCount;
  constexpr i32 kLines = kTransposed ? 2 * kCount : 64;
  const i32 line0 = kTransposed ? n0 : m0;
  const i32 start = kTransposed ? m0 : n0;
  const i32 lines = min(kLines, (kTransposed ? args.n : args.m) - line0);
  const i32 columns = (kTransposed ? args.m : args.n) - start;
  // Lines of a slab of columns come from one warp each, those of a slab of rows from all.
  const i32 warp = static_cast<i32>(threadIdx.x / 32 % 4);
  const i32 first = warp * (kLines / 4);
  const i32 end = min(first + kLines / 4, lines);
  const auto meet = [&] {
    if (kTransposed)
      ptx::named_barrier(1 + group, 128);
    else
      ptx::sync_warp();
  };
#pragma unroll
  for (i32 slab = 0; slab < kExtent / kContiguous; ++slab) {
    if (kTransposed)
      epilogue_stage_transposed<Config>(d, staging, slab);
    else
      epilogue_stage<Config>(d, staging, slab);
    meet();
    auto* to = reinterpret_cast<Storage*>(args.d) + (line0 + first) * args.d_stride_m + start +
               slab * kContiguous;
    const i32 count = min(columns - slab * kContiguous, kContiguous);
#pragma unroll 4
    for (i32 line = first; line < end; ++line, to += args.d_stride_m)
      lines_write<Config>(to, staging, static_cast<u32>(line), count, adds);
    meet();
  }
}

}  // namespace tw
