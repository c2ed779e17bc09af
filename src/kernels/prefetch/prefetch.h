// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the rows of the prefetch family are launched with: one struct a method. Nothing outside the
// stated rows is ever asked for.

#include "kernels/arguments.h"

namespace tw {

/// KernelRow::variant of this family: the method.
enum : u32 { kPrefetchBoxes = 1, kPrefetchRows = 2 };

inline constexpr u32 kPrefetchThreads = 32;  // of a block
inline constexpr u32 kPrefetchDepth = 2;     // loads that a thread has in flight
inline constexpr u32 kPrefetchBytes = 4096;  // that a box or chunk has at most
inline constexpr u32 kPrefetchRank = 8;

/// A matrix by boxes of its tensor map.
struct PrefetchBoxArgs {
  KernelMap map;
  u64 tiles;
  u32 tiles_x;
  u32 box[2];     // elements
  u32 box_bytes;  // loaded into shared memory; 0: asked for by the prefetch instruction
  u64 policy;     // of the L2, see device/cache.cuh
  u32 reserved2[24];
};
static_assert(sizeof(PrefetchBoxArgs) == 256 && alignof(PrefetchBoxArgs) == 128,
              "the device sees the layout the host writes");
static_assert(__builtin_offsetof(PrefetchBoxArgs, tiles) == 128, "as above");
static_assert(__builtin_offsetof(PrefetchBoxArgs, box) == 140, "as above");

/// Rows of any alignment in chunks of `chunk_bytes`, from the first 16-byte boundary in a
/// row to the last; the lines of a row's first and last byte are asked for singly where those
/// boundaries leave bytes out.
struct PrefetchRowArgs {
  u64 src;
  u64 rows;  // of all dimensions
  u64 row_bytes;
  u64 policy;       // of the L2, see device/cache.cuh
  u32 chunk_bytes;  // a multiple of 16
  u32 chunks;       // of a row, whatever its alignment
  u32 rank;         // dimensions outside a row, innermost first
  u32 loads;        // 1: loaded into shared memory; 0: asked for by the prefetch instruction
  u64 extent[kPrefetchRank];
  i64 stride[kPrefetchRank];  // bytes
};
static_assert(sizeof(PrefetchRowArgs) == 176, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(PrefetchRowArgs, extent) == 48, "as above");

/// Where row number `row` begins.
TW_KERNEL_HD inline u64 prefetch_row(const PrefetchRowArgs& args, u64 row) {
  u64 address = args.src;
  u64 rest = row;
  for (u32 d = 0; d < args.rank && rest != 0; ++d) {
    const u64 next = d + 1 < args.rank ? rest / args.extent[d] : 0;
    address += (rest - next * args.extent[d]) * static_cast<u64>(args.stride[d]);
    rest = next;
  }
  return address;
}

/// One chunk of a row at `address`; `bytes` 0 where the row has no such chunk.
struct PrefetchChunk {
  u64 from;
  u32 bytes;
};
TW_KERNEL_HD constexpr PrefetchChunk prefetch_chunk(u64 address, u64 row_bytes, u32 chunk_bytes,
                                                    u32 chunk) {
  const u64 end = (address + row_bytes) & ~15ull;
  const u64 from = ((address + 15) & ~15ull) + static_cast<u64>(chunk) * chunk_bytes;
  if (from >= end) return {0, 0};
  const u64 left = end - from;
  return {from, left < chunk_bytes ? static_cast<u32>(left) : chunk_bytes};
}

}  // namespace tw
