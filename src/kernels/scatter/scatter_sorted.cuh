// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scatter-add that first sums packed rows that go to the same table row. A tile is kRowsSortTile
// consecutive indices. A block sorts them stably by table row in shared memory. Each team of
// args.lanes threads takes an equal share of the sorted indices, args.lanes / 2 of them. Within its
// share it sums the packed rows for one table row in f32, and adds each sum to the table by one
// reduction. Without this, a table row that half of all indices name would cost one reduction per
// index, and these queue up in L2.

#include "kernels/ptx/reduce.cuh"
#include "kernels/rows/row_arithmetic.cuh"
#include "kernels/rows/row_index.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

inline constexpr u32 kSortedFlight = 4;  // rows that a thread loads before it adds the first

struct SortTile {
  u64 key[kRowsSortTile];
  u32 rank[2][kRowsSortTile];
  i64 row[kRowsSortTile];  // in sorted order, kNoRow last
  u32 slot[kRowsSortTile];
  float weight[kRowsSortTile];
};

template <class Src, class Dst, u32 kCount>
__device__ __forceinline__ void add_to_table(const RowsArgs& args, i64 row, u32 unit,
                                             const float (&sum)[kCount]) {
  const u64 to = args.table + static_cast<u64>(row * args.table_pitch) +
                 static_cast<u64>(unit) * (kCount * Dst::kBytes);
  if constexpr (kCount == 1) {
    if constexpr (Dst::kBytes == 4)
      ptx::reduce_add_f32(to, sum[0]);
    else if constexpr (sizeof(Dst) == sizeof(F16) && __is_same(Dst, F16))
      ptx::reduce_add_f16(to, F16::from_float(sum[0]));
    else
      ptx::reduce_add_bf16(to, Bf16::from_float(sum[0]));
  } else if constexpr (Dst::kBytes == 4) {
#pragma unroll
    for (u32 e = 0; e < kCount; e += 4) {
      const float four[4] = {sum[e], sum[e + 1], sum[e + 2], sum[e + 3]};
      ptx::reduce_add_v4_f32(to + e * 4, four);
    }
  } else if constexpr (__is_same(Dst, F16)) {
    ptx::reduce_add_v4_f16x2(to, pack<F16, kCount>(sum));
  } else {
    ptx::reduce_add_v4_bf16x2(to, pack<Bf16, kCount>(sum));
  }
}

/// Adds one unit of the sorted rows [first, end) of a tile.
template <class Src, class Dst, u32 kCount>
__device__ __forceinline__ void add_rows(const RowsArgs& args, const SortTile& tile, u64 packed,
                                         u32 first, u32 end, u32 unit) {
  constexpr int kBytes = static_cast<int>(Src::kBytes * kCount);
  float sum[kCount] = {};
  i64 current = kNoRow;
  for (u32 at = first; at < end; at += kSortedFlight) {
    i64 row[kSortedFlight];
    ptx::Unit<kBytes> bits[kSortedFlight];
#pragma unroll
    for (u32 k = 0; k < kSortedFlight; ++k) {
      row[k] = at + k < end ? tile.row[at + k] : kNoRow;
      if (row[k] != kNoRow)
        bits[k] = ptx::load_unit<kBytes>(packed +
                                         tile.slot[at + k] * static_cast<u64>(args.packed_pitch) +
                                         static_cast<u64>(unit) * kBytes);
    }
#pragma unroll
    for (u32 k = 0; k < kSortedFlight; ++k) {
      if (row[k] == kNoRow) continue;
      float value[kCount];
      unpack<Src, kCount>(bits[k], value);
      const bool begins = row[k] != current;
      if (begins && current != kNoRow) add_to_table<Src, Dst, kCount>(args, current, unit, sum);
      add_weighted(sum, value, tile.weight[at + k], begins);
      current = row[k];
    }
  }
  if (current != kNoRow) add_to_table<Src, Dst, kCount>(args, current, unit, sum);
}

