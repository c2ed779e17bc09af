// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the rows of the copy family are launched with: one struct a method.
//
// Dimensions are innermost first, strides count bytes. Every method copies whole elements of the
// destination and nothing beside them.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

/// Bits 0 to 7 of KernelRow::variant: the method. Bits 8 to 15: for kCopyBoxes the maps' rank, for
/// kCopyPermute, the transposes and kCopyInterleave the bytes of an element, for kCopyPieces and
/// kCopyShift the pieces that a lane keeps in flight. Bits 16 and up: for kCopyInterleave the
/// planes, with kToPlanes added where they are the destination's.
enum : u32 {
  kCopyBoxes = 1,
  kCopyRows = 2,
  kCopyStrided = 3,
  kCopyPermute = 4,
  kCopyShift = 5,
  kCopyPieces = 6,
  kCopyTranspose = 7,
  kCopyInterleave = 8,
  kCopyDriver = 9,  // no kernel: the device's own copy
  kCopyTransposePlain = 10,
  kCopyMethods = 11,
  kCopyFill = 15  // no method of a copy: what a window's overhang gets
};
inline constexpr u32 kToPlanes = 0x80;

inline constexpr u32 kCopyMapRank = 5;
inline constexpr u32 kCopyRank = 8;
inline constexpr u32 kCopyRingWarps = 4;  // of a block; each has a ring of its own
inline constexpr u32 kCopyStridedThreads = 256;

/// Boxes by tensor maps through shared memory. The store map's innermost extent ends at a multiple
/// of 16 bytes, since the copy engine clips stores no finer; the `tail_bytes` behind it are stored
/// from shared memory by the warp whose box holds the end of the rows.
struct CopyBoxArgs {
  KernelMap src_map;
  KernelMap dst_map;
  u64 src;
  u64 dst;
  u64 src_policy;  // of the L2, here and below, see device/cache.cuh
  u64 dst_policy;
  u64 tiles;
  u64 tail_from;  // byte of a row
  i64 dst_stride[kCopyMapRank];
  u32 tile_count[kCopyMapRank];
  u32 box[kCopyMapRank];     // elements
  u32 extent[kCopyMapRank];  // elements
  u32 element_bytes;
  u32 box_bytes;
  u32 stage_bytes;
  u32 stages;
  u32 tail_bytes;  // 0 to 15
  u32 rank;        // read by the host body; a kernel is compiled for its own
};
static_assert(sizeof(CopyBoxArgs) == 512 && alignof(CopyBoxArgs) == 128,
              "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyBoxArgs, src) == 256, "as above");
static_assert(__builtin_offsetof(CopyBoxArgs, tile_count) == 344, "as above");
static_assert(__builtin_offsetof(CopyBoxArgs, element_bytes) == 404, "as above");

/// Rows that are contiguous on both sides, by one-dimensional bulk copies through shared memory. A
/// row is `head_bytes` up to the first 16-byte boundary, a body of whole 16-byte pieces, cut into
/// `chunks` of which the last may be shorter, and `tail_bytes`. Source and destination have the
/// same offset from such a boundary, in every row.
struct CopyRowArgs {
  u64 src;
  u64 dst;
  u64 src_policy;
  u64 dst_policy;
  u64 rows;
  u64 body_bytes;
  i64 src_stride[kCopyRank - 1];
  i64 dst_stride[kCopyRank - 1];
  Divider extent[kCopyRank - 1];  // of the dimensions outside a row
  u32 rank;                       // how many of them
  u32 head_bytes;
  u32 tail_bytes;
  u32 chunk_bytes;
  u32 last_bytes;  // of the last chunk
  u32 chunks;
  u32 stage_chunks;  // chunks of one stage of the ring
  u32 stage_bytes;
  u32 stages;
};
static_assert(sizeof(CopyRowArgs) == 280, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyRowArgs, extent) == 160, "as above");
static_assert(__builtin_offsetof(CopyRowArgs, rank) == 244, "as above");

/// Anything, by plain loads and stores of `unit_bytes`: an element, or up to 16 bytes of neighbours
/// where both sides are contiguous along dimension 0 and everything is aligned.
struct CopyStridedArgs {
  u64 src;
  u64 dst;
  u64 src_policy;
  u64 dst_policy;
  u64 units;
  u64 extent[kCopyRank];  // units along dimension 0
  i64 src_stride[kCopyRank];
  i64 dst_stride[kCopyRank];
  Divider divider[kCopyRank];  // by extent, where `units` is below kDividerLimit
  u32 rank;                    // 1 to kCopyRank
  u32 unit_bytes;              // 1, 2, 4, 8 or 16
};
static_assert(sizeof(CopyStridedArgs) == 336, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyStridedArgs, divider) == 232, "as above");
static_assert(__builtin_offsetof(CopyStridedArgs, rank) == 328, "as above");

/// What a source window that hangs over its tensor leaves out of the destination: units of one
/// pattern, which repeats every 16 bytes from any multiple of two.
struct CopyFillArgs {
  CopyStridedArgs place;  // of which src, src_policy and src_stride go unread
  u64 pattern;            // eight bytes of it
};
static_assert(sizeof(CopyFillArgs) == 344, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(CopyFillArgs, pattern) == 336, "as above");

}  // namespace tw
