// SPDX-License-Identifier: Apache-2.0
#pragma once
// Permutations through shared memory: kernel arguments, and the position of each element.
//
// The kernels move units: the largest parts of a row that divide all strides, at most 16 bytes.
//
// A tile is a box of the tensor. In the source it consists of `src_lines` contiguous pieces (lines)
// of `src_line_bytes` each, in the destination of `dst_lines` lines of `dst_line_bytes` each. One
// dimension may lie within a source line and also within a destination line. Shared memory holds
// the source lines, `pitch` bytes apart (a multiple of 128). 16-byte piece p of line l lies at
// p ^ (l >> shift) % 8, so that lanes that read adjacent units of a destination line access
// different banks.
//
// The place of a unit encodes its position in shared memory: line << 16, plus line * pitch + byte.
// Places are linear in the tile's indices, so the place of a destination unit is the place of its
// line plus the place of its position in the line.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

inline constexpr u32 kPermuteThreads = 256;
inline constexpr u32 kPermuteStages = 3;
inline constexpr u32 kPermuteRank = 9;  // eight dimensions, and one that counts the units of a row
inline constexpr u32 kPermuteMaxLines = 512;       // per tile, source or destination
inline constexpr u32 kPermuteMaxLineUnits = 4096;  // units of a destination line
inline constexpr u32 kPermuteMaxTile = 40960;      // bytes per stage; a place has 16 bits for them

/// A dimension that counts a tile's lines, or the units of a line.
struct PermuteDim {
  u32 extent;
  u32 weight;  // step of the place per index
  i64 stride;  // bytes in global memory
};

struct PermuteDims {
  u32 rank;
  u32 count;  // product of the extents
  PermuteDim dim[kPermuteRank];
};

/// A dimension of the grid of tiles.
struct PermuteGridDim {
  Divider tiles;
  u32 tile;    // extent of a full tile
  u32 extent;  // extent of the tensor
  u32 reserved;
  i64 src_step;  // bytes from one tile to the next
  i64 dst_step;
};

/// The valid size of a tile, which may be cut at the tensor's edge: `full`, or the remaining extent
/// of grid dimension `grid_dim` times `unit`.
struct PermuteEdge {
  u32 full;
  u32 unit;
  i32 grid_dim;  // -1: the size is never cut
};

struct CopyPermuteArgs {
  u64 src;
  u64 dst;
  u64 src_policy;  // L2 cache policies, see device/cache.cuh
  u64 dst_policy;
  u64 tiles;
  u32 grid_rank;
  u32 pitch;
  u32 shift;
  u32 stage_bytes;
  u32 load_bytes;   // 16, 8 or 4: cp.async; 2 or 1: ordinary loads
  u32 load_lanes;   // threads that load one line together, a power of two
  u32 store_bytes;  // 16 or unit_bytes
  u32 unit_bytes;
  PermuteEdge src_line_bytes;
  PermuteEdge src_lines;
  PermuteEdge dst_line_bytes;
  PermuteEdge dst_lines;
  PermuteGridDim grid[kPermuteRank];
  PermuteDims src_line_dims;  // strides of the source
  PermuteDims dst_line_dims;  // strides of the destination
  PermuteDims dst_unit_dims;
};
static_assert(sizeof(PermuteGridDim) == 40 && sizeof(PermuteDims) == 152 &&
                  sizeof(CopyPermuteArgs) == 936,
              "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyPermuteArgs, grid) == 120, "as above");

/// Place and global byte offset of index `index`, whose first dimension varies fastest.
struct PermutePlace {
  u32 place;
  i64 offset;
};
TW_KERNEL_HD constexpr PermutePlace permute_place(const PermuteDims& dims, u32 index) {
  PermutePlace out{0, 0};
  for (u32 d = 0; d < dims.rank; ++d) {
    const u32 next = index / dims.dim[d].extent;
    const u32 at = index - next * dims.dim[d].extent;
    out.place += at * dims.dim[d].weight;
    out.offset += static_cast<i64>(at) * dims.dim[d].stride;
    index = next;
  }
  return out;
}

/// Offsets of the tables in shared memory. The stages follow them.
struct PermuteTables {
  u32 src_offsets;  // i64 per source line
  u32 dst_offsets;  // i64 per destination line
  u32 line_places;  // u32 per destination line
  u32 unit_places;  // u32 per unit of a destination line
  u32 stages;
  u32 total;
};
TW_KERNEL_HD constexpr PermuteTables permute_tables(const CopyPermuteArgs& args) {
  PermuteTables at{};
  at.dst_offsets = at.src_offsets + args.src_line_dims.count * 8;
  at.line_places = at.dst_offsets + args.dst_line_dims.count * 8;
  at.unit_places = (at.line_places + args.dst_line_dims.count * 4 + 15) / 16 * 16;
  at.stages = (at.unit_places + args.dst_unit_dims.count * 4 + 127) / 128 * 128;
  at.total = at.stages + kPermuteStages * args.stage_bytes;
  return at;
}

/// Returns the byte offset in the stage that a place denotes.
TW_KERNEL_HD constexpr u32 permute_byte(u32 place, u32 shift) {
  return (place ^ ((place >> (12 + shift)) & 0x70)) & 0xffff;
}

/// Returns the valid size of a tile whose index along `edge.grid_dim` is `index`.
TW_KERNEL_HD constexpr u32 permute_extent(const CopyPermuteArgs& args, const PermuteEdge& edge,
                                          u32 index) {
  if (edge.grid_dim < 0) return edge.full;
  const PermuteGridDim& dim = args.grid[edge.grid_dim];
  const u32 left = dim.extent - index * dim.tile;
  return (left < dim.tile ? left : dim.tile) * edge.unit;
}

}  // namespace tw
