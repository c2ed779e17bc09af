// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile scheduler of the grouped wgmma kernels.
//
// The kernels use swap-AB: rows of a tile are columns of the weights, and its columns are rows of a
// group. Units, one tile each, are numbered group by group. The units after the last whole wave are
// divided along k as in the stream-K kernels (gemm_stream.h) if that saves enough time.

#include "kernels/gemm/wgmma/full_tiles.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/grouped/grouped_tiles.cuh"

namespace tw {

/// The schedule of a run, which each block computes when it begins. It lies in shared memory,
/// because a tile's accumulators leave too few registers.
struct GroupedShares {
  i32 units_m;                 // tiles of the weights' columns, for each row tile
  i32 units, whole;            // all units, and those that one block computes alone
  i32 k_blocks, depth, share;  // of a unit; depth and share as in GemmStreamArgs
  i32 widest;                  // width of the widest tile
};

/// The stream-K parameters of the current tile, under the names of GemmStreamArgs that
/// stream_meet.cuh reads.
struct GroupedParts {
  const u64& workspace;
  const u64& counter_tag;
  const u32& partials;
  const i32& chain_blocks;
  const i32& depth;
  const i32& share;
  const i32& widest;
  i32 width;
  u32 width_number;

  __device__ __forceinline__ GroupedParts(const GroupedArgs& args, const GroupedShares& s,
                                          i32 own_width, u32 number)
      : workspace(args.workspace),
        counter_tag(args.counter_tag),
        partials(args.partials),
        chain_blocks(args.chain_blocks),
        depth(s.depth),
        share(s.share),
        widest(s.widest),
        width(own_width),
        width_number(number) {}
};
__device__ __forceinline__ i32 stream_widest(const GroupedParts& parts) {
  return parts.widest;
}

/// A tile: its group's weight matrix, first column of the weights, first row and end of its rows of
/// the run, and its width.
struct GroupedSpot {
  i32 weight, m0, row0, end, width;
  u32 width_number;
  i32 group;
};

// Estimated clocks for a k block of a tile while `blocks` SMs multiply. It is the maximum of the
// time for the products, the time in which one SM can read its bytes (on an H200 about 70 SMs with
// narrow tiles saturate memory), and the SM's share of the memory rate for the weights.
__device__ __forceinline__ float grouped_block_clocks(const GroupedArgs& args, i32 width,
                                                      i32 blocks) {
  constexpr float kWeights = 128 * 128, kOfSm = 1.0f / 52;  // bytes; clocks per byte
  const float read = (kWeights + static_cast<float>(width) * 128) * kOfSm;
  const float memory =
      kWeights * static_cast<float>(blocks) / static_cast<float>(max(args.memory_rate, 1));
  return fmaxf(static_cast<float>(width) * 4, fmaxf(read, memory));
}

// Estimated clocks to add up a tile's parts: two round trips to the L2, plus the bytes moved.
__device__ __forceinline__ float grouped_meet_clocks(i32 width) {
  return 5000 + 32 * static_cast<float>(width);
}

template <class Config>
__device__ __forceinline__ GroupedShares grouped_shares(const GroupedArgs& args,
                                                        const GroupedTiles& table, i32 widest) {
  GroupedShares s;
  s.units_m = (args.n + Config::kTileM - 1) / Config::kTileM;
  s.units = s.whole = table.before[args.group_count] * s.units_m;
  s.k_blocks = (args.k + Config::kTileK - 1) / Config::kTileK;
  s.depth = max(s.k_blocks, 1);
  s.share = s.depth;
  s.widest = widest;
  const auto blocks = static_cast<i32>(ptx::grid_size_again());
  i32 rest, left;
  full_divide(s.units, blocks, &rest);
  constexpr i32 kDeepest = 1 << 20;  // keeps rest * depth within 31 bits
  if (args.workspace == 0 || (args.flags & kGroupedInvariant) || rest == 0 || s.depth > kDeepest)
    return s;
  // Adding up the parts of a wide tile pays only if each part has enough k blocks.
  const i32 least = widest <= 64 ? 4 : 16;
  i32 share = max(full_divide(rest * s.depth + blocks - 1, blocks, &left), least);
  // Prefer equal parts of each unit, even if blocks get up to a quarter more k blocks: they then
  // read the same k at the same time, which the L2 serves better, and have one part each.
  const i32 parts = full_divide(s.depth, share, &left);
  const i32 aligned = parts > 0 ? full_divide(s.depth + parts - 1, parts, &left) : s.depth;
  const bool aligns = aligned <= share + share / 4;
  if (aligns) share = aligned;
  const float alone = grouped_block_clocks(args, widest, rest) * static_cast<float>(s.depth);
  const float shared = grouped_block_clocks(args, widest, blocks) * static_cast<float>(share);
  if (shared + grouped_meet_clocks(widest) >= alone) return s;
  if (aligns) s.depth = parts * aligned;
  s.whole = s.units - rest;
  s.share = share;
  return s;
}

template <class Config>
__device__ __forceinline__ GroupedSpot grouped_spot(const GroupedArgs& args,
                                                    const GroupedTiles& table,
                                                    const GroupedShares& s, i32 unit) {
  i32 inside;
  const i32 row_tile = full_divide(unit, s.units_m, &inside);
  const i32 g = table.find(args.group_count, row_tile);
  const i32 begin = table.begin[g], end = table.end[g];
  const GroupedCut cut = grouped_cut<Config::kTileN>(end - begin);
  const struct { i32 units_m, units_n, band; } walk = {s.units_m, cut.tiles, args.band};
  i32 unit_m, unit_n;
  full_unit(walk, unit - table.before[g] * s.units_m, &unit_m, &unit_n);
  const GroupedWidth width = grouped_width(cut.width);
  GroupedSpot tile;
  tile.weight = grouped_weight(args, g);
  tile.m0 = unit_m * Config::kTileM;
  tile.row0 = begin + unit_n * width.width;
  tile.end = min(end, tile.row0 + width.width);
  tile.width = width.width;
  tile.width_number = width.number;
  tile.group = g;
  return tile;
}

/// Iterates over a block's items: first its whole units, then its share of the divided ones.
struct GroupedWork {
  i32 unit, at, stop;

  __device__ __forceinline__ explicit GroupedWork(const GroupedShares& s) {
    unit = static_cast<i32>(ptx::block_id_again());
    const i32 shared = (s.units - s.whole) * s.depth;
    at = min(unit * s.share, shared);
    stop = min(at + s.share, shared);
  }
  __device__ __forceinline__ bool next(const GroupedShares& s, StreamItem* item) {
    if (unit < s.whole) {
      *item = {unit, 0, s.k_blocks};
      unit += static_cast<i32>(ptx::grid_size_again());
      return true;
    }
    if (at >= stop) return false;
    i32 begin;
    const i32 shared = full_divide(at, s.depth, &begin);
    const i32 end = min(s.depth, begin + stop - at);
    *item = {s.whole + shared, begin, min(end, s.k_blocks)};
    at += end - begin;
    return true;
  }
};

}  // namespace tw
