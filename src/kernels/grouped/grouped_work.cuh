// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tile scheduler of the grouped wgmma kernels.
//
// The kernels use swap-AB: rows of a tile are columns of the weights, and its columns are rows of a
// group. Tiles are numbered group by group; stream-K calls them units. The tiles after the last
// complete wave are divided along k, as in the stream-K kernels (gemm_stream.h), if that saves
// enough time. A worker is one block.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/gemm/wgmma/full_tiles.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/grouped/grouped_tiles.cuh"

namespace tw {

/// The schedule of a run, which each block computes when it begins. It lies in shared memory,
/// because a tile's accumulators leave too few registers.
struct GroupedSchedule {
  i32 units_m;                 // units of a row tile: one for every kTileM columns of the weights
  i32 units, whole_units;      // all units, and those that one block computes alone
  i32 k_blocks;                // of a unit
  i32 padded_k_blocks, share;  // as in GemmStreamArgs
  i32 widest;                  // width of the widest tile
};

/// The stream-K arguments for the current tile. It has those fields of GemmStreamArgs that the
/// functions of stream_meet.cuh read.
struct GroupedStreamArgs {
  const u64& workspace;
  const u64& counter_tag;
  const u32& partials_offset;
  const i32& chain_blocks;
  const i32& padded_k_blocks;
  const i32& share;
  const i32& widest;  // for stream_slot_columns()
  i32 width;
  u32 width_index;

