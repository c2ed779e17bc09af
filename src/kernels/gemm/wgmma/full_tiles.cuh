// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile scheduler of the epilogue and batched kernels. It has to be fast: in ping-pong kernels
// nothing hides what a warpgroup computes between a tile's D and its next product. "full" in names
// marks code of the epilogue kernels. Stream-K and grouped kernels use some of it too.

#include "kernels/gemm/arguments/gemm_live.h"
#include "kernels/gemm/wgmma/gemm_turns.cuh"

namespace tw {

/// Matrix of the batch, and the first row and column, of a CTA's tile.
struct GemmTileOrigin {
  i32 z, m0, n0;
};

/// Number of clusters in `blocks` CTAs. Producer and consumers compute a cluster's first unit, and
/// the step to its next, at each use, since they have no registers to keep these numbers.
template <class Config>
__device__ __forceinline__ u32 full_clusters(u32 blocks) {
  return blocks / (Config::kSplit ? ptx::cluster_size() : Config::kCluster);
}
template <class Config>
__device__ __forceinline__ i32 full_first_unit() {
  return static_cast<i32>(full_clusters<Config>(ptx::reread_block_id()));
}
template <class Config>
__device__ __forceinline__ i32 full_unit_step() {
  return static_cast<i32>(full_clusters<Config>(ptx::reread_grid_size()));
}

/// A cluster's first unit and the step to its next, for kernels that have registers to keep both.
struct FullSchedule {
  i32 first, step;
};
template <class Config>
__device__ __forceinline__ FullSchedule full_schedule() {
  return {full_first_unit<Config>(), full_unit_step<Config>()};
}

// a / b and the remainder for 0 <= a < 2^31 and 0 < b < 2^31, in a third of a division's time. The
// first quotient, from a float and a reciprocal within 2^-22 each, is off by at most a / b / 2^21
// + 1. The first remainder is therefore below 2^11 b. Its quotient, rounded to nearest, is off by
// at most 1/2 + 2^-10. The last remainder is therefore between -b and b.
__device__ __forceinline__ i32 full_divide(i32 a, i32 b, i32* remainder) {
  const float inverse = act::reciprocal_approx(static_cast<float>(b));
  i32 quotient = __float2int_rz(static_cast<float>(a) * inverse);
  i32 rest = a - quotient * b;
  const i32 more = __float2int_rn(static_cast<float>(rest) * inverse);
  quotient += more;
  rest -= more * b;
  *remainder = rest < 0 ? rest + b : rest;
  return rest < 0 ? quotient - 1 : quotient;
}

// Computes the same as gemm_unit(), with full_divide().
template <class Sizes>
__device__ __forceinline__ void full_unit(const Sizes& sizes, i32 index, i32* unit_m, i32* unit_n) {
  if (sizes.units_n == 1 || sizes.units_m == 1) {
    *unit_m = sizes.units_n == 1 ? index : 0;
    *unit_n = sizes.units_n == 1 ? 0 : index;
    return;
  }
  i32 inside, row;
  const i32 first = full_divide(index, sizes.band * sizes.units_n, &inside) * sizes.band;
  *unit_n = full_divide(inside, min(sizes.units_m - first, sizes.band), &row);
  *unit_m = first + row;
}

// The tile of a CTA in a unit. `sizes` is the run's GemmEffectiveSizes, or args.base if no size
// comes from device memory.
template <class Config, class Sizes>
__device__ __forceinline__ GemmTileOrigin full_tile(const GemmEpilogueArgs& args,
                                                    const Sizes& sizes, i32 unit, u32 rank) {
  GemmTileOrigin tile;
  i32 inside = unit, unit_m, unit_n;
  tile.z = args.batch == 1 ? 0 : full_divide(unit, sizes.units_m * sizes.units_n, &inside);
  full_unit(sizes, inside, &unit_m, &unit_n);
  tile.m0 =
      (unit_m * static_cast<i32>(Config::kClusterM) + static_cast<i32>(rank % Config::kClusterM)) *
      Config::kTileM;
  tile.n0 =
      (unit_n * static_cast<i32>(Config::kClusterN) + static_cast<i32>(rank / Config::kClusterM)) *
      Config::kTileN;
  return tile;
}

}  // namespace tw
