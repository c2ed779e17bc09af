// SPDX-License-Identifier: Apache-2.0
#pragma once
// Deterministic sums. The indices are sorted by table row. A warp sums the packed rows of a segment
// of kSegmentItems consecutive sorted indices in order, each lane one unit of the row. If all
// indices of a table row lie in one segment, the warp adds the sum to the table; no other thread
// touches that row. Otherwise the partial sums go to the workspace, and the warp of the segment in
// which the row begins adds them up in order (join_segment).

#include "kernels/rows/row_arithmetic.cuh"
#include "kernels/rows/row_index.cuh"
#include "kernels/scatter/scatter.h"

namespace tw {

/// The index at position `at` of the sorted order.
struct OrderedRow {
  u32 number;  // index number: i, if the index is index[i]
  i64 row;     // the table row that it names; kNoRow past the end
};
__device__ __forceinline__ OrderedRow ordered_row(const OrderArgs& args, i64 count, u64 at) {
  if (at >= static_cast<u64>(count)) return {0, kNoRow};
  const u32 number = ptx::load_unit_cached<4>(args.from + at * 4);
  return {number, table_row_of(args.rows, number)};
}

/// The rows of the indices just before and just after a segment, or kNoRow.
struct SegmentEnds {
  i64 before;
  i64 after;
};
__device__ __forceinline__ SegmentEnds segment_ends(const OrderArgs& args, i64 count, u64 first) {
  return {first == 0 ? kNoRow : ordered_row(args, count, first - 1).row,
          ordered_row(args, count, first + kSegmentItems).row};
}

/// Where a segment's partial sums of one unit lie (OrderArgs::partials). `begins` selects slot 1,
/// for a table row that begins in this segment.
template <u32 kCount>
__device__ __forceinline__ u64 partial_address(const OrderArgs& args, u64 segment, bool begins,
                                               u32 unit) {
  const u64 slot = segment * 2 + (begins ? 1 : 0);
  return args.partials + (slot * args.units + unit) * (kCount * 4);
}

template <class Dst, u32 kCount>
__device__ __forceinline__ void add_without_atomics(const OrderArgs& args, i64 row, u32 unit,
                                                    const float (&sum)[kCount]) {
  using Unit = ptx::Unit<Dst::kBytes>;
  const u64 to = args.rows.table + static_cast<u64>(row * args.rows.table_pitch) +
                 static_cast<u64>(unit) * (kCount * Dst::kBytes);
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) {
    auto* at = reinterpret_cast<Unit*>(to + e * Dst::kBytes);
    float value[1];
    unpack<Dst, 1>(*at, value);
    value[0] += sum[e];
    *at = pack<Dst, 1>(value);
  }
}

/// Adds the sum of a run, the consecutive sorted indices of one table row, to the table. If the row
/// crosses a segment end, stores the sum as a partial sum instead. A row that began in an earlier
/// segment uses slot 0, even if it continues.
template <class Dst, u32 kCount>
__device__ __forceinline__ void store_run_sum(const OrderArgs& args, u64 segment,
                                              const SegmentEnds& ends, i64 row, bool first_run,
                                              bool last_run, u32 unit, const float (&sum)[kCount]) {
  const bool from_before = first_run && row == ends.before;
  const bool continues = last_run && row == ends.after;
  if (!from_before && !continues) return add_without_atomics<Dst, kCount>(args, row, unit, sum);
  const u64 to = partial_address<kCount>(args, segment, !from_before, unit);
#pragma unroll
  for (u32 e = 0; e < kCount; ++e) ptx::store_unit<4>(to + e * 4, __float_as_uint(sum[e]));
}

inline constexpr u32 kSegmentFlight = 4;  // rows whose loads are in flight at the same time

template <class Src, class Dst, u32 kCount>
__device__ __forceinline__ void sum_segment(const OrderArgs& args, i64 count, u64 segment,
                                            u32 chunk) {
  constexpr int kBytes = static_cast<int>(Src::kBytes * kCount);
  const u32 unit = chunk * 32 + ptx::lane_id();
  const bool has_unit = unit < args.units;
  const u64 first = segment * kSegmentItems;
  OrderedRow own[kSegmentSteps];
  float weight[kSegmentSteps];
#pragma unroll
  for (u32 k = 0; k < kSegmentSteps; ++k) {
    own[k] = ordered_row(args, count, first + k * 32 + ptx::lane_id());
    weight[k] = own[k].row == kNoRow ? 0.0f : index_weight(args.rows, own[k].number);
  }
  const SegmentEnds ends = segment_ends(args, count, first);
  float sum[kCount] = {};
  i64 current = kNoRow;
  bool first_run = true;
#pragma unroll
  for (u32 k = 0; k < kSegmentSteps; ++k) {
#pragma unroll 1
    for (u32 lane = 0; lane < 32; lane += kSegmentFlight) {
      i64 row[kSegmentFlight];
      ptx::Unit<kBytes> bits[kSegmentFlight];
#pragma unroll
      for (u32 f = 0; f < kSegmentFlight; ++f) {
        row[f] = __shfl_sync(0xffffffffu, own[k].row, static_cast<int>(lane + f));
        const u64 number = __shfl_sync(0xffffffffu, own[k].number, static_cast<int>(lane + f));
        bits[f] = ptx::Unit<kBytes>{};
        if (has_unit && row[f] != kNoRow)
          bits[f] = ptx::load_unit<kBytes>(args.rows.packed +
                                           number * static_cast<u64>(args.rows.packed_pitch) +
                                           static_cast<u64>(unit) * kBytes);
      }
#pragma unroll
      for (u32 f = 0; f < kSegmentFlight; ++f) {
        const float w = __shfl_sync(0xffffffffu, weight[k], static_cast<int>(lane + f));
        if (row[f] == kNoRow) continue;
        float value[kCount];
        unpack<Src, kCount>(bits[f], value);
        const bool begins = row[f] != current;
        if (begins && current != kNoRow) {
          if (has_unit)
            store_run_sum<Dst, kCount>(args, segment, ends, current, first_run, false, unit, sum);
          first_run = false;
        }
        add_weighted(sum, value, w, begins);
        current = row[f];
      }
    }
  }
  if (current != kNoRow && has_unit)
    store_run_sum<Dst, kCount>(args, segment, ends, current, first_run, true, unit, sum);
}