  __device__ __forceinline__ GroupedStreamArgs(const GroupedArgs& args, const GroupedSchedule& s,
                                               i32 tile_width, u32 tile_width_index)
      : workspace(args.workspace),
        counter_tag(args.counter_tag),
        partials_offset(args.partials_offset),
        chain_blocks(args.chain_blocks),
        padded_k_blocks(s.padded_k_blocks),
        share(s.share),
        widest(s.widest),
        width(tile_width),
        width_index(tile_width_index) {}
};
__device__ __forceinline__ i32 stream_slot_columns(const GroupedStreamArgs& args) {
  return args.widest;
}

struct GroupedWgmmaTile {
  i32 weight_index;   // of the group's weight matrix
  i32 column0;        // first column of B
  i32 row0, row_end;  // rows `row0` to `row_end` - 1 of the run
  i32 width;          // rows for which the tile has accumulators
  u32 width_index;    // index of `width` in kGemmWidths
  i32 group;
};

// Estimated clocks for a k block of a tile while `busy_sms` SMs multiply: the maximum of three
// times. The SM multiplies the k block; it reads the k block at the highest rate of one SM (an H200
// needs about 70 SMs with narrow tiles to saturate memory); memory delivers the weights of all SMs.
__device__ __forceinline__ float grouped_k_block_clocks(const GroupedArgs& args, i32 width,
                                                        i32 busy_sms) {
  constexpr float kWeightBytes = 128 * 128, kClocksPerByte = 1.0f / 52;  // of one SM
  const float read = (kWeightBytes + static_cast<float>(width) * 128) * kClocksPerByte;
  const float memory =
      kWeightBytes * static_cast<float>(busy_sms) / static_cast<float>(max(args.memory_rate, 1));
  return fmaxf(static_cast<float>(width) * 4, fmaxf(read, memory));
}

// Estimated clocks to add up a tile's parts: two round trips to the L2, plus the bytes moved.
__device__ __forceinline__ float grouped_add_parts_clocks(i32 width) {
  return 5000 + 32 * static_cast<float>(width);
}

template <class Config>
__device__ __forceinline__ GroupedSchedule grouped_make_schedule(const GroupedArgs& args,
                                                                 const GroupedRowTileTable& table,
                                                                 i32 widest) {
  GroupedSchedule s;
  s.units_m = (args.n + Config::kTileM - 1) / Config::kTileM;
  s.units = s.whole_units = table.first_tile[args.group_count] * s.units_m;
  s.k_blocks = (args.k + Config::kTileK - 1) / Config::kTileK;
  s.padded_k_blocks = max(s.k_blocks, 1);
  s.share = s.padded_k_blocks;
  s.widest = widest;
  const auto blocks = static_cast<i32>(ptx::reread_grid_size());
  i32 last_wave, remainder;
  full_divide(s.units, blocks, &last_wave);
  constexpr i32 kMaxKBlocks = 1 << 20;  // keeps last_wave * padded_k_blocks within 31 bits
  if (args.workspace == 0 || (args.flags & kGroupedInvariant) || last_wave == 0 ||
      s.padded_k_blocks > kMaxKBlocks)
    return s;
  // Adding up the parts of a wide tile pays only if each part has enough k blocks.
  const i32 min_share = widest <= 64 ? 4 : 16;
  i32 share =
      max(full_divide(last_wave * s.padded_k_blocks + blocks - 1, blocks, &remainder), min_share);
  // Prefer equal parts of each unit, even if the share of a block then has up to a quarter more k
  // blocks. Blocks with equal parts read the same k at the same time, which the L2 serves better,
  // and no block has parts of two units.
  const i32 parts = full_divide(s.padded_k_blocks, share, &remainder);
  const i32 equal =
      parts > 0 ? full_divide(s.padded_k_blocks + parts - 1, parts, &remainder) : s.padded_k_blocks;
  const bool has_equal_parts = equal <= share + share / 4;
  if (has_equal_parts) share = equal;
  const float whole_clocks =
      grouped_k_block_clocks(args, widest, last_wave) * static_cast<float>(s.padded_k_blocks);
  const float part_clocks =
      grouped_k_block_clocks(args, widest, blocks) * static_cast<float>(share);
  if (part_clocks + grouped_add_parts_clocks(widest) >= whole_clocks) return s;
  if (has_equal_parts) s.padded_k_blocks = parts * equal;
  s.whole_units = s.units - last_wave;
  s.share = share;
  return s;
}

template <class Config>
__device__ __forceinline__ GroupedWgmmaTile grouped_wgmma_tile(const GroupedArgs& args,
                                                               const GroupedRowTileTable& table,
                                                               const GroupedSchedule& s, i32 unit) {
  i32 remainder;
  const i32 row_tile = full_divide(unit, s.units_m, &remainder);
  const i32 g = table.find(args.group_count, row_tile);
  const i32 begin = table.begin[g], end = table.end[g];
  const GroupedRowTiles row_tiles = grouped_row_tiles<Config::kTileN>(end - begin);
  const struct { i32 units_m, units_n, band; } order = {s.units_m, row_tiles.count, args.band};
  i32 unit_m, unit_n;
  full_unit(order, unit - table.first_tile[g] * s.units_m, &unit_m, &unit_n);
  const GroupedWidth width = grouped_width(row_tiles.width);
  GroupedWgmmaTile tile;
  tile.weight_index = grouped_weight_index(args, g);
  tile.column0 = unit_m * Config::kTileM;
  tile.row0 = begin + unit_n * width.width;
  tile.row_end = min(end, tile.row0 + width.width);
  tile.width = width.width;
  tile.width_index = width.index;
  tile.group = g;
  return tile;
}

/// Iterates over a block's items: first its whole units, then its share of the divided units. The k
/// blocks of the divided units are numbered unit by unit, and a share is a range of them.
struct GroupedWork {
  i32 unit;                   // the next whole unit
  i32 next_block, end_block;  // the rest of the share

  __device__ __forceinline__ explicit GroupedWork(const GroupedSchedule& s) {
    unit = static_cast<i32>(ptx::reread_block_id());
    const i32 divided_blocks = (s.units - s.whole_units) * s.padded_k_blocks;
    next_block = min(unit * s.share, divided_blocks);
    end_block = min(next_block + s.share, divided_blocks);
  }
  __device__ __forceinline__ bool next(const GroupedSchedule& s, StreamItem* item) {
    if (unit < s.whole_units) {
      *item = {unit, 0, s.k_blocks};
      unit += static_cast<i32>(ptx::reread_grid_size());
      return true;
    }
    if (next_block >= end_block) return false;
    i32 begin;
    const i32 divided = full_divide(next_block, s.padded_k_blocks, &begin);
    const i32 end = min(s.padded_k_blocks, begin + end_block - next_block);
    *item = {s.whole_units + divided, begin, min(end, s.k_blocks)};
    next_block += end - begin;
    return true;
  }
};

}  // namespace tw
