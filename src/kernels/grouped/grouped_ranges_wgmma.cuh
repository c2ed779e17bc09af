// SPDX-License-Identifier: Apache-2.0
#pragma once
// Products of ranges of k on Hopper: D[g] = alpha * A_g^T B_g + beta * D[g], where A_g and B_g are
// the rows of A (rows x m) and B (rows x n) that belong to group g. Operands are swapped, as in
// grouped_wgmma.cuh: rows of a tile are columns of B.
//
// Persistent blocks take whole tiles in turn. Tiles of one group take equally long, and each block
// has tiles of every group, so ranges of different lengths keep all blocks equally busy.

#include "kernels/grouped/grouped_wgmma.cuh"

namespace tw {

/// A tile: its group, its range of k, and where it lies in D.
struct RangesSpot {
  i32 group, begin, end;
  i32 n0, m0;
};

/// The tiles of each D, as full_unit() needs them.
struct RangesWalk {
  i32 units_m, units_n, band;
  GroupedWidth width;

  template <class Config>
  static __device__ __forceinline__ RangesWalk of(const GroupedArgs& args) {
    const GroupedCut cut = grouped_cut(args.m);
    return {(args.n + Config::kTileM - 1) / Config::kTileM, cut.tiles, args.band,
            grouped_width(cut.width)};
  }
  __device__ __forceinline__ i32 units(const GroupedArgs& args) const {
    return units_m * units_n * args.group_count;
  }
  template <class Config>
  __device__ __forceinline__ RangesSpot at(const GroupedArgs& args, i32 unit) const {
    RangesSpot spot;
    i32 inside, unit_m, unit_n;
    spot.group = full_divide(unit, units_m * units_n, &inside);
    const GroupRows rows = grouped_rows(args, spot.group, args.k);
    // Neither operand is read where alpha is 0.
    spot.begin = rows.begin, spot.end = args.alpha == 0.0f ? rows.begin : rows.end;
    full_unit(*this, inside, &unit_m, &unit_n);
    spot.n0 = unit_m * Config::kTileM;
    spot.m0 = unit_n * width.width;
    return spot;
  }
};

template <class Config>
__device__ __forceinline__ void ranges_produce(const GroupedArgs& args, const RangesWalk& walk,
                                               GemmPipeline<Config> ring) {
  const i32 boxes = (walk.width.width + 63) / 64;
  const u32 bytes = Config::kShared.a_bytes + static_cast<u32>(boxes) * (Config::kTileK * 128);
  for (auto unit = static_cast<i32>(ptx::block_id_again()); unit < walk.units(args);
       unit += static_cast<i32>(ptx::grid_size_again())) {
    const RangesSpot spot = walk.at<Config>(args, unit);
#pragma unroll 1
    for (i32 k = spot.begin; k < spot.end; k += Config::kTileK) {
      const u32 barrier = ring.full_barrier(ring.stage);
      ptx::mbarrier_wait(ring.empty_barrier(ring.stage), ring.phase ^ 1);
      ptx::mbarrier_arrive_expect(barrier, bytes);
#pragma unroll
      for (i32 box = 0; box < Config::kTileM / 64; ++box)
        ptx::load_tile(ring.a() + static_cast<u32>(box) * (Config::kTileK * 128), &args.map_b,
                       barrier, spot.n0 + box * 64, k);
#pragma unroll 1
      for (i32 box = 0; box < boxes; ++box)
        ptx::load_tile(ring.b() + static_cast<u32>(box) * (Config::kTileK * 128), &args.map_a[0],
                       barrier, spot.m0 + box * 64, k);
      ring.advance();
    }
  }
  ptx::grid_dependency_launch();
}

// Clears the rows of the current stage that belong to the next group, in both operands: an infinity
// there times a zero would be NaN. All consumer threads call it.
template <class Config>
__device__ __forceinline__ void ranges_clear_tail(const GemmPipeline<Config>& ring, i32 boxes,
                                                  i32 rows) {
  using Party = StreamParty<Config>;
  ptx::mbarrier_wait(ring.full_barrier(ring.stage), ring.phase);
  const i32 pieces = (Config::kTileK - rows) * 8;  // of 16 bytes, in each box
  const i32 all = (Config::kTileM / 64 + boxes) * pieces;
#pragma unroll 1
  for (auto i = static_cast<i32>(Party::thread()); i < all;
       i += static_cast<i32>(Party::kThreads)) {
    const i32 box = i / pieces;
    const u32 to = ring.a() + static_cast<u32>(box) * (Config::kTileK * 128) +
                   static_cast<u32>(rows * 8 + i - box * pieces) * 16;
    ptx::shared_store<16>(to, make_uint4(0, 0, 0, 0));
  }
  ptx::fence_async_shared();
  Party::meet();
}

// Multiplies a range of k in accumulation chains of at most args.chain_blocks k blocks, and adds
// the chains up in `place`.
template <class Config>
__device__ __forceinline__ void ranges_accumulate(
    float (&d)[Config::kPieces][Config::kAccumulators], const GroupedArgs& args,
    const RangesWalk& walk, i32 depth, const StreamPlace<Config>& place, GemmPipeline<Config>& ring,
    u32 group) {
  const i32 blocks = (depth + Config::kTileK - 1) / Config::kTileK;
  const i32 whole = depth / Config::kTileK;
  const auto multiply = [&](i32 begin, i32 end, u32 accumulate) {
    gemm_multiply<Config>(
        d, {begin * Config::kTileK, end * Config::kTileK}, ring, group, accumulate, nullptr, [] {},
        walk.width.number);
    gemm_wait_products<Config>(d);
    gemm_release<Config>(ring, (ring.stage == 0 ? ring.stages() : ring.stage) - 1);
  };
  gemm_no_products<Config>(d);
#pragma unroll 1
  for (i32 begin = 0; begin < blocks; begin += args.chain_blocks) {
    const i32 end = min(begin + args.chain_blocks, blocks);
    const i32 middle = min(end, whole);
    gemm_no_products<Config>(d);
    if (begin < middle) multiply(begin, middle, 0);
    if (middle < end) {
      ranges_clear_tail<Config>(ring, (walk.width.width + 63) / 64, depth - whole * Config::kTileK);
      multiply(middle, end, 1);
    }
    if (begin > 0) place.add_to(d[0]);
    if (end < blocks) place.put(d[0]);
  }
}

template <class Config>
__device__ __forceinline__ void ranges_consume(const GroupedArgs& args, const RangesWalk& walk,
                                               GemmPipeline<Config> ring, u32 group) {
  using Slab = StreamSlab<Config>;
  constexpr u32 kAcross = Slab::kRows / 8;
  const u32 staging = ring.base + Config::kShared.d_offset +
                      group * (Config::kShared.slabs * Config::kShared.slab_bytes);
  const auto block = static_cast<i32>(ptx::block_id_again());
  const struct {
    u64 workspace;
    u32 partials;
    i32 width;
  } places = {args.workspace, args.partials, walk.width.width};
  const StreamPlace<Config> place(places, block, 0, 0);
  const u32 row = threadIdx.x % kAcross * 8;
  float d[Config::kPieces][Config::kAccumulators];
  for (i32 unit = block; unit < walk.units(args);
       unit += static_cast<i32>(ptx::grid_size_again())) {
    const RangesSpot spot = walk.at<Config>(args, unit);
    if (spot.begin == spot.end && args.beta == 1.0f) continue;
    ranges_accumulate<Config>(d, args, walk, spot.end - spot.begin, place, ring, group);
    const i32 at = spot.n0 + static_cast<i32>(group * 64 + row);
    const u64 first = args.d + static_cast<u64>((spot.group * args.d_stride + at) * 4);
    grouped_each_line<Config>(d[0], spot.m0, min(spot.m0 + walk.width.width, args.m), kAcross,
                              staging, group, [&](const Slab& staged, u32 inside, i32 r) {
                                if (at >= args.n) return;
                                float v[8];
                                staged.get(inside, row, v);
                                ranges_write(args, first + static_cast<u64>(r * args.d_pitch * 4),
                                             args.n - at, v);
                              });
  }
}

template <class Config>
__device__ __forceinline__ void grouped_ranges_wgmma(const GroupedArgs& args) {
  extern __shared__ __align__(1024) unsigned char gemm_shared_memory[];
  GemmPipeline<Config> ring(ptx::kept(ptx::shared_address(gemm_shared_memory)));
  const u32 warp = ptx::warp_uniform(threadIdx.x / 32);
  const RangesWalk walk = RangesWalk::of<Config>(args);
  const u32 boxes = static_cast<u32>((walk.width.width + 63) / 64);
  ring.set(Config::kShared.a_bytes + boxes * (Config::kTileK * 128), false);
  if (warp == 0) grouped_begin<Config>(args, ring);
  ptx::grid_dependency_wait();
  ptx::sync_block();
  if (warp >= 4) {
    ptx::set_max_registers_up<GroupedRegisters<Config>::kMany>();
    ranges_consume<Config>(args, walk, ring, Config::kConsumers == 1 ? 0 : warp / 4 - 1);
  } else {
    ptx::set_max_registers_down<GroupedRegisters<Config>::kFew>();
    if (warp == 0 && ptx::elect_one()) ranges_produce<Config>(args, walk, ring);
  }
}

}  // namespace tw