/// Sums, in order, all partial sums of the row that begins in a segment and continues in the next.
template <class Dst, u32 kCount>
__device__ __forceinline__ void join_segment(const OrderArgs& args, i64 count, u64 segment,
                                             u32 chunk) {
  const u64 first = segment * kSegmentItems;
  const u64 after = first + kSegmentItems;
  const i64 row = ordered_row(args, count, after).row;
  if (row == kNoRow || row != ordered_row(args, count, after - 1).row) return;
  // Another warp joins this row: it begins in an earlier segment.
  if (first != 0 && row == ordered_row(args, count, first - 1).row) return;
  const u32 unit = chunk * 32 + ptx::lane_id();
  const bool has_unit = unit < args.units;
  const auto load = [&](u64 part_segment, bool begins, float(&part)[kCount]) {
    const u64 from = partial_address<kCount>(args, part_segment, begins, unit);
#pragma unroll
    for (u32 e = 0; e < kCount; ++e)
      part[e] = __uint_as_float(ptx::load_unit_cached<4>(from + e * 4));
  };
  float sum[kCount] = {};
  if (has_unit) load(segment, true, sum);
  for (u64 next = segment + 1;; next += 32) {
    // Each lane tests whether the row continues beyond one of the next 32 segments.
    const u64 after_mine = (next + ptx::lane_id() + 1) * kSegmentItems;
    const u32 ends = ~__ballot_sync(0xffffffffu, ordered_row(args, count, after_mine).row == row);
    const u32 parts = ends == 0 ? 32 : static_cast<u32>(__ffs(static_cast<int>(ends)));
    if (has_unit) {
#pragma unroll 4
      for (u32 k = 0; k < parts; ++k) {
        float part[kCount];
        load(next + k, false, part);
#pragma unroll
        for (u32 e = 0; e < kCount; ++e) sum[e] += part[e];
      }
    }
    if (ends != 0) break;
  }
  if (has_unit) add_without_atomics<Dst, kCount>(args, row, unit, sum);
}

template <bool kJoin, class Src, class Dst, u32 kCount>
__device__ __forceinline__ void segments(const OrderArgs& args) {
  const i64 count = run_count(args.rows);
  const u64 number = (static_cast<u64>(count) + kSegmentItems - 1) / kSegmentItems;
  const u32 chunks = (args.units + 31) / 32;
  const u64 warp = (static_cast<u64>(blockIdx.x) * kRowsBlockThreads + threadIdx.x) / 32;
  const u64 warps = static_cast<u64>(gridDim.x) * (kRowsBlockThreads / 32);
  for (u32 chunk = 0; chunk < chunks; ++chunk)
    for (u64 segment = warp; segment < number; segment += warps) {
      if constexpr (kJoin)
        join_segment<Dst, kCount>(args, count, segment, chunk);
      else
        sum_segment<Src, Dst, kCount>(args, count, segment, chunk);
    }
}

template <bool kJoin, class Src, class Dst>
__device__ __forceinline__ void segments_of(const OrderArgs& args) {
  if (args.rows.unit_bytes == 16)
    segments<kJoin, Src, Dst, 16 / Src::kBytes>(args);
  else
    segments<kJoin, Src, Dst, 1>(args);
}

template <bool kJoin>
__device__ __forceinline__ void scatter_segments(const OrderArgs& args) {
  const bool to_f32 = args.rows.element == kElementF32;
  switch (args.rows.packed_element) {
    case kElementF16:
      return to_f32 ? segments_of<kJoin, F16, F32>(args) : segments_of<kJoin, F16, F16>(args);
    case kElementBF16:
      return to_f32 ? segments_of<kJoin, Bf16, F32>(args) : segments_of<kJoin, Bf16, Bf16>(args);
    default:
      return segments_of<kJoin, F32, F32>(args);
  }
}

}  // namespace tw
