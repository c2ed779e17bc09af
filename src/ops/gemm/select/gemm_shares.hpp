// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a stream-K kernel divides a product among workers. A worker is a CTA or, with multicast, a
// cluster of CTAs; kernels/gemm/arguments/gemm_stream.h has the details. The kernel's arguments and
// the cost model both use this division.
//
// A unit consists of the tiles that the CTAs of one worker multiply at the same time. Workers first
// multiply whole units in complete waves. The remaining units are divided along k: each worker gets
// `share` k blocks of them, and the partial accumulators of a unit are added in the run's
// workspace. If possible, the CTAs that multiply a unit are joined instead: they form a cluster and
// add the partial accumulators in its shared memory.
//
// Narrower tiles than the widest can fill the SMs better. The choice says how wide they may be
// (GemmChoice::width).

#include <cstdint>

#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

struct GemmShares {
  int64_t width = 0;         // columns of a tile
  uint32_t width_index = 0;  // index of width in kGemmWidths
  int64_t units_m = 0, units_n = 0, batch = 1;
  int64_t whole_units = 0;        // units that are not divided along k
  int64_t padded_k_blocks = 0;    // k blocks of a divided unit, padded to whole aligned shares
  int64_t share = 1;              // k blocks that each worker multiplies in divided units
  int64_t workers = 1;            // workers of the grid
  int64_t chain_blocks = 1;       // the largest number of k blocks in an accumulation chain
  int64_t k_blocks = 1;           // k blocks of a unit, without padding
  int64_t consecutive_tiles = 1;  // see gemm_consecutive_tiles()
  int64_t joined = 0;             // CTAs that are joined to multiply one unit; 0: none are joined

  int64_t units() const { return units_m * units_n * batch; }
  int64_t divided_units() const { return units() - whole_units; }
  /// Changes the division to one that divides no unit: one worker multiplies all k of each unit.
  void divide_no_unit(int64_t resident_clusters);
  /// An upper bound of the number of workers that multiply one unit.
  int64_t max_parts() const;
  /// Bytes of the counters with which the workspace begins. The partial accumulators follow them.
  /// Each divided unit has one counter for each of the `cluster` CTAs of a worker.
  int64_t counter_bytes(uint32_t cluster) const;
  /// Bytes of a CTA's shared memory in which the parts of a unit are added; 0 if `joined` is 0.
  int64_t joined_bytes(const GemmChoice& choice) const;
  /// Workspace bytes; 0 if no partial accumulators are stored in the workspace.
  int64_t workspace_bytes(const GemmChoice& choice) const;
};

/// Whether all runs of the choice work without workspace memory for partial accumulators.
bool gemm_needs_no_workspace(const GemmChoice& choice, const GemmDesc& desc);

/// Divides an m x n product. `kernel_desc` is the description as the kernel sees it; m and n are
/// the run's sizes as the kernel sees them. `resident_clusters` is the number of workers that run
/// at the same time. clusters[c] is the number of clusters of c CTAs that run at the same time, for
/// c of at most kMaxCluster.
GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m, int64_t n,
                       int64_t resident_clusters, const uint32_t* clusters);

/// Workspace bytes that suffice for any run with at most `columns` columns as the kernel sees them.
/// If operands are swapped, these are the caller's rows.
int64_t gemm_max_workspace_bytes(const GemmChoice& choice, int64_t columns,
                                 int64_t resident_clusters);

/// Number of tiles along m that one worker must multiply one after the other: 2 if a scale of a
/// gated D covers elements from two tiles (wgmma/narrow/narrow_blocks.cuh), else 1.
int64_t gemm_consecutive_tiles(const GemmChoice& choice, const GemmDesc& kernel_desc);

/// Units along m, rounded up to a multiple of gemm_consecutive_tiles().
int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m);

/// Bytes of shared memory for the stages of the pipeline, if a tile has `width` columns.
int64_t gemm_pipeline_bytes(const GemmChoice& choice, const GemmDesc& kernel_desc,
                            const GemmTile& tile, int64_t width);

/// Columns of a tile. Most kernels have a fixed number. For a stream-K kernel it is choice.width
/// or, if that is 0 or larger, the narrowest width with which the fewest tiles cover n.
int64_t gemm_tile_width(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t n);

/// Whether the kernel and cluster of a choice can have tiles of choice.width columns.
bool gemm_width_is_possible(const GemmChoice& choice);

/// A width of tiles that is narrower than another one.
struct GemmNarrower {
  int64_t width = 0;   // for GemmChoice::width; 0: no narrower tiles can be faster
  double columns = 0;  // that a CTA multiplies, divided by their number with the wider tiles
};

/// The next narrower width to consider for an m x n product after that of `choice`. Tiles of this
/// width leave a CTA at most the fraction `most` of the columns that tiles of `choice` leave it,
/// and the next narrower tiles would not leave it even fewer. So if tiles of several widths take
/// one wave, these are the narrowest of them.
GemmNarrower gemm_next_width(const GemmChoice& choice, const GemmDesc& kernel_desc, int64_t m,
                             int64_t n, int64_t resident_clusters, double most = 1);

/// Number of accumulation chains into which k must be divided. Tensor cores truncate every sum, so
/// the error of a chain grows with its length. If k is at most 16384, the rounding of an f16 D
/// hides the error of a single chain. For bf16, which is rounded eight times as coarsely, the limit
/// is eight times as high. A longer k is divided into as many chains as reduce the error to that of
/// a single chain at the limit (gemm_chain_count()).
int32_t gemm_required_chains(const GemmDesc& desc);
/// The largest number of products along k in one chain.
int64_t gemm_chain_length(const GemmDesc& desc);

/// Largest k of stream-K kernels. They number the k blocks of all divided units with 31 bits.
inline constexpr int64_t kGemmMaxStreamK = int64_t{1} << 28;

}  // namespace tw
