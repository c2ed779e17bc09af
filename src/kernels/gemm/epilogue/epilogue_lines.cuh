// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue for a D whose pitch or address suits no tensor map: D is stored from a staged slab.
// With 2-byte elements, a lane makes each aligned 16-byte piece of a line of D from two pieces of
// the slab by a shift. The elements before the first and after the last such piece are stored
// singly. With floats, a warp stores a line at a time, 4 bytes per lane. If D were stored from
// registers, the L2 would have to merge eight pieces of four elements for each warp.

#include "kernels/common/realign.cuh"
#include "kernels/gemm/epilogue/epilogue_stage.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// A warp's registers for one line of a slab: lane l holds the 4-byte words l, l + 32 and so on.
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

// Writes lines `first` to `end` - 1 of a staged slab of floats: elements [0, count) of each.
template <class Config, i32 kLines>
__device__ __forceinline__ void lines_put(float* to, i64 pitch, u32 staging, i32 first, i32 end,
                                          i32 count, bool adds) {
  constexpr int kAtOnce = 4;
  // Several lines at a time overlap their loads from shared memory.
  for (i32 line = first; line < end; line += kAtOnce) {
    u32 words[kAtOnce][kLineWords<Config>];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      lines_read<Config>(words[i], staging, min(line + i, first + kLines - 1));
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i, to += pitch)
      if (line + i < end) lines_write(to, words[i], count, adds);
  }
}

// A line of 2-byte elements at any even address: `head` elements up to the first aligned 16-byte
// piece, then whole pieces, then single elements from `rest` on.
struct LinePieces {
  u64 at;
  i32 head, rest;

  __device__ __forceinline__ LinePieces(u64 line, i32 count) : at(line) {
    head = min(static_cast<i32>((0u - static_cast<u32>(line)) >> 1 & 7), count);
    rest = head + (count - head) / 8 * 8;
  }
  __device__ __forceinline__ bool has(i32 piece) const { return head + piece * 8 < rest; }
  /// The element that is number `i` among those in no whole piece.
  __device__ __forceinline__ i32 single(i32 i) const { return i < head ? i : rest + i - head; }
};

// Writes lines of a staged slab of 2-byte elements, which are never added to D. The pieces of all
// lines of the warp form one list, which keeps all lanes busy.
template <class Config, i32 kLines>
__device__ __forceinline__ void lines_put(unsigned short* to, i64 pitch, u32 staging, i32 first,
                                          i32 end, i32 count, bool) {
  constexpr i32 kPieces = static_cast<i32>(Config::kSlab.contiguous) / 8;  // per line
  constexpr i32 kRounds = (kLines * kPieces + 31) / 32, kSingles = (kLines + 3) / 4;
  // As many rounds at once as registers allow beside the accumulators.
  constexpr i32 kMost = Config::kRowBlocks * Config::kAccumulators > 128 ? 2 : 4;
  constexpr i32 kAtOnce = kRounds < kMost ? kRounds : kMost;
  const auto lane = static_cast<i32>(ptx::lane_id());
  const auto line_at = [&](i32 line) {
    return LinePieces(reinterpret_cast<u64>(to) + static_cast<u64>(line * pitch) * 2, count);
  };
  const auto place = [&](i32 line, i32 piece) {
    return epilogue_place<Config>(staging, static_cast<u32>(first + line), static_cast<u32>(piece));
  };
#pragma unroll 1
  for (i32 round = 0; round < kRounds; round += kAtOnce) {
    uint4 low[kAtOnce], high[kAtOnce];
#pragma unroll
    for (i32 i = 0; i < kAtOnce; ++i) {
      const i32 item = (round + i) * 32 + lane;
      const i32 line = min(item / kPieces, kLines - 1), piece = item % kPieces;
      low[i] = ptx::shared_load<16>(place(line, piece));
      high[i] = ptx::shared_load<16>(place(line, min(piece + 1, kPieces - 1)));
    }
#pragma unroll
    for (i32 i = 0; i < kAtOnce; ++i) {
      const i32 item = (round + i) * 32 + lane;
      const i32 line = item / kPieces, piece = item % kPieces;
      const LinePieces of = line_at(line);
      const Words4 v =
          shift_bytes(words_of(low[i]), words_of(high[i]), static_cast<u32>(of.head) * 2);
      if (first + line < end && of.has(piece))
        ptx::store_unit<16>(of.at + static_cast<u64>(of.head + piece * 8) * 2,
                            make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]));
    }
  }
  // Single elements, with eight lanes per line. If count is a multiple of 8, a line has 8 or 0 of
  // them in all.
  const i32 most = count % 8 == 0 ? 8 : 16;
#pragma unroll 1
  for (i32 from = 0; from < most; from += 8) {
#pragma unroll kMost
    for (i32 i = 0; i < kSingles; ++i) {
      const i32 line = i * 4 + lane / 8;
      const LinePieces of = line_at(line);
      const i32 element = of.single(from + lane % 8);
      if (first + line < end && element < count)
        ptx::store_unit<2>(
            of.at + static_cast<u64>(element) * 2,
            ptx::shared_load<2>(place(line, element / 8) + static_cast<u32>(element) % 8 * 2));
    }
  }
}

/// Writes the warpgroup's 64 x (2 kCount) part of D whose first element is (m0, n0), with alpha and
/// beta applied, through the group's first slab and by plain stores. `adds`: d is added to an f32
/// D.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_lines(const float (&d)[kCount], const GemmArgs& args,
                                               u32 staging, u32 group, i32 m0, i32 n0, bool adds) {
  using Storage = typename Config::Out::Storage;
  constexpr bool kSwapAB = Config::kSwapAB;
  constexpr i32 kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  constexpr i32 kExtent = kSwapAB ? 64 : 2 * kCount;
  constexpr i32 kSlabsAlongLine = kExtent / kContiguous;
  constexpr i32 kLines = kSwapAB ? static_cast<i32>(Config::kSlab.lines) : 64;
  constexpr i32 kSlabs = kSwapAB ? kSlabsAlongLine * (2 * kCount / kLines) : kSlabsAlongLine;
  const i32 start = kSwapAB ? m0 : n0;
  const i32 columns = (kSwapAB ? args.m : args.n) - start;
  // A warp writes a quarter of a slab's lines. It staged them by itself, except with swap-AB.
  const i32 warp = static_cast<i32>(threadIdx.x / 32 % 4);
  const i32 first = warp * (kLines / 4);
  const auto sync = [&] {
    if (kSwapAB)
      ptx::named_barrier(1 + group, 128);
    else
      ptx::sync_warp();
  };
#pragma unroll
  for (i32 slab = 0; slab < kSlabs; ++slab) {
    const i32 from = slab % kSlabsAlongLine * kContiguous;
    const i32 line0 = kSwapAB ? n0 + slab / kSlabsAlongLine * kLines : m0;
    if (from >= columns) continue;
    const i32 lines = (kSwapAB ? args.n : args.m) - line0;
    const i32 end = min(first + kLines / 4, lines);
    if constexpr (kSwapAB)
      epilogue_stage_transposed<Config>(d, staging, slab % kSlabsAlongLine, slab / kSlabsAlongLine);
    else
      epilogue_stage<Config>(d, staging, slab);
    sync();
    auto* to =
        reinterpret_cast<Storage*>(args.d) + (line0 + first) * args.d_stride_m + start + from;
    const i32 count = min(columns - from, kContiguous);
    lines_put<Config, kLines / 4>(to, args.d_stride_m, staging, first, end, count, adds);
    sync();
  }
}

}  // namespace tw
