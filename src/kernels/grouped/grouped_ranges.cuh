// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products whose groups are ranges of k: D[g] = alpha * A_g^T B_g + beta * D[g], where A_g
// and B_g are the rows of A (k x m) and B (k x n) that belong to group g. The kernels multiply
// tiles of 64 x 64 by mma.sync.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/grouped/grouped_units.cuh"

namespace tw {

template <class Storage>
struct RangesShared {
  __align__(16) Storage a[kPlainTile * kPlainPitch];
  __align__(16) Storage b[kPlainTile * kPlainPitch];
  __align__(16) float accumulators[kPlainTile * kFullPlainPitch];
};

template <class In>
__device__ __forceinline__ void grouped_ranges(const GroupedArgs& args) {
  using Storage = typename In::Storage;
  __shared__ RangesShared<Storage> shared;
  ptx::grid_dependency_wait_and_launch();
  const GroupedTileOrder order = {grouped_tile_count(args.m), grouped_tile_count(args.n),
                                  args.band > 0 ? args.band : grouped_tile_count(args.m)};
  const i64 tiles_of_group = static_cast<i64>(order.units_m) * order.units_n;
  for (i64 tile = blockIdx.x; tile < tiles_of_group * args.group_count; tile += gridDim.x) {
    const auto g = static_cast<i32>(tile / tiles_of_group);
    GroupRows range = grouped_rows(args, g, args.k);
    // With alpha 0 no operand may be read.
    if (args.alpha == 0.0f) range.end = range.begin;
    if (range.begin == range.end && args.beta == 1.0f) continue;
    i32 row0 = 0, column0 = 0;
    gemm_unit(order, static_cast<i32>(tile - g * tiles_of_group), &row0, &column0);
    row0 *= kPlainTile, column0 *= kPlainTile;
    float d[2][4][4] = {};
    const auto row = [&](i32 i) { return row0 + i; };
    const auto column = [&](i32 i) { return column0 + i; };
    grouped_multiply<In>(
        d, shared, range.begin, range.end,
        GroupedOperand<Storage, decltype(row)>{reinterpret_cast<const Storage*>(args.a), 1,
                                               args.a_pitch, args.m, row},
        GroupedOperand<Storage, decltype(column)>{reinterpret_cast<const Storage*>(args.b),
                                                  args.b_stride_n, args.b_stride_k, args.n,
                                                  column});
    full_plain_stage(d, shared.accumulators);
    ptx::sync_block();
    ranges_write_tile(args, args.d + static_cast<u64>(g * args.d_stride * 4), shared.accumulators,
                      row0, column0);
    ptx::sync_block();
  }
}

}  // namespace tw
