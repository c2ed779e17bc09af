// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile scheduler of the stream-K kernels: the sequence of items (unit, range of k blocks) of a
// worker (gemm_stream.h). Producer and consumers iterate over the same items.

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/wgmma/full_tiles.cuh"
#include "kernels/gemm/wgmma/stream_cluster.cuh"

namespace tw {

// The sizes of a run. In epilogue kernels, values in device memory may replace those of the
// arguments.
template <class Config, bool kFull = Config::kFull>
struct StreamSizes {
  using Type = const GemmArgs&;
  static __device__ __forceinline__ Type read(const GemmStreamArgs& args) { return args.full.base; }
};
template <class Config>
struct StreamSizes<Config, true> {
  using Type = GemmEffectiveSizes;
  static __device__ __forceinline__ Type read(const GemmStreamArgs& args) {
    if constexpr (Config::kAnyCluster) {
      const u32 log_n = u32{args.cluster_log} - args.cluster_log_m;
      return gemm_effective_sizes(args.full, Config::kTileM << args.cluster_log_m,
                                  args.width << log_n);
    }
    return gemm_effective_sizes(args.full, Config::kTileM, args.width);
  }
};

// A range of k blocks of one unit.
struct StreamItem {
  i32 unit, begin, end;
};

template <class Config>
struct StreamWork {
  const GemmStreamArgs& args;
  i32 k_blocks;               // of a unit; args.padded_k_blocks may be larger
  i32 whole_units;            // number of units that are not divided, which come first
  i32 unit;                   // the worker's next undivided unit
  i32 next_block, end_block;  // the rest of the worker's share of the k blocks of divided units

  template <class Sizes>
  __device__ __forceinline__ StreamWork(const GemmStreamArgs& arguments, const Sizes& sizes)
      : args(arguments) {
    k_blocks = (sizes.k + Config::kTileK - 1) / Config::kTileK;
    i32 units = sizes.units_m * sizes.units_n;
    if (Config::kFull) units *= args.full.batch;
    // If the number of units depends on device memory, the plan divides no unit.
    whole_units = Config::kFull ? min(args.whole_units, units) : args.whole_units;
    unit = stream_worker<Config>(args) * paired_units();
    // If units are divided, none are paired, so `unit` is still the worker's number here.
    const i32 divided_blocks = (units - whole_units) * args.padded_k_blocks;
    next_block = min(unit * args.share, divided_blocks);
    end_block = min(next_block + args.share, divided_blocks);
  }
  // Number of consecutive units that belong together and are multiplied by one worker (kFullPairs).
  // If it is 2, no unit is divided.
  __device__ __forceinline__ i32 paired_units() const {
    if constexpr (!Config::kNarrow) return 1;
    return (args.full.flags & kFullPairs) != 0 ? 2 : 1;
  }
  // Whether next() has no more items.
  __device__ __forceinline__ bool is_finished() const {
    return unit >= whole_units && next_block >= end_block;
  }
  __device__ __forceinline__ bool next(StreamItem* item) {
    if (unit < whole_units) {
      *item = {unit, 0, k_blocks};
      const i32 pair = paired_units();
      const bool is_first_of_pair = pair > 1 && unit % 2 == 0;
      const auto workers =
          static_cast<i32>(ptx::reread_grid_size() >> stream_cluster_log<Config>(args));
      unit += is_first_of_pair ? 1 : pair * workers - (pair - 1);
      return true;
    }
    if (next_block >= end_block) return false;
    i32 begin;
    const i32 divided_unit = full_divide(next_block, args.padded_k_blocks, &begin);
    const i32 end = min(args.padded_k_blocks, begin + end_block - next_block);
    *item = {whole_units + divided_unit, begin, min(end, k_blocks)};
    next_block += end - begin;
    return true;
  }
};

// The tile of this CTA in a unit.
template <class Config, class Sizes>
__device__ __forceinline__ GemmTileOrigin stream_tile(const GemmStreamArgs& args,
                                                      const Sizes& sizes, i32 unit, u32 rank) {
  GemmTileOrigin tile;
  tile.z = 0;
  i32 unit_m, unit_n;
  if (Config::kFull && args.full.batch > 1)
    tile.z = full_divide(unit, sizes.units_m * sizes.units_n, &unit);
  full_unit(sizes, unit, &unit_m, &unit_n);
  tile.m0 = unit_m * Config::kTileM;
  tile.n0 = unit_n * args.width;
  if constexpr (Config::kAnyCluster) {
    const StreamCluster cluster(args, rank);
    tile.m0 = static_cast<i32>((static_cast<u32>(unit_m) << cluster.log_m) + cluster.rank_m) *
              Config::kTileM;
    tile.n0 =
        static_cast<i32>((static_cast<u32>(unit_n) << cluster.log_n) + cluster.rank_n) * args.width;
  }
  return tile;
}

}  // namespace tw
