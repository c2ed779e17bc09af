// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a stream-K kernel shares a product among clusters (kernels/gemm/arguments/gemm_stream.h): the
// kernel's arguments and the cost model both follow from it.

#include <cstdint>

#include "ops/gemm/select/gemm_select.hpp"

namespace tw {

struct GemmShares {
  int64_t width = 0;  // columns of a tile
  uint32_t width_number = 0;
  int64_t units_m = 0, units_n = 0, batch = 1;
  int64_t whole = 0;  // units that one cluster multiplies by itself
  int64_t depth = 0;  // k blocks of a shared unit, with empty ones where parts are of whole units
  int64_t share = 1;  // k blocks of shared units for each cluster
  int64_t clusters = 1;  // of the grid
  int64_t chain = 1;     // k blocks of an accumulation chain at most
  int64_t k_blocks = 1;
  int64_t together = 1;  // units that follow one another and belong to one cluster

  int64_t units() const { return units_m * units_n * batch; }
  int64_t shared() const { return units() - whole; }
  /// Leaves every unit to one cluster.
  void share_nothing(int64_t at_once);
  /// Clusters that multiply one shared unit, at most.
  int64_t parts() const;
  /// Offset of accumulators in the workspace, behind the counters of `cluster` blocks.
  int64_t counter_bytes(uint32_t cluster) const;
  /// 0 where nothing is added up.
  int64_t workspace_bytes(const GemmChoice& choice) const;
};

/// Whether no run of the choice adds anything up in a workspace.
bool gemm_adds_up_nothing(const GemmChoice& choice, const GemmDesc& desc);

/// Of m x n, the description's operands swapped as the kernel wants them; `at_once` clusters run at
/// once.
GemmShares gemm_shares(const GemmChoice& choice, const GemmDesc& seen, int64_t m, int64_t n,
                       int64_t at_once);

/// Bytes that are enough for any run of at most `rows` columns of `seen`, the caller's m.
int64_t gemm_most_workspace(const GemmChoice& choice, int64_t rows, int64_t at_once);

/// Tiles along m that one cluster multiplies one after the other, because a scale of D is for gated
/// columns of all of them (wgmma/narrow/narrow_blocks.cuh); 1: tiles have nothing in common.
int64_t gemm_tiles_together(const GemmChoice& choice, const GemmDesc& seen);

/// Units along m, all of those that belong together.
int64_t gemm_units_m(const GemmChoice& choice, const GemmDesc& seen, int64_t m);

/// Bytes of shared memory for stages, where a tile has `width` columns.
int64_t gemm_ring_bytes(const GemmChoice& choice, const GemmDesc& seen, const GemmTile& tile,
                        int64_t width);

/// The columns of a tile: those that the kernel was compiled for, or of a stream-K kernel those
/// that hold n with the least rest.
int64_t gemm_tile_columns(const GemmChoice& choice, const GemmDesc& seen, int64_t n);

/// Accumulation chains that a sum over the description's k is made of, so that its drift does not
/// show in D: see gemm_chains. Half a unit of f16 shows it past 16384 products.
int32_t gemm_chains_of(const GemmDesc& desc);
/// Products of one of them at most, along k.
int64_t gemm_chain_length(const GemmDesc& desc);

/// A k that stream-K kernels can count in 31 bits, whatever is shared.
inline constexpr int64_t kGemmMostStreamK = int64_t{1} << 28;

}  // namespace tw
