// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiled transposes: arguments of the kernels in copy_transpose.cuh, and the position of each tile.
//
// Dimension a is contiguous in the source, dimension b in the destination. Both are counted in
// units: 16-byte vectors if all addresses, pitches and extents are multiples of 16 bytes, else
// elements. A tile has tile_a x tile_b units.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

inline constexpr u32 kTransposeThreads = 256;
inline constexpr u32 kSmallTransposeThreads = 32;
inline constexpr u32 kTransposeRank = 6;  // dimensions other than a and b

/// Edge of a tile whose units are elements, and the bytes from one of its lines to the next in
/// shared memory. For elements narrower than 4 bytes the pitch is an odd number of words, so that
/// the elements of a column lie in different banks.
TW_KERNEL_HD constexpr u32 transpose_edge(u32 element_bytes) {
  return element_bytes >= 8 ? 32 : 64;
}
TW_KERNEL_HD constexpr u32 transpose_pitch(u32 element_bytes) {
  return transpose_edge(element_bytes) * element_bytes + (element_bytes < 4 ? 4 : element_bytes);
}

struct CopyTransposeArgs {
  u64 src;
  u64 dst;
  i64 src_pitch;  // bytes from one index of b to the next
  i64 dst_pitch;  // bytes from one index of a to the next
  u64 src_policy;
  u64 dst_policy;
  u64 tiles;  // of all planes together, below kDividerLimit
  i64 src_stride[kTransposeRank];
  i64 dst_stride[kTransposeRank];
  Divider extent[kTransposeRank];
  Divider plane_tiles;  // tiles of one a-b plane
  Divider tiles_b;
  u32 rank;
  u32 units_a;  // extents of a and b in units
  u32 units_b;
  u32 tile_a;  // this and the next three are read by the host body; a kernel is compiled for them
  u32 tile_b;
  u32 unit_elements;
  u32 element_bytes;
  u32 planes;  // read by the plan only
  u32 reserved;
};
static_assert(sizeof(CopyTransposeArgs) == 288, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyTransposeArgs, extent) == 152, "as above");
static_assert(__builtin_offsetof(CopyTransposeArgs, rank) == 248, "as above");

struct TransposePlace {
  u64 src;  // of the plane
  u64 dst;
  u32 a;  // first unit of the tile along a
  u32 b;  // first unit of the tile along b
};

/// Tiles are numbered along b first, so that concurrent tiles write long contiguous runs.
TW_KERNEL_HD constexpr TransposePlace transpose_place(const CopyTransposeArgs& args, u32 tile,
                                                      u32 tile_a, u32 tile_b) {
  u32 plane = divide(tile, args.plane_tiles);
  const u32 within = tile - plane * args.plane_tiles.divisor;
  const u32 a = divide(within, args.tiles_b);
  TransposePlace at{args.src, args.dst, a * tile_a, (within - a * args.tiles_b.divisor) * tile_b};
  for (u32 d = 0; d < args.rank; ++d) {
    const u32 next = divide(plane, args.extent[d]);
    const u32 index = plane - next * args.extent[d].divisor;
    at.src += static_cast<u64>(static_cast<i64>(index) * args.src_stride[d]);
    at.dst += static_cast<u64>(static_cast<i64>(index) * args.dst_stride[d]);
    plane = next;
  }
  return at;
}

}  // namespace tw
