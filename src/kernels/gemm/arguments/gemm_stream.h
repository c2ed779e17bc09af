// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stream-K kernels are launched with: a product's arguments, and how its units are shared.
//
// With U units, room for G clusters and K k blocks in a unit, the first `whole_units` = U / G * G
// units are multiplied by one cluster each. The k blocks of the others, counted unit by unit, are
// shared evenly: cluster c multiplies blocks c * share to (c + 1) * share - 1. A unit that several
// clusters multiply is added up in a workspace, see wgmma/stream_meet.cuh.

#include "kernels/gemm/arguments/gemm_full.h"

namespace tw {

struct GemmStreamArgs {
  GemmFullArgs full;
  u64 workspace;     // counters, then at `partials` the accumulators of parts
  u64 counter_tag;   // upper 56 bits of a counter; one without it counts as zero
  u32 partials;      // offset of the accumulators in the workspace
  i32 whole_units;   // units that one cluster multiplies by itself
  i32 share;         // k blocks of shared units for each cluster
  i32 depth;         // of a shared unit; behind the product's own they are empty
  i32 chain_blocks;  // k blocks of an accumulation chain at most
  i32 width;         // columns of a tile in use, and its place in kGemmWidths
  u32 width_number;
  i32 stages;  // of the ring, and bytes from one to the next
  u32 stage_step;
};

static_assert(sizeof(GemmStreamArgs) == 768, "the device sees the layout the host writes");
static_assert(__builtin_offsetof(GemmStreamArgs, workspace) == 640, "as above");
static_assert(__builtin_offsetof(GemmStreamArgs, chain_blocks) == 672, "as above");

/// Bytes of one stage: A, and B's columns in use, or whole boxes of 64 where they are contiguous.
TW_KERNEL_HD constexpr u32 gemm_stream_stage(const GemmTile& tile, u32 width) {
  const u32 lines = tile.variant & kGemmColumnB ? width : (width + 63) / 64 * 64;
  return (tile.m + lines) * tile.k * tile.in_bytes;
}

/// D in blocks with scales of their own and a gate takes two tiles for a block: what of the first
/// one waits in shared memory, for each of its columns, and the columns that leave enough of a
/// ring.
inline constexpr u32 kGemmParkedBytes = 256;
inline constexpr i32 kGemmMostParked = 160;

/// A counter for each block of a cluster and shared unit. As many bytes on every chip so far, so
/// that kernels which take turns with one workspace find each other's counters and not
/// accumulators.
TW_KERNEL_HD constexpr u32 gemm_stream_counter_bytes(u32 shared_units, u32 cluster) {
  const u32 bytes = (shared_units * cluster * 8 + 255) / 256 * 256;
  return bytes > 4096 ? bytes : 4096;
}

/// Accumulators of one block's part of a tile. A cluster's range of k begins in one unit and may
/// end in another, so that a block has room for two.
TW_KERNEL_HD constexpr u32 gemm_stream_tile_bytes(u32 tile_m, u32 width) {
  return tile_m * width * 4;
}

/// The clusters that share unit `unit` of the shared ones, of `depth` k blocks each.
struct GemmParts {
  i32 first, last;
};
TW_KERNEL_HD constexpr GemmParts gemm_stream_parts(i32 unit, i32 depth, i32 share) {
  return {unit * depth / share, ((unit + 1) * depth - 1) / share};
}

/// Which of a cluster's two places holds its part of a unit: the second where its range begins in a
/// unit before.
TW_KERNEL_HD constexpr i32 gemm_stream_place(i32 unit, i32 depth, i32 share, i32 cluster) {
  return cluster * share < unit * depth ? 1 : 0;
}

}  // namespace tw
