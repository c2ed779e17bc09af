// SPDX-License-Identifier: Apache-2.0
#pragma once
// Narrow rows by index: a warp takes a tile of neighbouring rows of the packed operand and moves
// its units side by side, so that the packed side is read or written in whole lines, eight units a
// thread in flight. Indices are read coalesced, a tile ahead.

#include "kernels/parts/row_index.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

inline constexpr u32 kNarrowFlight = 8;
inline constexpr u32 kNarrowIndices = kRowsTile / 32;  // that a lane reads
inline constexpr u64 kNoOffset = ~0ull;

/// The lane's indices of a tile as offsets into the table.
__device__ __forceinline__ void narrow_fetch(const RowsArgs& args, i64 count, u64 tile,
                                             u64 (&offset)[kNarrowIndices]) {
#pragma unroll
  for (u32 k = 0; k < kNarrowIndices; ++k) {
    const u32 slot = ptx::lane_id() + 32 * k;
    const u64 i = tile * args.tile_rows + slot;
    offset[k] = kNoOffset;
    if (slot >= args.tile_rows || i >= static_cast<u64>(count)) continue;
    const i64 row = named_row(args, i);
    if (row != kNoRow) offset[k] = static_cast<u64>(row * args.table_pitch);
  }
}

template <int kBytes, bool kGather>
__device__ __forceinline__ void narrow_tile(const RowsArgs& args, i64 count, u64 tile,
                                            u32 offsets) {
  const u64 first = tile * args.tile_rows;
  const u64 left = static_cast<u64>(count) - first;
  const u32 rows = left < args.tile_rows ? static_cast<u32>(left) : args.tile_rows;
  const u32 row_units = static_cast<u32>(args.row_units);
  const u32 units = rows * row_units;
  const u64 packed = args.packed + first * static_cast<u64>(args.packed_pitch);
  for (u32 base = ptx::lane_id(); base < units; base += 32 * kNarrowFlight) {
    u64 from[kNarrowFlight];
    u64 to[kNarrowFlight];
    ptx::Unit<kBytes> value[kNarrowFlight];
#pragma unroll
    for (u32 k = 0; k < kNarrowFlight; ++k) {
      const u32 unit = base + 32 * k;
      from[k] = to[k] = 0;
      if (unit >= units) continue;
      const u32 r = divide(unit, args.part_divider);
      const u64 inside = static_cast<u64>(unit - r * row_units) * kBytes;
      const u64 offset = ptx::shared_load<8>(offsets + r * 8);
      const u64 table = offset == kNoOffset ? 0 : args.table + offset + inside;
      const u64 flat = packed + r * static_cast<u64>(args.packed_pitch) + inside;
      from[k] = kGather ? table : flat;
      to[k] = kGather ? flat : table;
    }
#pragma unroll
    for (u32 k = 0; k < kNarrowFlight; ++k) {
      value[k] = ptx::Unit<kBytes>{};
      if (kGather ? from[k] != 0 : to[k] != 0) value[k] = ptx::load_unit<kBytes>(from[k]);
    }
#pragma unroll
    for (u32 k = 0; k < kNarrowFlight; ++k)
      if (to[k] != 0) ptx::store_unit<kBytes>(to[k], value[k]);
  }
}

/// `offsets` is the warp's own shared memory for kRowsTile of them.
template <int kBytes, bool kGather>
__device__ __forceinline__ void narrow_units(const RowsArgs& args, u32 offsets) {
  const u32 warp = threadIdx.x / 32;
  const i64 count = run_count(args);
  const u64 tiles = (static_cast<u64>(count) + args.tile_rows - 1) / args.tile_rows;
  const u64 step = static_cast<u64>(gridDim.x) * (kRowsPlainThreads / 32);
  u64 tile = blockIdx.x + static_cast<u64>(gridDim.x) * warp;
  u64 next[kNarrowIndices];
  narrow_fetch(args, count, tile, next);
  for (; tile < tiles; tile += step) {
    __syncwarp();
#pragma unroll
    for (u32 k = 0; k < kNarrowIndices; ++k)
      ptx::shared_store<8>(offsets + (ptx::lane_id() + 32 * k) * 8, next[k]);
    __syncwarp();
    narrow_fetch(args, count, tile + step, next);
    narrow_tile<kBytes, kGather>(args, count, tile, offsets);
  }
}

template <bool kGather>
__device__ __forceinline__ void rows_narrow(const RowsArgs& args) {
  __shared__ u64 shared[kRowsPlainThreads / 32][kRowsTile];
  const u32 offsets = ptx::shared_address(&shared[threadIdx.x / 32][0]);
  switch (args.unit_bytes) {
    case 1:
      return narrow_units<1, kGather>(args, offsets);
    case 2:
      return narrow_units<2, kGather>(args, offsets);
    case 4:
      return narrow_units<4, kGather>(args, offsets);
    case 8:
      return narrow_units<8, kGather>(args, offsets);
    default:
      return narrow_units<16, kGather>(args, offsets);
  }
}

}  // namespace tw
