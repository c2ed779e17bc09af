// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the copy kernels, one struct per method.
//
// Dimensions are innermost first, strides are in bytes. Except where CopyPieceArgs::ends_padded
// allows it, no kernel writes a byte outside the destination's elements.

#include "kernels/arguments.h"
#include "kernels/common/divide.h"

namespace tw {

/// KernelEntry::variant of this family. Bits 0 to 7: the method. Bits 8 to 15: the rank of the maps
/// (kCopyBoxes), the size in bytes of an element (the transposes, kCopyInterleave) or of a unit
/// (kCopyPermute, see permute.h), or the pieces that a lane keeps in flight (kCopyPieces,
/// kCopyShift). Bits 16 and up: the number of planes, plus kToPlanes if the destination is planar
/// (kCopyInterleave), or 1 for the one-warp kernels (kCopyTranspose).
enum : u32 {
  kCopyBoxes = 1,
  kCopyRows = 2,
  kCopyStrided = 3,
  kCopyPermute = 4,
  kCopyShift = 5,
  kCopyPieces = 6,
  kCopyTranspose = 7,
  kCopyInterleave = 8,
  kCopyDriver = 9,  // no kernel: the driver's own memory copy
  kCopyTransposePlain = 10,
  kCopyMethods = 11,
  kCopyFill = 15  // not a method: fills the part of the destination that the source window lacks
};
inline constexpr u32 kToPlanes = 0x80;

inline constexpr u32 kCopyMapRank = 5;
inline constexpr u32 kCopyRank = 8;
inline constexpr u32 kCopyPipelineWarps = 4;  // per block; each warp has a pipeline of its own
inline constexpr u32 kCopyStridedThreads = 256;

/// Moves boxes through shared memory by tensor maps. The store map's innermost extent is rounded
/// down to a multiple of 16 bytes because TMA stores can only end there. The warp whose box holds
/// the end of the rows writes the remaining `tail_bytes` from shared memory.
struct CopyBoxArgs {
  KernelMap src_map;
  KernelMap dst_map;
  u64 src;
  u64 dst;
  u64 src_policy;  // L2 cache policies, here and below; see device/cache.cuh
  u64 dst_policy;
  u64 tiles;
  u64 tail_from;  // byte offset of the tail within a row
  i64 dst_stride[kCopyMapRank];
  u32 tile_count[kCopyMapRank];
  u32 box[kCopyMapRank];     // elements
  u32 extent[kCopyMapRank];  // elements
  u32 element_bytes;
  u32 box_bytes;
  u32 stage_bytes;
  u32 stages;
  u32 tail_bytes;  // 0 to 15
  u32 rank;        // read by the host body only; a kernel is compiled for one rank
};
static_assert(sizeof(CopyBoxArgs) == 512 && alignof(CopyBoxArgs) == 128,
              "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyBoxArgs, src) == 256, "as above");
static_assert(__builtin_offsetof(CopyBoxArgs, tile_count) == 344, "as above");
static_assert(__builtin_offsetof(CopyBoxArgs, element_bytes) == 404, "as above");

/// Moves rows that are contiguous on both sides by one-dimensional bulk copies through shared
/// memory. A row consists of `head_bytes` up to the first 16-byte boundary, a body of whole 16-byte
/// pieces, and `tail_bytes`. The body is cut into `chunks`, of which the last may be shorter. In
/// every row, source and destination have the same offset from a 16-byte boundary.
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
  u32 rank;                       // number of dimensions outside a row
  u32 head_bytes;
  u32 tail_bytes;
  u32 chunk_bytes;
  u32 last_bytes;  // size of the last chunk
  u32 chunks;
  u32 stage_chunks;  // chunks per stage of the pipeline
  u32 stage_bytes;
  u32 stages;
};
static_assert(sizeof(CopyRowArgs) == 280, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyRowArgs, extent) == 160, "as above");
static_assert(__builtin_offsetof(CopyRowArgs, rank) == 244, "as above");

/// Copies with any strides and alignment by ordinary loads and stores of `unit_bytes`. A unit is
/// one element, or up to 16 bytes of adjacent elements if both sides are contiguous along dimension
/// 0 and all addresses and strides are aligned to the unit.
struct CopyStridedArgs {
  u64 src;
  u64 dst;
  u64 src_policy;
  u64 dst_policy;
  u64 units;
  u64 extent[kCopyRank];  // units along dimension 0
  i64 src_stride[kCopyRank];
  i64 dst_stride[kCopyRank];
  Divider divider[kCopyRank];  // by `extent`; used if `units` is below kDividerLimit
  u32 rank;                    // 1 to kCopyRank
  u32 unit_bytes;              // 1, 2, 4, 8 or 16
};
static_assert(sizeof(CopyStridedArgs) == 336, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyStridedArgs, divider) == 232, "as above");
static_assert(__builtin_offsetof(CopyStridedArgs, rank) == 328, "as above");

/// Fills the part of the destination that a source window outside its tensor does not supply. Every
/// unit gets the same pattern, which is periodic in 16 bytes.
struct CopyFillArgs {
  CopyStridedArgs place;  // src, src_policy and src_stride are not read
  u64 pattern;            // its first 8 bytes; the second 8 are the same
};
static_assert(sizeof(CopyFillArgs) == 344, "host and device must agree on the layout");
static_assert(__builtin_offsetof(CopyFillArgs, pattern) == 336, "as above");

}  // namespace tw
