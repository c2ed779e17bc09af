// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gathers and scatters by gather4 and scatter4: a per-warp pipeline whose items are the stages of
// row_schedule.h. Each lane handles one group of four rows.

#include "kernels/common/warp_ring.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/shared.cuh"
#include "kernels/rows/row_index.cuh"
#include "kernels/rows/row_steps.h"

namespace tw {

template <bool kScatter>
struct FourMover {
  const FourArgs& four;
  const RowsArgs& args;
  const KernelMap* map;
  i64 count;
  u64 stages;
  u64 step = 0;
  FourIndices next;  // the lane's group of the item that is loaded next

  explicit __device__ __forceinline__ FourMover(const FourArgs& a)
      : four(a),
        args(a.rows),
        map(&a.map),
        count(run_count(a.rows)),
        stages(four_stages(a.rows, count)) {}

  __device__ __forceinline__ void fetch(u64 item) {
    if (item >= stages) return;
    const FourStage s = four_stage(args, item, count);
    if (ptx::lane_id() < four_groups(s))
      next = four_indices(args, s, ptx::lane_id(), kScatter,
                          [&](u64 i) { return table_row_of(args, i); });
  }
  __device__ __forceinline__ u64 packed_address(const FourStage& s, u32 row) const {
    return args.packed + (s.first + row) * static_cast<u64>(args.packed_pitch) +
           static_cast<u64>(s.part) * args.part_bytes;
  }
  __device__ __forceinline__ i32 column_of(const FourStage& s) const {
    return four.column + static_cast<i32>(s.part) * four.part_columns;
  }
  __device__ __forceinline__ u32 note(u32 stage) const {
    return stage + args.stage_bytes + ptx::lane_id() * kFourNoteBytes;
  }

  // Loads the packed rows: by one bulk copy if the stage's rows are contiguous, else by one per
  // row.
  __device__ __forceinline__ void load_packed(const FourStage& s, u32 stage, u32 barrier) const {
    if (ptx::lane_id() == 0) {
      ptx::mbarrier_arrive_expect(barrier, s.rows * s.bytes);
      if (args.dense)
        ptx::load_bulk(stage, ptx::global_pointer(packed_address(s, 0)), s.rows * s.bytes, barrier);
    }
    ptx::sync_warp();
    if (args.dense) return;
    for (u32 row = ptx::lane_id(); row < s.rows; row += 32)
      ptx::load_bulk(stage + row * args.part_bytes, ptx::global_pointer(packed_address(s, row)),
                     s.bytes, barrier);
  }
  __device__ __forceinline__ void store_packed(const FourStage& s, u32 stage) const {
    if (args.dense) {
      if (ptx::lane_id() == 0)
        ptx::store_bulk(ptx::global_pointer(packed_address(s, 0)), stage, s.rows * s.bytes);
      return;
    }
    for (u32 row = ptx::lane_id(); row < s.rows; row += 32)
      ptx::store_bulk(ptx::global_pointer(packed_address(s, row)), stage + row * args.part_bytes,
                      s.bytes);
  }

  __device__ __forceinline__ void load(u64 item, u32 stage, u32 barrier) {
    const FourStage s = four_stage(args, item, count);
    if constexpr (kScatter) {
      load_packed(s, stage, barrier);
      // The same lane reads this for its store. Only lanes with a group may write: the space ends
      // with the stage's groups, and the next stage or the barriers follow.
      if (ptx::lane_id() < four_groups(s))
        ptx::shared_store<kFourNoteBytes>(
            note(stage), make_uint4(static_cast<u32>(next.row[0]), static_cast<u32>(next.row[1]),
                                    static_cast<u32>(next.row[2]), static_cast<u32>(next.row[3])));
    } else {
      const u32 groups = four_groups(s);
      if (ptx::lane_id() == 0)
        ptx::mbarrier_arrive_expect(barrier, groups * four_group_bytes(args));
      ptx::sync_warp();
      if (ptx::lane_id() < groups)
        ptx::load_gather4(stage + ptx::lane_id() * four_group_bytes(args), map, barrier,
                          column_of(s), next.row[0], next.row[1], next.row[2], next.row[3]);
    }
    fetch(item + step);
  }

  __device__ __forceinline__ void store(u64 item, u32 stage) const {
    const FourStage s = four_stage(args, item, count);
    if constexpr (kScatter) {
      if (ptx::lane_id() >= four_groups(s)) return;
      const uint4 row = ptx::shared_load<kFourNoteBytes>(note(stage));
      ptx::store_scatter4(map, stage + ptx::lane_id() * four_group_bytes(args), column_of(s),
                          static_cast<i32>(row.x), static_cast<i32>(row.y), static_cast<i32>(row.z),
                          static_cast<i32>(row.w));
    } else {
      store_packed(s, stage);
    }
  }
};

template <bool kScatter>
__device__ __forceinline__ void rows_four(const FourArgs& args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 stage_bytes = args.rows.stage_bytes + rows_note_bytes(args.rows.stage_pieces);
  const WarpPipeline pipeline = make_warp_pipeline(shared, args.rows.stages, stage_bytes);
  if (ptx::lane_id() == 0) ptx::prefetch_map(&args.map);
  FourMover<kScatter> mover(args);
  const u64 first = blockIdx.x + static_cast<u64>(gridDim.x) * (threadIdx.x / 32);
  const u64 step = static_cast<u64>(gridDim.x) * (blockDim.x / 32);
  mover.step = step;
  mover.fetch(first);
  run_warp_pipeline(pipeline, mover, first, mover.stages, step);
}

}  // namespace tw
