// SPDX-License-Identifier: Apache-2.0
#pragma once
// Grouped products on Hopper. Persistent blocks multiply the tiles of all groups. The kernels use
// swap-AB, so that a tile is only as wide as its group needs: in Config, M stands for columns of B
// and N for rows of a group. A block first builds a table of groups (GroupedRowTileTable) and a
// schedule (GroupedSchedule) in shared memory. Then the producer warpgroup loads k blocks, and the
// consumer warpgroups multiply them and write D.

#include "kernels/gemm/wgmma/stream_meet.cuh"
#include "kernels/grouped/grouped_pieces.cuh"
#include "kernels/grouped/grouped_produce.cuh"

namespace tw {

// Shared-memory offsets of what only grouped kernels have. It lies behind the pipeline, where
// other kernels have their table of bias and d_factor.
template <class Config>
struct GroupedSmemOffsets {
  static_assert(Config::kTileM == kGroupedTileColumns,
                "the plan makes maps and a workspace for tiles of kGroupedTileColumns columns");
  static constexpr u32 kTable = Config::kShared.table_offset;
  // The schedule overwrites warp_sums, which only grouped_fill_row_tiles() needs.
  static constexpr u32 kSchedule = kTable + offsetof(GroupedRowTileTable, warp_sums);
  static_assert(sizeof(GroupedSchedule) <= sizeof(GroupedRowTileTable::warp_sums),
                "the schedule must fit into warp_sums");
  static constexpr u32 kRowList =
      kTable + sizeof(GroupedRowTileTable);  // see grouped_look_up_rows()
  static constexpr u32 kDRows =
      kRowList + kGroupedTileRows * 4;                     // GroupedRowTargets of the warpgroups
  static constexpr u32 kDRowBytes = kGroupedTileRows * 8;  // of one warpgroup
  static_assert(kDRows + 2 * kDRowBytes <= Config::kShared.total,
                "gemm_shared() must reserve memory for all of these");
};

// Stages a warpgroup's accumulators, which belong to rows [begin, end) of D, in shared memory slab
// by slab. Calls use(slab, line, r) for each row r that the thread writes: line `line` of the slab.
// `threads_per_row` threads share a row.
template <class Config, class Use>
__device__ __forceinline__ void grouped_each_staged_row(const float (&d)[Config::kAccumulators],
                                                        i32 begin, i32 end, u32 threads_per_row,
                                                        u32 staging, u32 group, Use use) {
  using Slab = StreamSumSlab<Config>;
  const u32 first = threadIdx.x % 128 / threads_per_row, step = 128 / threads_per_row;
#pragma unroll 1
  for (i32 slab = 0; begin + slab * Slab::kLines < end; ++slab) {
    const Slab staged{staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes};
    staged.put(d, slab);
    // Every thread that arrives here has read the previous slab. The next one may overwrite it.
    stream_sync_group(group);
#pragma unroll 1
    for (u32 line = first; line < Slab::kLines; line += step) {
      const i32 r = begin + slab * Slab::kLines + static_cast<i32>(line);
      if (r >= end) break;
      use(staged, line, r);
    }
  }
  stream_sync_group(group);  // the next tile overwrites the first slab
}

// Writes a warpgroup's accumulators to D with any epilogue. A thread writes the same eight columns
// of D in all its rows, so that it reads their bias once. Because of swap-AB, the lines of a slab
// are rows of D. D's elements have `bytes` bytes, and put(to, count, v) writes `count` of them.
template <class Config, class Put>
__device__ __forceinline__ void grouped_write_general(const float (&d)[Config::kAccumulators],
                                                      const GroupedArgs& args,
                                                      const GroupedWgmmaTile& tile,
                                                      const GroupedRowTargets& targets, u32 staging,
                                                      u32 group, i64 bytes, Put put) {
  using In = typename Config::In;
  using Slab = StreamSumSlab<Config>;
  // Gate columns and linear columns alternate, eight at a time, see grouped_load_weights().
  constexpr bool kAlternate = Config::kColumnA == 0;
  const bool gated = args.gate != kGateNone;
  const u32 threads_per_row = gated ? Slab::kLineAccumulators / 16 : Slab::kLineAccumulators / 8;
  const u32 slab_column = threadIdx.x % 128 % threads_per_row * 8;
  const i32 b_column0 = tile.column0 + static_cast<i32>(group) * 64;
  const i32 column = (gated ? b_column0 / 2 : b_column0) + static_cast<i32>(slab_column);
  const i32 count = grouped_columns(args) - column;
  const GroupedAlphaBias alpha_bias = grouped_alpha_bias(args, tile.weight_index);
  float bias[8];
  grouped_bias<In>(args, alpha_bias, column, count, false, bias);
  grouped_each_staged_row<Config>(
      d, tile.row0, tile.row_end, threads_per_row, staging, group,
      [&](const Slab& staged, u32 line, i32 r) {
        const GroupedRowTarget target = {targets.address(args, tile, r, bytes),
                                         targets.weight_of(tile, r)};
        if (count <= 0 || target.address == 0) return;
        float values[8];
        grouped_values(
            args, alpha_bias, target,
            [&](bool linear, float(&v)[8]) {
              if (gated && kAlternate)
                staged.get(line, slab_column * 2 + (linear ? 8 : 0), v);
              else
                staged.take(args.gate, line, slab_column, linear, v);
            },
            [&](bool linear, float(&own)[8]) {
              if (linear) return grouped_bias<In>(args, alpha_bias, column, count, true, own);
#pragma unroll
              for (i32 i = 0; i < 8; ++i) own[i] = bias[i];
            },
            values);
        put(target.address + static_cast<u64>(column * bytes), count, values);
      });
}

// How the parts of a tile that several blocks multiplied are added up: by the last block to arrive,
// in the order of k. Tiles can have more parts than the counters of stream_slices.cuh allow. A
// finished counter is reset to its tag and a count of 0.

// Counts a CTA that has stored its part. Returns whether it is the last of `parts`. If the counter
// has its tag, one atomic addition suffices, which takes one round trip to the L2 under any
// contention. Otherwise CTAs compare and swap until one of them has stored the tag.
__device__ __forceinline__ bool grouped_is_last(u64 address, u64 tag, u32 parts) {
  const auto counted = [&](u64 seen) {
    return (seen & ~u64{255}) == tag ? static_cast<u32>(seen & 255) : 0;
  };
  u64 seen = ptx::add_acq_rel(address, 1);
  if ((seen & ~u64{255}) == tag) {
    const bool last = counted(seen) + 1 == parts;
    if (last) ptx::store_relaxed(address, tag);
    return last;
  }
  ++seen;
  for (;;) {
    const u32 arrived = counted(seen);
    const bool last = arrived + 1 == parts;
    const u64 found = ptx::compare_swap_acq_rel(address, seen, last ? tag : tag | (arrived + 1));
    if (found == seen) return last;
    seen = found;
  }
}

// Stores a block's part of a tile in the workspace. In the last block to arrive, d becomes the sum
// of all parts. Returns whether this block is the last. Called by all consumer threads.
template <class Config>
__device__ __forceinline__ bool grouped_reduce(float (&d)[Config::kAccumulators],
                                               const GroupedStreamArgs& args, i32 unit,
                                               const StreamPartial<Config>& partial, u32 flag) {
  const GemmParts parts = gemm_stream_parts(unit, args.padded_k_blocks, args.share);
  partial.store(d);
  StreamConsumers<Config>::sync();
  if (StreamConsumers<Config>::thread() == 0) {
    // Releases what all threads stored, and acquires what other blocks did.
    const bool last = grouped_is_last(args.workspace + static_cast<u64>(unit) * 8, args.counter_tag,
                                      static_cast<u32>(parts.last - parts.first + 1));
    ptx::shared_store<4>(flag, last ? 1u : 0u);
  }
  StreamConsumers<Config>::sync();
  if (ptx::shared_load<4>(flag) == 0) return false;
  stream_add_parts<Config>(d, args, unit, {0, args.width}, 0);
  return true;
}

// Where a consumer warpgroup stages what it writes, if the block's shared memory begins at `base`.
template <class Config>
__device__ __forceinline__ u32 grouped_staging(u32 base, u32 group) {
  return base + Config::kShared.d_offset +
         group * (Config::kShared.slabs * Config::kShared.slab_bytes);
}

// Writes a warpgroup's accumulators to D with the fastest function that the run's epilogue allows.
template <class Config>
__device__ __forceinline__ void grouped_write_tile(
    float (&d)[Config::kAccumulators], const GroupedArgs& args, const GroupedWgmmaTile& tile,
    const GroupedRowTargets& targets, const GemmPipeline<Config>& pipeline, u32 group) {
  using Out = typename Config::Out;
  const u32 staging = grouped_staging<Config>(pipeline.base, group);
  if (grouped_can_write_pieces<Config>(args))
    return grouped_write_pieces<Config>(d, args, tile, targets, staging, group);
  grouped_write_general<Config>(d, args, tile, targets, staging, group, i64{Out::kBytes},
                                [&](u64 to, i32 count, const float(&v)[8]) {
                                  grouped_store_or_add<Out>(args, to, count, v);
                                });
}

template <class Config>
__device__ __forceinline__ void grouped_consume(const GroupedArgs& args,
                                                const GroupedRowTileTable& table,
                                                const GroupedSchedule& schedule,
                                                GemmPipeline<Config> pipeline, u32 group) {
  GroupedRowTargets targets(args, pipeline.base + GroupedSmemOffsets<Config>::kDRows +
                                      group * GroupedSmemOffsets<Config>::kDRowBytes);
  GroupedWork work(schedule);
  StreamItem item;
  float d[Config::kRowBlocks][Config::kAccumulators];
  // An item is a whole tile or this block's part of a divided one. The last block to finish its
  // part of a divided tile adds up all parts and writes D.
  while (work.next(schedule, &item)) {
    const GroupedWgmmaTile tile = grouped_wgmma_tile<Config>(args, table, schedule, item.unit);
    const GroupedStreamArgs stream_args(args, schedule, tile.width, tile.width_index);
    targets.read(args, tile);
    const i32 divided = item.unit - schedule.whole_units;  // index among the divided tiles, or < 0
    // The block id is read again, because the accumulators leave no register to keep it in.
    const auto block = static_cast<i32>(ptx::reread_block_id());
    const i32 slot =
        divided < 0 ? 0
                    : gemm_stream_slot(divided, schedule.padded_k_blocks, schedule.share, block);
    const StreamPartial<Config> partial(stream_args, block, slot, 0);
    stream_accumulate<Config>(d, stream_args, item, partial, pipeline, group);
    targets.put(group);  // before grouped_reduce(), which needs all registers
    if (item.end - item.begin < schedule.k_blocks &&
        !grouped_reduce<Config>(d[0], stream_args, divided, partial, pipeline.reduction_word()))
      continue;
    grouped_write_tile<Config>(d[0], args, tile, targets, pipeline, group);
  }
}

// Initializes the barriers. A stage is full when its bytes have landed and, if threads copy a part
// of it (`copies`), all of these have arrived. It is empty when `readers` threads have arrived. One
// thread initializes all barriers: with one barrier per lane ptxas generates a loop over lanes,
// which takes a microsecond.
template <class Config>
__device__ __forceinline__ void grouped_init_barriers(const GroupedArgs& args,
                                                      const GemmPipeline<Config>& pipeline,
                                                      bool copies, u32 readers = Config::kReaders) {
  if (ptx::elect_one()) {
    ptx::prefetch_map(&args.map_b);
    if (args.a_rows == 0) ptx::prefetch_map(&args.map_a[0]);
    const u32 arrivals = copies ? 1 + kGatherThreads : 1;
#pragma unroll
    for (i32 stage = 0; stage < static_cast<i32>(kGemmMaxStages); ++stage) {
      ptx::mbarrier_init(pipeline.full_barrier(stage), arrivals);
      ptx::mbarrier_init(pipeline.empty_barrier(stage), readers);
    }
    ptx::fence_mbarrier_init();
  }
  ptx::sync_warp();
}

// Registers per thread of the producer warpgroup and of the consumer warpgroups. If the warpgroups
// asked for more than the block was launched with, setmaxnreg would wait forever.
template <class Config>
struct GroupedRegisters {
  static constexpr u32 kProducer = 40, kConsumer = 232;
  static constexpr u32 kBlockRegisters = 65536 / Config::kThreads / 8 * 8 * Config::kThreads;
  static_assert(128 * kProducer + 128 * Config::kConsumers * kConsumer <= kBlockRegisters,
                "the warpgroups ask for more registers than the block is launched with");
};

template <class Config>
__device__ __forceinline__ void grouped_wgmma(const GroupedArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  using Offsets = GroupedSmemOffsets<Config>;
  constexpr auto kThreads = static_cast<i32>(Config::kThreads);
  GemmPipeline<Config> pipeline(ptx::opaque(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  if (warp == 0) grouped_init_barriers<Config>(args, pipeline, args.a_rows != 0);
  ptx::grid_dependency_wait();
  auto& table = *reinterpret_cast<GroupedRowTileTable*>(gemm_shared_memory + Offsets::kTable);
  grouped_fill_row_tiles<kThreads, Config::kTileN>(table, args);
  // The widest tile of the run determines the size of a stage and so the number of stages.
  const i32 widest = grouped_width(min(table.max_rows(), Config::kTileN)).width;
  pipeline.set(Config::kShared.a_bytes + static_cast<u32>(widest) * 128, args.a_rows != 0);
  auto& schedule = *reinterpret_cast<GroupedSchedule*>(gemm_shared_memory + Offsets::kSchedule);
  if (threadIdx.x == 0) schedule = grouped_make_schedule<Config>(args, table, widest);
  ptx::sync_block();
  if (warp >= 4) {
    ptx::set_max_registers_up<GroupedRegisters<Config>::kConsumer>();
    grouped_consume<Config>(args, table, schedule, pipeline,
                            Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    ptx::set_max_registers_down<GroupedRegisters<Config>::kProducer>();
    if (args.a_rows != 0) {
      grouped_gather<Config>(args, table, schedule, pipeline, pipeline.base + Offsets::kRowList);
    } else if (warp == 0 && ptx::elect_one()) {
      grouped_produce<Config>(args, table, schedule, pipeline);
    }
  }
}

}  // namespace tw
