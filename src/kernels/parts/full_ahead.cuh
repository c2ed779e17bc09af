// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the full epilogue of a tile reads besides its sums: bias and C are asked for before the
// product is made, the bias into registers, C into the staging memory that D is written from. A
// scale would be registers too many for that.

#include "kernels/parts/full_fragment.cuh"
#include "kernels/ptx/async_copy.cuh"

namespace tw {

/// Bias or scale of a tile. Along D's lines: of each 64 columns that a lane's sums of a piece have,
/// it keeps two, 2 lane and the one beside it. Across: of each piece's lines its own two. All as it
/// lies in memory, since a conversion would wait for it.
template <int kPieces, int kGroups>
struct FullAhead {
  static constexpr int kPairs = kPieces > kGroups ? kPieces : kGroups;
  u32 raw[kPairs][2];
};

// Loads without branches.
__device__ __forceinline__ void ahead_bias(const GemmFullArgs& args, i32 at, bool there, u32& raw) {
  const u64 address = args.bias + (static_cast<u64>(at) << (args.bias_f32 ? 2 : 1));
  ptx::load_if_u32(raw, address, there && args.bias_f32);
  ptx::load_if_u16(raw, address, there && !args.bias_f32);
}
__device__ __forceinline__ void ahead_scale(const GemmFullArgs& args, i32 at, bool there,
                                            u32& raw) {
  ptx::load_if_u32(raw, args.scale + static_cast<u64>(at) * 4, there);
}

template <class In>
__device__ __forceinline__ float ahead_value(const GemmFullArgs& args, u32 raw) {
  return args.bias_f32 ? act::from_bits(raw) : In::to_float(static_cast<typename In::Storage>(raw));
}

/// `by`: where it varies. column(group) is the first column of a group, `line` the warp's first
/// line; load(at, inside, raw) loads element `at`, extent(group) bounds the columns.
template <int kPieces, int kGroups, class Column, class Extent, class Load>
__device__ __forceinline__ void ahead_load(FullAhead<kPieces, kGroups>& ahead, u32 none, u32 by,
                                           i32 line, i32 lines, Column column, Extent extent,
                                           Load load) {
#pragma unroll
  for (auto& pair : ahead.raw) pair[0] = pair[1] = none;
  const auto lane = static_cast<i32>(ptx::lane_id_again());
  if (by == kFullAlong) {
#pragma unroll
    for (i32 i = 0; i < 2 * kGroups; ++i) {
      const i32 at = column(i / 2) + lane * 2 + i % 2;
      load(at, at < extent(i / 2), ahead.raw[i / 2][i % 2]);
    }
  } else if (by == kFullAcross) {
#pragma unroll
    for (i32 i = 0; i < 2 * kPieces; ++i) {
      const i32 at = line + i / 2 * 64 + i % 2 * 8 + lane / 4;
      load(at, at < lines, ahead.raw[i / 2][i % 2]);
    }
  }
}

/// The bias of the tile whose first column of v is n0.
template <int kPieces, int kGroups>
__device__ __forceinline__ void full_ask_bias(const GemmFullArgs& args, const FullRun& run,
                                              i32 line, i32 n0, FullAhead<kPieces, kGroups>& bias) {
  ahead_load(
      bias, args.bias_f32 ? 0x80000000u : 0x8000u /* -0 */, args.bias_by, line, run.lines,
      [&](i32 group) { return full_line(args, n0, group * 64, kGroups * 64); },
      // Of a gate's columns as many are there as D's take.
      [&](i32 group) {
        if (args.gate == kGateNeighbours) return 2 * run.extent;
        return run.extent + (args.gate == kGateHalves && 2 * group >= kGroups ? args.half : 0);
      },
      [&](i32 at, bool there, u32& raw) { ahead_bias(args, at, there, raw); });
}

/// The scale of the tile whose first column of D is `column`.
template <int kPieces, int kGroups>
__device__ __forceinline__ void full_ask_scale(const GemmFullArgs& args, const FullRun& run,
                                               i32 line, i32 column,
                                               FullAhead<kPieces, kGroups>& scale) {
  ahead_load(
      scale, act::bits(full_scale(args)), args.scale_by, line, run.lines,
      [&](i32 group) { return column + group * 64; }, [&](i32) { return run.extent; },
      [&](i32 at, bool there, u32& raw) { ahead_scale(args, at, there, raw); });
}

/// C of one slab whose first element is (line, at), in pieces of kBytes. What is outside reads as
/// 0.
template <class Out, int kBytes>
__device__ __forceinline__ void ahead_slab(const GemmFullArgs& args, const FullRun& run, u32 slab,
                                           i32 line, i32 at) {
  constexpr u32 kAcross = 128 / kBytes;
  constexpr u32 kLines = 32 / kAcross;  // at once
  const u32 lane = ptx::lane_id_again();
  const u32 byte = lane % kAcross * kBytes;
  const i32 column = at + static_cast<i32>(byte / Out::kBytes);
  const i32 rest = (run.extent - column) * static_cast<i32>(Out::kBytes);
  const i32 bytes = rest < 0 ? 0 : min(rest, kBytes);
  const u64 from = full_c<Out>(args, run, {line, column, 1});
  const auto step = static_cast<u64>(args.base.c_stride_m * static_cast<i64>(Out::kBytes));
#pragma unroll(kBytes == 16 ? 4 : 1)
  for (u32 i = 0; i < kGemmStoreLines; i += kLines) {
    const u32 own = i + lane / kAcross;
    const bool there = line + static_cast<i32>(own) < run.lines;
    ptx::async_copy<kBytes>(store_place(slab, own, byte / 16) + byte % 16,
                            there ? from + own * step : run.c, there ? static_cast<u32>(bytes) : 0);
  }
}

/// C of a chunk of kSlabs slabs, whose room is free.
template <class Out, int kSlabs>
__device__ __forceinline__ void ahead_chunk(const GemmFullArgs& args, const FullRun& run, u32 room,
                                            i32 line, i32 at) {
#pragma unroll 1
  for (i32 i = 0; i < kSlabs; ++i) {
    const u32 slab = room + static_cast<u32>(i) * kStoreBytes;
    if (args.flags & kFullWideC)
      ahead_slab<Out, 16>(args, run, slab, line, at + i * kSlabColumns<Out>);
    else
      ahead_slab<Out, 2 * static_cast<int>(Out::kBytes)>(args, run, slab, line,
                                                         at + i * kSlabColumns<Out>);
  }
  ptx::async_copy_commit();
}

}  // namespace tw
