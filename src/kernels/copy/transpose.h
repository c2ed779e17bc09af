// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposes by tiles: what the kernels of copy_transpose.cuh are launched with, and where tiles
// lie.
//
// Dimension a is contiguous in the source, dimension b in the destination. Both are counted in
// units: 16-byte vectors where everything is aligned to them, else elements. A tile is tile_a x
// tile_b units.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

inline constexpr u32 kTransposeThreads = 256;
inline constexpr u32 kSmallTransposeThreads = 32;
inline constexpr u32 kTransposeRank = 6;  // dimensions beside a and b

/// The edge of a tile of elements, and the bytes between its lines in shared memory: an odd number
/// of words for narrow elements, so that a column lies in different banks.
TW_KERNEL_HD constexpr u32 transpose_edge(u32 element_bytes) {
  return element_bytes >= 8 ? 32 : 64;
}
TW_KERNEL_HD constexpr u32 transpose_pitch(u32 element_bytes) {
  return transpose_edge(element_bytes) * element_bytes + (element_bytes < 4 ? 4 : element_bytes);
}

struct CopyTransposeArgs {
  u64 src;
  u64 dst;
  i64 src_pitch;  // bytes from one b to the next
  i64 dst_pitch;  // bytes from one a to the next
  u64 src_policy;
  u64 dst_policy;
  u64 tiles;  // of all planes, below kDividerLimit
  i64 src_stride[kTransposeRank];
  i64 dst_stride[kTransposeRank];
  Divider extent[kTransposeRank];
  Divider plane_tiles;  // of one plane of a and b
  Divider tiles_b;
  u32 rank;
  u32 units_a;  // extents of a and b
  u32 units_b;
  u32 tile_a;  // read by the host body, as the next three; a kernel is compiled for its own
  u32 tile_b;
  u32 unit_elements;
  u32 element_bytes;
  u32 planes;  // read by the plan
  u32 reserved;
};
static_assert(sizeof(CopyTransposeArgs) == 288, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyTransposeArgs, extent) == 152, "as above");
static_assert(__builtin_offsetof(CopyTransposeArgs, rank) == 248, "as above");

struct TransposePlace {
  u64 src;  // of the plane
  u64 dst;
  u32 a;  // first units of the tile
  u32 b;
};

/// Tiles are walked along b first: those that run at one time write long runs.
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
