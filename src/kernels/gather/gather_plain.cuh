// SPDX-License-Identifier: Apache-2.0
#pragma once
// Two kernels with ordinary loads and stores, for rows of any alignment: kRowsSumPlain writes
// weighted rows and sums of rows, kRowsMargin writes zeros to the packed columns that lie outside
// the table. (kRowsPlain is in rows/row_plain.cuh.)

#include "kernels/gather/gather.h"
#include "kernels/rows/row_arithmetic.cuh"
#include "kernels/rows/row_lanes.cuh"

namespace tw {

/// Each thread computes kRowsLaneFlight units of the packed operand at once. A unit has kCount
/// elements and is the sum of units of args.group table rows, which are added one after the other.
template <class T, u32 kCount>
__device__ __forceinline__ void sum_units(const GatherArgs& args) {
  constexpr int kBytes = static_cast<int>(T::kBytes * kCount);
  const u32 teams = kRowsBlockThreads / args.lanes;  // of args.lanes threads
  const u64 per_block = static_cast<u64>(teams) * kRowsLaneFlight;
  const u64 items = static_cast<u64>(run_count(args)) * args.parts;
  for (u64 item = blockIdx.x * per_block + threadIdx.x / args.lanes; item < items;
       item += gridDim.x * per_block) {
    LanePlace place[kRowsLaneFlight];
    float sum[kRowsLaneFlight][kCount] = {};
#pragma unroll
    for (int k = 0; k < kRowsLaneFlight; ++k)
      place[k] = lane_place(args, item + static_cast<u64>(k) * teams, items);
    for (u32 j = 0; j < args.group; ++j) {
      ptx::Unit<kBytes> bits[kRowsLaneFlight];
      float weight[kRowsLaneFlight];
#pragma unroll
      for (int k = 0; k < kRowsLaneFlight; ++k) {
        bits[k] = ptx::Unit<kBytes>{};
        weight[k] = 0.0f;
        if (!place[k].has_unit) continue;
        const u64 index = place[k].i * args.group + j;
        const i64 row = table_row_of(args, index);
        if (row == kNoRow) continue;
        weight[k] = index_weight(args, index);
        bits[k] = ptx::load_unit<kBytes>(args.table + static_cast<u64>(row * args.table_pitch) +
                                         place[k].offset);
      }
#pragma unroll
      for (int k = 0; k < kRowsLaneFlight; ++k) {
        float value[kCount];
        unpack<T, kCount>(bits[k], value);
        add_weighted(sum[k], value, weight[k], j == 0);
      }
    }
#pragma unroll
    for (int k = 0; k < kRowsLaneFlight; ++k)
      if (place[k].has_unit) ptx::store_unit<kBytes>(place[k].packed, pack<T, kCount>(sum[k]));
  }
}

template <class T>
__device__ __forceinline__ void sum_rows(const GatherArgs& args) {
  if (args.unit_bytes == 16)
    sum_units<T, 16 / T::kBytes>(args);
  else
    sum_units<T, 1>(args);
}

__device__ __forceinline__ void gather_sum_plain(const GatherArgs& args) {
  switch (args.element) {
    case kElementF16:
      return sum_rows<F16>(args);
    case kElementBF16:
      return sum_rows<Bf16>(args);
    default:
      return sum_rows<F32>(args);
  }
}

template <int kBytes>
__device__ __forceinline__ void margin_units(const MarginArgs& args) {
  const u64 count = static_cast<u64>(run_count(args.rows));
  const u64 lead = args.lead_bytes / kBytes;
  const u64 units = lead + args.tail_bytes / kBytes;
  const u64 inner = args.rows.row_bytes - args.lead_bytes - args.tail_bytes;
  const u64 warp = (static_cast<u64>(blockIdx.x) * kRowsBlockThreads + threadIdx.x) / 32;
  const u64 warps = static_cast<u64>(gridDim.x) * (kRowsBlockThreads / 32);
  for (u64 i = warp; i < count; i += warps) {
    const u64 row = args.rows.packed + i * static_cast<u64>(args.rows.packed_pitch);
    for (u64 unit = ptx::lane_id(); unit < units; unit += 32)
      ptx::store_unit<kBytes>(row + unit * kBytes + (unit < lead ? 0 : inner), ptx::Unit<kBytes>{});
  }
}

__device__ __forceinline__ void gather_margin(const MarginArgs& args) {
  switch (args.rows.unit_bytes) {
    case 16:
      return margin_units<16>(args);
    case 4:
      return margin_units<4>(args);
    default:
      return margin_units<1>(args);
  }
}

}  // namespace tw
