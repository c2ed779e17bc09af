// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposes of 16-byte squares in registers: what the kernels of copy_transpose.cuh are launched
// with, and where tiles lie.
//
// Dimension a is contiguous in the source, dimension b in the destination, and both are whole
// numbers of 16-byte vectors. A cell is a square of elements, one vector long on either side; a
// tile is tile_a x tile_b cells.

#include "kernels/arguments.h"
#include "kernels/parts/divide.h"

namespace tw {

inline constexpr u32 kTransposeThreads = 256;
inline constexpr u32 kTransposeRank = 6;  // dimensions beside a and b

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
  Divider group_tiles;  // of one group: `group` rows of tiles along b, all of a
  u32 rank;
  u32 group;
  u32 tiles_b;
  u32 vectors_a;  // extents of a and b
  u32 vectors_b;
  u32 tile_a;  // read by the host body, as the next two; a kernel is compiled for its own
  u32 tile_b;
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
  u32 a;  // first vectors of the tile
  u32 b;
};

/// Tiles are walked along b within a group, then along a, then group by group: those that run at
/// one time make long runs on both sides.
TW_KERNEL_HD constexpr TransposePlace transpose_place(const CopyTransposeArgs& args, u32 tile,
                                                      u32 tile_a, u32 tile_b) {
  TransposePlace at{args.src, args.dst, 0, 0};
  u32 plane = divide(tile, args.plane_tiles);
  const u32 within = tile - plane * args.plane_tiles.divisor;
  const u32 group = divide(within, args.group_tiles);
  const u32 rest = within - group * args.group_tiles.divisor;
  const u32 left = args.tiles_b - group * args.group;
  const u32 width = left < args.group ? left : args.group;
  const u32 a = rest / width;
  at.a = a * tile_a;
  at.b = (group * args.group + rest - a * width) * tile_b;
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
