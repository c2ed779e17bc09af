// SPDX-License-Identifier: Apache-2.0
#pragma once
// Launch arguments of stream-K kernels: those of the product, and the division of its units along
// k.
//
// A worker is a CTA or, with multicast, the CTAs of a cluster. With U units and G concurrent
// workers, each of the first `whole_units` = U / G * G units is computed by one worker (the
// quotient is rounded down). The remaining units are the divided units. Their k blocks are numbered
// unit by unit and divided into shares: worker w multiplies blocks w * share to (w + 1) * share
// - 1. If several workers multiply parts of a unit, these are added up in the workspace
// (wgmma/stream_meet.cuh).
//
// A launch without multicast can instead have joined CTAs: `joined` consecutive CTAs form a cluster
// and multiply one unit, and the parts are added up in shared memory (wgmma/stream_join.cuh). Each
// CTA is a worker that has exactly one share, of one divided unit.
//
// Basic stream-K kernels have these arguments too, but of `full` they read only `full.base`.

#include "kernels/gemm/arguments/gemm_full.h"

namespace tw {

struct GemmStreamArgs {
  GemmEpilogueArgs full;
  u64 workspace;        // counters, then partial accumulators at partials_offset
  u64 counter_tag;      // the upper bits of a valid counter (kGemmStreamCounterFields)
  u32 partials_offset;  // bytes before the partial accumulators: in the workspace, or in the
                        // shared memory of joined CTAs
  i32 whole_units;      // units that one worker computes alone
  i32 share;            // k blocks of divided units that each worker multiplies
  i32 padded_k_blocks;  // k blocks of a divided unit; those beyond the product's k are empty
  i32 chain_blocks;     // most k blocks in an accumulation chain
  i32 width;            // columns of a tile that the run uses
  u32 width_index;      // index of `width` in kGemmWidths
  i32 stages;           // of the pipeline
  u32 stage_step;       // bytes from one stage to the next
  i32 joined;  // CTAs of a cluster that multiply one unit; 0: parts are added in the workspace
  // Except in kernels for narrow types: the binary logarithms of the number of CTAs in a cluster
  // that shares its loads (1, 2, 4 or 8 CTAs), and of their number along m.
  unsigned char cluster_log, cluster_log_m;
  unsigned short cluster_row_mask;  // a bit for each CTA of the cluster whose rank along m is 0
};

static_assert(sizeof(GemmStreamArgs) == 768, "host and device must agree on the layout");
static_assert(__builtin_offsetof(GemmStreamArgs, workspace) == 640, "as above");
static_assert(__builtin_offsetof(GemmStreamArgs, chain_blocks) == 672, "as above");

/// Bytes of one stage: A and the used columns of B, rounded up to boxes of 64 for a row-major B.
TW_KERNEL_HD constexpr u32 gemm_stream_stage(const GemmTile& tile, u32 width) {
  const u32 lines = tile.variant & kGemmColumnB ? width : (width + 63) / 64 * 64;
  return (tile.m + lines) * tile.k * tile.in_bytes;
}

/// If a gated D has a scale for each block of 128 elements, a block takes two tiles. The first
/// tile's elements are held in shared memory until the second tile is multiplied.
/// kGemmHeldColumnBytes is what each column of the tile takes. A tile with more than
/// kGemmMaxHeldColumns columns would leave no memory for enough stages.
inline constexpr u32 kGemmHeldColumnBytes = 256;
inline constexpr i32 kGemmMaxHeldColumns = 160;

/// Bytes of the counters, at least 4096. Each divided unit has one counter for each CTA of a
/// worker. On every chip so far all counters fit into 4096 bytes. Different kernels that use one
/// workspace, one after the other, then have their counters in the same place, so that none of them
/// reads a counter where another one has stored accumulators.
TW_KERNEL_HD constexpr u32 gemm_stream_counter_bytes(u32 divided_units, u32 cluster) {
  const u32 bytes = (divided_units * cluster * 8 + 255) / 256 * 256;
  return bytes > 4096 ? bytes : 4096;
}

/// Bytes of one slot, which holds a CTA's partial accumulators of a tile. A worker's share can
/// begin in one unit and end in another, so the workspace has two slots for each CTA.
TW_KERNEL_HD constexpr u32 gemm_stream_tile_bytes(u32 tile_m, u32 width) {
  return tile_m * width * 4;
}

/// The lower bits of a counter, which have counts and marks of CTAs (wgmma/stream_slices.cuh). The
/// other bits are the tag.
inline constexpr u64 kGemmStreamCounterFields = (1 << 20) - 1;

/// The first and the last worker that multiply parts of a unit. `unit` is its number among the
/// divided units, here and below.
struct GemmParts {
  i32 first, last;
};
TW_KERNEL_HD constexpr GemmParts gemm_stream_parts(i32 unit, i32 padded_k_blocks, i32 share) {
  return {unit * padded_k_blocks / share, ((unit + 1) * padded_k_blocks - 1) / share};
}

/// Columns of a slice if `parts` CTAs share a tile of `width` columns; the last slices may have
/// fewer. The result is a multiple of `step`, which is 16, or 64 in kernels for narrow types
/// without swap-AB (GemmConfig::kSliceStep).
TW_KERNEL_HD constexpr i32 gemm_slice_columns(i32 width, i32 parts, i32 step = 16) {
  return ((width + step - 1) / step + parts - 1) / parts * step;
}
/// Bytes of shared memory in which a joined CTA receives the partial accumulators of its slice.
TW_KERNEL_HD constexpr u32 gemm_joined_bytes(u32 tile_m, i32 width, i32 joined) {
  return tile_m * static_cast<u32>(gemm_slice_columns(width, joined) * joined) * 4;
}

/// Which of a worker's two slots in the workspace holds its part of a unit: slot 1 if the worker's
/// share begins in an earlier unit, else slot 0.
TW_KERNEL_HD constexpr i32 gemm_stream_slot(i32 unit, i32 padded_k_blocks, i32 share, i32 worker) {
  return worker * share < unit * padded_k_blocks ? 1 : 0;
}

}  // namespace tw
