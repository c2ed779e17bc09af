// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a stream-K kernel divides a product among workers. A worker is a CTA or, with multicast, a
// cluster of CTAs; kernels/gemm/arguments/gemm_stream.h has the details. The kernel's arguments and
// the cost model both use this division.
//
// Workers first multiply whole units in complete waves. The remaining units are divided along k:
// each worker gets `share` k blocks of them, and partial accumulators are added in the run's
// workspace. CTAs that multiply a unit are joined if possible: they form a cluster and add the
// partial accumulators in its shared memory instead.
//
// The width of the tiles is chosen with the division: narrower tiles can fill the SMs better.

#include <cstdint>

#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

struct GemmShares {
  int64_t width = 0;         // columns of a tile
  uint32_t width_index = 0;  // index of width in kGemmWidths
  int64_t units_m = 0, units_n = 0, batch = 1;
  int64_t whole_units = 0;   // units that one worker multiplies alone
  int64_t depth = 0;         // k blocks of a divided unit, padded to a multiple of an aligned share
  int64_t share = 1;         // k blocks of divided units for each worker
  int64_t workers = 1;       // workers of the grid
  int64_t chain_blocks = 1;  // most k blocks of an accumulation chain
  int64_t k_blocks = 1;      // k blocks of a unit, without padding
  int64_t tiles_together = 1;  // see gemm_tiles_together()
  int64_t joined = 0;  // CTAs that multiply a unit as one cluster; 0: the workspace adds parts

  int64_t units() const { return units_m * units_n * batch; }
  int64_t divided_units() const { return units() - whole_units; }
  /// Gives every unit to a single worker.
  void share_nothing(int64_t resident_clusters);
  /// The most workers that multiply one divided unit.
  int64_t max_parts() const;
  /// Offset of the accumulators in the workspace, which begins with a counter for each divided unit
  /// and CTA of a worker.
  int64_t counter_bytes(uint32_t cluster) const;
  /// Bytes of a CTA's shared memory in which the parts of a unit are added; 0 if `joined` is 0.
  int64_t joined_bytes(const GemmChoice& choice) const;
  /// Workspace bytes; 0 if no partial accumulators are added there.
  int64_t workspace_bytes(const GemmChoice& choice) const;
};

/// Whether no run of the choice needs a workspace for partial accumulators.
bool gemm_needs_no_workspace(const GemmChoice& choice, const GemmDesc& desc);

/// The division of an m x n product among `resident_clusters` workers, as many as run at the same
/// time. `kernel_desc` is the description as the kernel sees it, and m and n are the run's extents
/// in it. `clusters` has the number of clusters that run at the same time for each size in CTAs, up
/// to kMaxCluster.
GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m, int64_t n,
                       int64_t resident_clusters, const uint32_t* clusters);

/// Workspace bytes that suffice for any run of at most `rows` rows (the caller's m).
int64_t gemm_max_workspace_bytes(const GemmChoice& choice, int64_t rows, int64_t resident_clusters);

/// Tiles along m that one worker multiplies one after the other, because a scale of D covers gated
/// columns of all of them (wgmma/narrow/narrow_blocks.cuh); 1: tiles are independent.
int64_t gemm_tiles_together(const GemmChoice& choice, const GemmDesc& kernel_desc);

/// Units along m, rounded up to a multiple of gemm_tiles_together().
int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m);

/// Bytes of shared memory for the stages of the pipeline, if a tile has `width` columns.
int64_t gemm_pipeline_bytes(const GemmChoice& choice, const GemmDesc& kernel_desc,
                            const GemmTile& tile, int64_t width);

/// Columns of a tile: fixed for most kernels. For a stream-K kernel these are the most columns that
/// gemm_shares() chooses for n, with which the fewest tiles cover it.
int64_t gemm_widest_tile(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n);

/// Accumulation chains into which k must be cut so that the drift of a chain does not show in D,
/// see gemm_chain_count. In an f16 D the drift shows if a chain has more than 16384 products. A
/// bf16 D is eight times as coarse.
int32_t gemm_required_chains(const GemmDesc& desc);
/// Most products along k in one chain.
int64_t gemm_chain_length(const GemmDesc& desc);

/// Largest k for which stream-K kernels can count all shared k blocks in 31 bits.
inline constexpr int64_t kGemmMaxStreamK = int64_t{1} << 28;

}  // namespace tw
