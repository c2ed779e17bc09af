// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arguments of the prefetch kernels, one struct per method. No kernel prefetches anything outside
// the given rows.

#include "kernels/arguments.h"

namespace tw {

/// KernelEntry::variant of this family: the method.
enum : u32 { kPrefetchBoxes = 1, kPrefetchRows = 2 };

inline constexpr u32 kPrefetchThreads = 32;  // per block
inline constexpr u32 kPrefetchDepth = 2;     // loads that a thread keeps in flight
inline constexpr u32 kPrefetchBytes = 4096;  // largest size of a box or chunk
inline constexpr u32 kPrefetchRank = 8;

/// Prefetches a matrix by boxes of its tensor map.
struct PrefetchBoxArgs {
  KernelMap map;
  u64 tiles;
  u32 tiles_x;
  u32 box[2];     // elements
  u32 box_bytes;  // loads this many bytes into shared memory; 0: uses the prefetch instruction
  u64 policy;     // L2 cache policy, see device/cache.cuh
  u32 reserved2[24];
};
static_assert(sizeof(PrefetchBoxArgs) == 256 && alignof(PrefetchBoxArgs) == 128,
              "host and device must agree on the layout");
static_assert(__builtin_offsetof(PrefetchBoxArgs, tiles) == 128, "as above");
static_assert(__builtin_offsetof(PrefetchBoxArgs, box) == 140, "as above");

/// Prefetches rows of any alignment. Chunks of `chunk_bytes` cover a row between its first and its
/// last 16-byte boundary. If bytes remain at an end, the kernel prefetches the line of the first or
/// last byte.
struct PrefetchRowArgs {
  u64 src;
  u64 rows;  // over all dimensions
  u64 row_bytes;
  u64 policy;       // L2 cache policy, see device/cache.cuh
  u32 chunk_bytes;  // a multiple of 16
  u32 chunks;       // per row, for any alignment
  u32 rank;         // dimensions outside a row, innermost first
  u32 loads;        // 1: loads into shared memory; 0: uses the prefetch instruction
  u64 extent[kPrefetchRank];
  i64 stride[kPrefetchRank];  // bytes
};
static_assert(sizeof(PrefetchRowArgs) == 176, "host and device must agree on the layout");
static_assert(__builtin_offsetof(PrefetchRowArgs, extent) == 48, "as above");

/// Returns the address of row number `row`.
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

/// A chunk of the row at `address`; `bytes` is 0 if the row has no such chunk.
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
