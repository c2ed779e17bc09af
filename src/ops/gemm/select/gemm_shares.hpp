// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a stream-K kernel divides a product among clusters, see kernels/gemm/arguments/gemm_stream.h.
// The kernel's arguments and the cost model both use this division.
//
// Clusters first multiply whole units in full waves. The remaining units are shared along k: each
// cluster gets `share` k blocks of them, and partial accumulators meet in the run's workspace. If
// the blocks that share a unit can form a cluster, they meet in its shared memory instead.

#include <cstdint>

#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

struct GemmShares {
  int64_t width = 0;          // columns of a tile
  uint32_t width_number = 0;  // index of width in kGemmWidths
  int64_t units_m = 0, units_n = 0, batch = 1;
  int64_t whole = 0;     // units that one cluster multiplies alone
  int64_t depth = 0;     // k blocks of a shared unit, padded if shares end with their unit
  int64_t share = 1;     // k blocks of shared units per cluster
  int64_t clusters = 1;  // clusters of the grid
  int64_t chain = 1;     // most k blocks of an accumulation chain
  int64_t k_blocks = 1;  // k blocks of a unit, without padding
  int64_t together = 1;  // consecutive units that one cluster multiplies
  int64_t joined = 0;    // blocks that share a unit as one cluster; 0: parts meet in the workspace

  int64_t units() const { return units_m * units_n * batch; }
  int64_t shared() const { return units() - whole; }
  /// Gives every unit to a single cluster.
  void share_nothing(int64_t at_once);
  /// Most clusters that multiply one shared unit.
  int64_t parts() const;
  /// Offset of the accumulators in the workspace, after the counters of each block of a cluster.
  int64_t counter_bytes(uint32_t cluster) const;
  /// Bytes of a block's shared memory where joined parts meet.
  int64_t joined_bytes(const GemmChoice& choice) const;
  /// 0 if no partial accumulators meet in the workspace.
  int64_t workspace_bytes(const GemmChoice& choice) const;
};

/// Whether no run of the choice needs a workspace for partial accumulators.
bool gemm_needs_no_workspace(const GemmChoice& choice, const GemmDesc& desc);

/// The division of an m x n product among `at_once` concurrent clusters. m and n are the run's
/// extents as the kernel sees them, like `seen`. `clusters` has the number of concurrent clusters
/// for each size in blocks, up to kMaxCluster.
GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& seen, int64_t m, int64_t n,
                       int64_t at_once, const uint32_t* clusters);

/// Workspace bytes that suffice for any run of at most `rows` rows (the caller's m).
int64_t gemm_max_workspace_bytes(const GemmChoice& choice, int64_t rows, int64_t at_once);

/// Tiles along m that one cluster multiplies one after the other, because a scale of D covers gated
/// columns of all of them (wgmma/narrow/narrow_blocks.cuh); 1: tiles are independent.
int64_t gemm_tiles_together(const GemmChoice& choice, const GemmDesc& seen);

/// Units along m, including all of those that belong together.
int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& seen, int64_t m);

/// Bytes of shared memory for stages, if a tile has `width` columns.
int64_t gemm_ring_bytes(const GemmChoice& choice, const GemmDesc& seen, const GemmTile& tile,
                        int64_t width);

/// Columns of a tile: fixed for most kernels. A stream-K kernel uses the width of kGemmWidths that
/// covers n with the fewest unused columns.
int64_t gemm_tile_columns(const GemmChoice& choice, const GemmDesc& seen, int64_t n);

/// Accumulation chains into which k is cut so that the drift of a chain does not show in D, see
/// gemm_chains. In an f16 D it would show past 16384 products.
int32_t gemm_chains_of(const GemmDesc& desc);
/// Most products along k in one chain.
int64_t gemm_chain_length(const GemmDesc& desc);

/// Largest k for which stream-K kernels can count all shared k blocks in 31 bits.
inline constexpr int64_t kGemmMaxStreamK = int64_t{1} << 28;

}  // namespace tw