/// Row of the tile's slot threadIdx.x % kRowsSortTile; kNoRow if there is no such index.
__device__ __forceinline__ i64 tile_row(const RowsArgs& args, u64 tile, i64 count) {
  const u64 i = tile * kRowsSortTile + threadIdx.x % kRowsSortTile;
  return i < static_cast<u64>(count) ? table_row_of(args, i) : kNoRow;
}

/// Sorts a tile by counting, for each index, how many come before it. Two threads share an index.
__device__ __forceinline__ void sort_tile(const RowsArgs& args, SortTile& tile, i64 row,
                                          u64 first) {
  const u32 slot = threadIdx.x % kRowsSortTile;
  const u32 half = threadIdx.x / kRowsSortTile;
  const u64 key = static_cast<u64>(row);  // kNoRow is the largest
  ptx::sync_block();                      // all threads have processed the previous tile
  if (half == 0) tile.key[slot] = key;
  ptx::sync_block();
  u32 before = 0;
#pragma unroll 8
  for (u32 k = 0; k < kRowsSortTile / 2; ++k) {
    const u32 other = half * (kRowsSortTile / 2) + k;
    const u64 theirs = tile.key[other];
    before += theirs < key || (theirs == key && other < slot) ? 1 : 0;
  }
  tile.rank[half][slot] = before;
  ptx::sync_block();
  if (half == 0) {
    const u32 rank = before + tile.rank[1][slot];
    tile.row[rank] = row;
    tile.slot[rank] = slot;
    tile.weight[rank] = row == kNoRow ? 0.0f : index_weight(args, first + slot);
  }
  ptx::sync_block();
}

template <class Src, class Dst, u32 kCount>
__device__ __forceinline__ void sorted_tiles(const SortedArgs& args, SortTile& tile) {
  static_assert(kRowsBlockThreads == 2 * kRowsSortTile, "two threads an index");
  const i64 count = run_count(args.rows);
  const u32 tiles = static_cast<u32>((static_cast<u64>(count) + kRowsSortTile - 1) / kRowsSortTile);
  const u32 items = tiles * args.parts;
  const u32 teams = kRowsBlockThreads / args.lanes;
  const u32 share = kRowsSortTile / teams;
  const u32 first = threadIdx.x / args.lanes * share;
  u32 number = divide(blockIdx.x, args.part_divider);
  i64 next = tile_row(args.rows, number, count);
  for (u32 item = blockIdx.x; item < items; item += gridDim.x) {
    const u32 part = item - number * args.parts;
    const u64 base = static_cast<u64>(number) * kRowsSortTile;
    sort_tile(args.rows, tile, next, base);
    number = divide(item + gridDim.x, args.part_divider);
    next = tile_row(args.rows, number, count);
    const u32 end = min((part + 1) * args.part_units, args.units);
    const u64 packed = args.rows.packed + base * static_cast<u64>(args.rows.packed_pitch);
    for (u32 unit = part * args.part_units + threadIdx.x % args.lanes; unit < end;
         unit += args.lanes)
      add_rows<Src, Dst, kCount>(args.rows, tile, packed, first, first + share, unit);
  }
}

template <class Src, class Dst>
__device__ __forceinline__ void sorted_rows(const SortedArgs& args, SortTile& tile) {
  if (args.rows.unit_bytes == 16)
    sorted_tiles<Src, Dst, 16 / Src::kBytes>(args, tile);
  else
    sorted_tiles<Src, Dst, 1>(args, tile);
}

__device__ __forceinline__ void scatter_sorted(const SortedArgs& args) {
  __shared__ SortTile tile;
  const bool to_f32 = args.rows.element == kElementF32;
  switch (args.rows.packed_element) {
    case kElementF16:
      return to_f32 ? sorted_rows<F16, F32>(args, tile) : sorted_rows<F16, F16>(args, tile);
    case kElementBF16:
      return to_f32 ? sorted_rows<Bf16, F32>(args, tile) : sorted_rows<Bf16, Bf16>(args, tile);
    default:
      return sorted_rows<F32, F32>(args, tile);
  }
}

}  // namespace tw
