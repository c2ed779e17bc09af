// SPDX-License-Identifier: Apache-2.0
#pragma once
// From a staged slab to D where its pitch or address suits no tensor map: line by line, a warp at a
// time, 4 bytes a lane. From the registers a store of the warp would be eight pieces of four
// elements, each of which the L2 has to merge with its neighbours.

#include "kernels/parts/epilogue_stage.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// A line of a slab by the warp: lane l has words l, l + 32 and so on of 4 bytes.
template <class Config>
inline constexpr int kLineWords =
    (static_cast<int>(Config::kSlab.contiguous * Config::Out::kBytes) / 4 + 31) / 32;

template <class Config>
__device__ __forceinline__ void lines_read(u32 (&words)[kLineWords<Config>], u32 staging,
                                           i32 line) {
  constexpr u32 kWords = Config::kSlab.contiguous * Config::Out::kBytes / 4;
#pragma unroll
  for (int i = 0; i < kLineWords<Config>; ++i) {
    const u32 word = ptx::lane_id() + static_cast<u32>(32 * i);
    words[i] =
        word < kWords
            ? ptx::shared_load<4>(
                  epilogue_place<Config>(staging, static_cast<u32>(line), word / 4) + word % 4 * 4)
            : 0;
  }
}

// Elements [0, count) of a line of 2-byte elements. `to` is even but need not be a multiple of 4:
// then words begin one element later, and the first element and the last are alone. Nothing is
// added to those.
template <int kWords>
__device__ __forceinline__ void lines_write(unsigned short* to, u32 (&words)[kWords], i32 count,
                                            bool) {
  const auto lane = static_cast<i32>(ptx::lane_id());
  const auto odd = static_cast<i32>(reinterpret_cast<u64>(to) / 2 & 1);
  if (odd != 0) {
    if (lane == 0 && count > 0) to[0] = static_cast<unsigned short>(words[0]);
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      u32 next = __shfl_down_sync(~0u, words[i], 1);
      if (i + 1 < kWords) {
        const u32 beyond = __shfl_sync(~0u, words[i + 1 < kWords ? i + 1 : i], 0);
        if (lane == 31) next = beyond;
      }
      words[i] = __funnelshift_r(words[i], next, 16);
    }
  }
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const i32 at = 2 * (lane + 32 * i) + odd;
    if (at + 1 < count)
      *reinterpret_cast<u32*>(to + at) = words[i];
    else if (at < count)
      to[at] = static_cast<unsigned short>(words[i]);
  }
}

template <int kWords>
__device__ __forceinline__ void lines_write(float* to, u32 (&words)[kWords], i32 count, bool adds) {
#pragma unroll
  for (int i = 0; i < kWords; ++i) {
    const i32 at = static_cast<i32>(ptx::lane_id()) + 32 * i;
    if (at >= count) continue;
    const float value = __uint_as_float(words[i]);
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
  constexpr i32 kAcross = kExtent / kContiguous;
  constexpr i32 kLines = kTransposed ? static_cast<i32>(Config::kSlab.lines) : 64;
  constexpr i32 kSlabs = kTransposed ? kAcross * (2 * kCount / kLines) : kAcross;
  constexpr int kAtOnce = 4;
  const i32 start = kTransposed ? m0 : n0;
  const i32 columns = (kTransposed ? args.m : args.n) - start;
  // Lines of a slab of columns come from one warp each, those of a slab of rows from all.
  const i32 warp = static_cast<i32>(threadIdx.x / 32 % 4);
  const i32 first = warp * (kLines / 4);
  const auto meet = [&] {
    if (kTransposed)
      ptx::named_barrier(1 + group, 128);
    else
      ptx::sync_warp();
  };
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) {
    const i32 from = slab % kAcross * kContiguous;
    const i32 line0 = kTransposed ? n0 + slab / kAcross * kLines : m0;
    if (from >= columns) continue;
    const i32 lines = (kTransposed ? args.n : args.m) - line0;
    const i32 end = min(first + kLines / 4, lines);
    if constexpr (kTransposed)
      epilogue_stage_transposed<Config>(d, staging, slab % kAcross, slab / kAcross);
    else
      epilogue_stage<Config>(d, staging, slab);
    meet();
    auto* to =
        reinterpret_cast<Storage*>(args.d) + (line0 + first) * args.d_stride_m + start + from;
    const i32 count = min(columns - from, kContiguous);
    // Some at a time, so that one line's way to the registers does not hold up the next.
    for (i32 line = first; line < end; line += kAtOnce) {
      u32 words[kAtOnce][kLineWords<Config>];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i)
        lines_read<Config>(words[i], staging, min(line + i, kLines - 1));
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i, to += args.d_stride_m)
        if (line + i < end) lines_write(to, words[i], count, adds);
    }
    meet();
  }
}

}  // namespace tw
