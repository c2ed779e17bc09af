// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tile scheduler of the stream-K kernels: the sequence of items (unit, range of k blocks) of a
// cluster. Producer and consumers iterate over the same items.

#include "kernels/gemm/arguments/gemm_stream.h"
#include "kernels/gemm/wgmma/full_tiles.cuh"

namespace tw {

// Sizes of a run: the arguments', which device memory may override in epilogue kernels.
template <class Config, bool kFull = Config::kFull>
struct StreamSizes {
  using Type = const GemmArgs&;
  static __device__ __forceinline__ Type of(const GemmStreamArgs& args) { return args.full.base; }
};
template <class Config>
struct StreamSizes<Config, true> {
  using Type = GemmEffectiveSizes;
  static __device__ __forceinline__ Type of(const GemmStreamArgs& args) {
    return gemm_live(args.full, Config::kTileM * static_cast<i32>(Config::kClusterM),
                     args.width * static_cast<i32>(Config::kClusterN));
  }
};

// A range of k blocks of one unit.
struct StreamItem {
  i32 unit, begin, end;
};

template <class Config>
struct StreamWork {
  const GemmStreamArgs& args;
  i32 blocks;    // k blocks of a unit
  i32 whole;     // units that one cluster multiplies alone
  i32 unit;      // the cluster's next such unit
  i32 at, stop;  // its range in the k blocks of the shared units

  template <class Sizes>
  __device__ __forceinline__ StreamWork(const GemmStreamArgs& of, const Sizes& sizes) : args(of) {
    blocks = (sizes.k + Config::kTileK - 1) / Config::kTileK;
    i32 units = sizes.units_m * sizes.units_n;
    if (Config::kFull) units *= args.full.batch;
    // If device memory decides the number of units, the plan shares none.
    whole = Config::kFull ? min(args.whole_units, units) : args.whole_units;
    unit = static_cast<i32>(ptx::block_id_again() / Config::kCluster) * together();
    const i32 shared = (units - whole) * args.depth;
    at = min(unit * args.share, shared);
    stop = min(at + args.share, shared);
  }
  // Units that follow one another, of which a cluster multiplies all; then nothing is shared.
  __device__ __forceinline__ i32 together() const {
    if constexpr (!Config::kScaled) return 1;
    return (args.full.flags & kFullPairs) != 0 ? 2 : 1;
  }
  __device__ __forceinline__ bool next(StreamItem* item) {
    if (unit < whole) {
      *item = {unit, 0, blocks};
      const i32 step = together();
      const bool first = step > 1 && unit % 2 == 0;
      const auto grid = static_cast<i32>(ptx::grid_size_again() / Config::kCluster);
      unit += first ? 1 : step * grid - (step - 1);
      return true;
    }
    if (at >= stop) return false;
    i32 begin;
    const i32 shared = full_divide(at, args.depth, &begin);
    const i32 end = min(args.depth, begin + stop - at);
    *item = {whole + shared, begin, min(end, blocks)};
    at += end - begin;
    return true;
  }
};

// The tile of this CTA in a unit.
template <class Config, class Sizes>
__device__ __forceinline__ FullTile stream_tile(const GemmStreamArgs& args, const Sizes& sizes,
                                                i32 unit, u32 rank) {
  FullTile tile;
  tile.z = 0;
  i32 unit_m, unit_n;
  if (Config::kFull && args.full.batch > 1)
    tile.z = full_divide(unit, sizes.units_m * sizes.units_n, &unit);
  full_unit(sizes, unit, &unit_m, &unit_n);
  const auto rank_m = static_cast<i32>(rank % Config::kClusterM);
  const auto rank_n = static_cast<i32>(rank / Config::kClusterM);
  tile.m0 = (unit_m * static_cast<i32>(Config::kClusterM) + rank_m) * Config::kTileM;
  tile.n0 = (unit_n * static_cast<i32>(Config::kClusterN) + rank_n) * args.width;
  return tile;
}

}  // namespace tw
