// SPDX-License-Identifier: Apache-2.0
#pragma once
// Groups that are ranges of k: D[g] = alpha * A_g^T B_g + beta * D[g], where A_g and B_g are the
// rows of A (rows x m) and B (rows x n) that belong to group g. Tiles of 64 x 64 by mma.sync.

#include "kernels/grouped/grouped_units.cuh"

namespace tw {

template <class Storage>
struct RangesShared {
  __align__(16) Storage a[kPlainTile * kPlainPitch];
  __align__(16) Storage b[kPlainTile * kPlainPitch];
  __align__(16) float sums[kPlainTile * kFullPlainPitch];
};

template <class In>
__device__ __forceinline__ void grouped_ranges(const GroupedArgs& args) {
  using Storage = typename In::Storage;
  __shared__ RangesShared<Storage> shared;
  ptx::grid_dependency_wait_and_launch();
  const GroupedWalk all = {grouped_tiles(args.m), grouped_tiles(args.n),
                           args.band > 0 ? args.band : grouped_tiles(args.m)};
  const i64 tiles = static_cast<i64>(all.units_m) * all.units_n;
  for (i64 item = blockIdx.x; item < tiles * args.group_count; item += gridDim.x) {
    const auto g = static_cast<i32>(item / tiles);
    GroupRows rows = grouped_rows(args, g, args.k);
    // With alpha 0 no operand may be read.
    if (args.alpha == 0.0f) rows.end = rows.begin;
    if (rows.begin == rows.end && args.beta == 1.0f) continue;
    i32 m0 = 0, n0 = 0;
    gemm_unit(all, static_cast<i32>(item - g * tiles), &m0, &n0);
    m0 *= kPlainTile, n0 *= kPlainTile;
    float d[2][4][4] = {};
    const auto row = [&](i32 i) { return m0 + i; };
    const auto column = [&](i32 i) { return n0 + i; };
    grouped_multiply<In>(
        d, shared, rows.begin, rows.end,
        GroupedOperand<Storage, decltype(row)>{reinterpret_cast<const Storage*>(args.a), 1,
                                               args.a_pitch, args.m, row},
        GroupedOperand<Storage, decltype(column)>{reinterpret_cast<const Storage*>(args.b),
                                                  args.b_stride_n, args.b_stride_k, args.n,
                                                  column});
    full_plain_put(d, shared.sums);
    ptx::sync_block();
    ranges_put(args, args.d + static_cast<u64>(g * args.d_stride * 4), shared.sums, m0, n0);
    ptx::sync_block();
  }
}

}  // namespace tw
