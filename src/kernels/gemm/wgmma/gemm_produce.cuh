// SPDX-License-Identifier: Apache-2.0
#pragma once
// The producer of the wgmma kernels: the tile scheduler, the CTA's range of k, and the TMA loads
// that fill the stages. gemm_basic.cuh describes the kernel as a whole.
//
// Some kernels are meant for a small m of the caller, such as a few tokens in an inference engine.
// The tokens are the operand with the caller's m rows: A, or B with swap-AB. The weights are the
// other operand.

#include "kernels/gemm/wgmma/gemm_config.cuh"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// A range of k.
struct GemmSpan {
  i32 begin, end;
};

// The CTA's range of k: all of it, or with split-K its part.
template <class Config>
__device__ __forceinline__ GemmSpan gemm_span(i32 k) {
  if (!Config::kSplit) return {0, k};
  // All CTAs compute the same bounds, without an integer division. No part is empty if there are at
  // least as many k blocks as parts.
  const i32 blocks = (k + Config::kTileK - 1) / Config::kTileK;
  const u32 part = ptx::cluster_rank() / Config::kCluster;
  const u32 parts = ptx::cluster_size() / Config::kCluster;
  const float each = ptx::reciprocal(static_cast<float>(parts));
  const auto bound = [&](u32 index) {
    return index == parts
               ? blocks
               : static_cast<i32>((static_cast<float>(blocks) * static_cast<float>(index) + 0.5f) *
                                  each);
  };
  const i32 end = bound(part + 1) * Config::kTileK;
  return {bound(part) * Config::kTileK, end < k ? end : k};
}

// The range of k of one accumulation chain of `span`.
template <class Config>
__device__ __forceinline__ GemmSpan gemm_chain_span(GemmSpan span, i32 chain, i32 chains) {
  if (!Config::kChains) return span;
  const i32 blocks = (span.end + Config::kTileK - 1) / Config::kTileK;  // span.begin is 0
  const i32 each = (blocks + chains - 1) / chains * Config::kTileK;
  const i32 begin = chain * each;
  return {begin, span.end - begin < each ? span.end : begin + each};
}

// Number of k blocks in a range of k, and in an accumulation chain of a range.
template <class Config>
__device__ __forceinline__ i32 gemm_blocks(GemmSpan span) {
  return (span.end - span.begin + Config::kTileK - 1) / Config::kTileK;
}

template <class Config>
__device__ __forceinline__ i32 gemm_chain_blocks(GemmSpan span, i32 chain, i32 chains) {
  return gemm_blocks<Config>(gemm_chain_span<Config>(span, chain, chains));
}

// Loads this CTA's share of one operand's k block, which `kSharers` CTAs need. A line is a row of A
// or a column of B. The tile's lines begin at `first` of the operand. `share` is the number of the
// share, and `mask` has the bits of the CTAs that receive it.
template <bool kAlongK, u32 kLines, u32 kTileK, u32 kSharers>
__device__ __forceinline__ void gemm_load_share(u32 shared, const KernelMap* map, u32 barrier,
                                                i32 first, i32 k, u32 share, u32 mask) {
  constexpr u32 kBoxExtent = gemm_box_extent(kAlongK, kLines, kTileK, kSharers);
  constexpr u32 kBoxes = gemm_boxes_per_cta(kAlongK, kLines, kSharers);
  // Whether the sharers divide the box along k instead of by lines.
  constexpr bool kSharesAlongK = !kAlongK && kBoxExtent < kTileK;
  const u32 line0 = kAlongK ? share * kBoxExtent : kSharesAlongK ? 0 : share * kBoxes * 64;
  const u32 k0 = kSharesAlongK ? share * kBoxExtent : 0;
#pragma unroll
  for (u32 box = 0; box < kBoxes; ++box) {
    const u32 line = line0 + box * 64;
    // If the operand is contiguous along k, a line takes 128 bytes of the stage. Otherwise 64 lines
    // form a panel of kTileK * 128 bytes.
    const u32 to = shared + (kAlongK ? line * 128 : line / 64 * (kTileK * 128) + k0 * 128);
    const i32 across = first + static_cast<i32>(line);
    const i32 along = k + static_cast<i32>(k0);
    const i32 x = kAlongK ? along : across;
    const i32 y = kAlongK ? across : along;
    if (kSharers == 1)
      ptx::load_tile(to, map, barrier, x, y);
    else
      ptx::load_tile_multicast(to, map, barrier, x, y, mask);
  }
}

// First row and column of a tile of D.
struct GemmTilePosition {
  i32 m0, n0;
};

template <class Config>
__device__ __forceinline__ GemmTilePosition gemm_tile_position(const GemmArgs& args, i32 unit,
                                                               u32 rank) {
  const auto divide = [](i32 a, i32 b) {
    return static_cast<i32>(static_cast<u32>(a) / static_cast<u32>(b));
  };
  i32 unit_m, unit_n;
  // With one unit along m or n, as for few tokens, no division is needed. The divisions below would
  // delay the first load by 200 cycles.
  if (args.units_n == 1 || args.units_m == 1) {
    unit_m = args.units_n == 1 ? unit : 0;
    unit_n = args.units_n == 1 ? 0 : unit;
  } else if constexpr (Config::kSplit) {
    // With a factor above 1 all units run at once, so bands gain nothing. Kernels for narrow types
    // with a factor of 1 are for few rows, and have few units along n.
    unit_n = divide(unit, args.units_m);
    unit_m = unit - unit_n * args.units_m;
  } else {
    gemm_unit(args, unit, &unit_m, &unit_n, divide);
  }
  return {
      (unit_m * static_cast<i32>(Config::kClusterM) + static_cast<i32>(rank % Config::kClusterM)) *
          Config::kTileM,
      (unit_n * static_cast<i32>(Config::kClusterN) + static_cast<i32>(rank / Config::kClusterM)) *
          Config::kTileN};
}

// The producer stores a tile's position beside the barriers of the tile's first stage. If consumers
// computed the position (gemm_tile_position), its divisions would cost them 550 cycles or more.
// Consumers read it before that stage's products. They release the stage only when those products
// are complete for the whole warpgroup.
template <class Config>
__device__ __forceinline__ void gemm_publish_tile(const GemmPipeline<Config>& pipeline,
                                                  const GemmTilePosition& tile) {
  ptx::shared_store<8>(
      pipeline.tile_position(pipeline.stage),
      static_cast<u64>(static_cast<u32>(tile.n0)) << 32 | static_cast<u32>(tile.m0));
}

template <class Config>
__device__ __forceinline__ GemmTilePosition
gemm_published_tile(const GemmPipeline<Config>& pipeline) {
  const u64 packed = ptx::shared_load<8>(pipeline.tile_position(pipeline.stage));
  return {static_cast<i32>(packed), static_cast<i32>(packed >> 32)};
}

// A CTA's place in its cluster, and the masks of the CTAs that receive its multicast loads. CTAs
// that need the same A lie along n, those that need the same B along m.
template <class Config>
struct GemmSharers {
  u32 rank_m, rank_n, mask_a, mask_b;

  // `group_begin` is the cluster rank of the first CTA that multiplies the same part of k, which is
  // 0 without split-K. `rank` counts from that CTA.
  __device__ __forceinline__ GemmSharers(u32 rank, u32 group_begin)
      : rank_m(rank % Config::kClusterM), rank_n(rank / Config::kClusterM) {
    constexpr u32 kAlongM = (1u << Config::kClusterM) - 1;
    constexpr u32 kAlongN = ((1u << Config::kCluster) - 1) / kAlongM;
    mask_a = kAlongN << (group_begin + rank_m);
    mask_b = kAlongM << (group_begin + rank_n * Config::kClusterM);
  }
};

// Loads this CTA's share of one k block of the operands in `operands` (kGemmOperand bits) into the
// stage.
template <class Config>
__device__ __forceinline__ void gemm_load_block(const GemmArgs& args,
                                                const GemmPipeline<Config>& pipeline,
                                                const GemmTilePosition& tile, i32 k, u32 rank,
                                                u32 operands) {
  const GemmSharers<Config> to(rank, Config::kSplit ? ptx::cluster_rank() - rank : 0);
  const u32 barrier = pipeline.full_barrier(pipeline.stage);
  if (operands & kGemmOperandA)
    gemm_load_share<!Config::kColumnA, Config::kTileM, Config::kTileK, Config::kClusterN>(
        pipeline.a(), &args.map_a, barrier, tile.m0, k, to.rank_n, to.mask_a);
  if (operands & kGemmOperandB)
    gemm_load_share<!Config::kRowB, Config::kStageColumnsB, Config::kTileK, Config::kClusterM>(
        pipeline.b(), &args.map_b, barrier, tile.n0, k, to.rank_m, to.mask_b);
}

// The CTA's first unit. It is computed from special registers at each use, because kernels with 192
// columns of accumulators have no register to keep it.
template <class Config>
__device__ __forceinline__ i32 gemm_first_unit() {
  return static_cast<i32>(Config::kSplit ? ptx::cluster_id()
                                         : ptx::reread_block_id() / Config::kCluster);
}

// Number of k blocks that a CTA loads ahead of its products. It is the number of stages, with one
// exception. If 80 to 144 CTAs start together on few tokens, filling all stages would request more
// than about 10 MB at once, which memory serves slower: (m, n, k) = (1, 3584, 3584) with split-K
// factor 2 takes 8.77 us with 10 of 16 stages, and 9.14 us with all. All stages are faster with
// fewer CTAs, a longer k or several waves, and if the launch loads before its predecessor grid
// ends.
template <class Config>
__device__ __forceinline__ i32 gemm_load_ahead(const GemmArgs& args, GemmSpan span) {
  constexpr i32 kLongestSpan = 40, kFewestCtas = 80, kMostCtas = 144;  // span in k blocks
  const auto ctas = static_cast<i32>(gridDim.x);
  const bool holds_back = Config::kLimitsLoadAhead && args.early == 0 && ctas >= kFewestCtas &&
                          ctas <= kMostCtas && (args.units_m == 1 || args.units_n == 1) &&
                          args.units_m * args.units_n <= ctas &&
                          span.end - span.begin <= kLongestSpan * Config::kTileK;
  return holds_back ? Config::kAhead : Config::kStages;
}

// A CTA's first tile, and the range of k that is loaded for it before any stage is released.
struct GemmFirstLoads {
  GemmTilePosition tile;
  i32 begin, end;
};

template <class Config>
__device__ __forceinline__ GemmFirstLoads gemm_first_loads(const GemmArgs& args, i32 unit,
                                                           u32 rank) {
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 limit = span.begin + gemm_load_ahead<Config>(args, span) * Config::kTileK;
  const bool has_unit = unit < args.units_m * args.units_n;
  return {gemm_tile_position<Config>(args, unit, rank), span.begin,
          !has_unit          ? span.begin
          : span.end < limit ? span.end
                             : limit};
}

// The number of k blocks in the range that gemm_first_loads() returns.
template <class Config>
__device__ __forceinline__ i32 gemm_first_blocks(const GemmArgs& args, i32 unit) {
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 blocks = gemm_blocks<Config>(span), ahead = gemm_load_ahead<Config>(args, span);
  return unit >= args.units_m * args.units_n ? 0 : blocks < ahead ? blocks : ahead;
}

// Lines of the weights (rows of A or columns of B) in a tile of a kernel for few tokens.
template <class Config>
inline constexpr i32 kGemmWeightLines = Config::kSwapAB ? Config::kTileM : Config::kTileN;

// Number of k blocks of a CTA's first weights that are prefetched into the L2. A prefetch starts
// earlier than the first TMA load, which waits for its instructions and its tensor map: (m, n, k) =
// (1, 3072, 1536) takes 4.40 us with four prefetched k blocks and 4.59 us with none. Larger numbers
// than these are slower. If a tile has 128 lines of weights, three k blocks take 1 to 5 % longer
// than two. Eight k blocks take 1 % longer with any tile.
template <class Config>
inline constexpr i32 kGemmPrefetchedBlocks = Config::kSplit&& Config::kTileN <= 16 ? 4
                                             : kGemmWeightLines<Config> <= 72      ? 3
                                                                                   : 2;

// Consumer threads, which are idle at the start, prefetch the first weights if the tokens fit one
// tile. A prefetch returns no data, so it need not wait for predecessor grids.
template <class Config>
__device__ __forceinline__ void gemm_prefetch_weights(const GemmArgs& args) {
  constexpr bool kWeightsAreA = Config::kSwapAB;
  constexpr i32 kLines = kGemmWeightLines<Config>;
  constexpr i32 kThreads = static_cast<i32>(Config::kThreads) - 128;
  constexpr i32 kPrefetched = kLines * kGemmPrefetchedBlocks<Config>;
  constexpr i64 kBytes = Config::In::kBytes;
  if ((kWeightsAreA ? args.units_n : args.units_m) != 1) return;
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 line0 = gemm_first_unit<Config>() * kLines;
  const i32 lines = (kWeightsAreA ? args.m : args.n) - line0;
  const i64 pitch = kWeightsAreA ? args.a_stride_m : args.b_stride_n;
  const u64 first =
      (kWeightsAreA ? args.a : args.b) + static_cast<u64>((line0 * pitch + span.begin) * kBytes);
#pragma unroll
  for (i32 i = 0; i < (kPrefetched + kThreads - 1) / kThreads; ++i) {
    const i32 item = static_cast<i32>(threadIdx.x) - 128 + i * kThreads;
    const i32 line = item % kLines, k = item / kLines * Config::kTileK;
    if (line < lines && item < kPrefetched && span.begin + k < span.end)
      ptx::prefetch_line(first + static_cast<u64>((line * pitch + k) * kBytes));
  }
}

// Loads the operands in `operands` (kGemmOperand bits) of the first tile from k to `end` into free
// stages. A full barrier expects the bytes of both operands, even if one of them is loaded later.
// Returns the next k.
template <class Config>
__device__ __forceinline__ i32 gemm_fill(const GemmArgs& args, GemmPipeline<Config>& pipeline,
                                         const GemmTilePosition& tile, i32 k, i32 end, u32 rank,
                                         u32 operands) {
#pragma unroll 1
  for (; k < end; k += Config::kTileK) {
    ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.stage_bytes);
    gemm_load_block<Config>(args, pipeline, tile, k, rank, operands);
    pipeline.advance();
  }
  return k;
}

// Loads k blocks of the CTA's first tile and chain, from k on, until the first `stages` stages are
// full. Returns the next k. If it is called again with a larger `stages`, k is the previous result.
// If args.early is 0, each call waits for the predecessor grids before it loads. Otherwise each
// call loads the operands in args.early without waiting, and the call with all stages then waits
// and loads the other operand.
template <class Config>
__device__ __forceinline__ i32 gemm_produce_first(const GemmArgs& args,
                                                  GemmPipeline<Config>& pipeline,
                                                  const GemmFirstLoads& first, i32 k, i32 stages,
                                                  u32 rank) {
  const i32 limit = first.begin + stages * Config::kTileK;
  const i32 end = first.end < limit ? first.end : limit;
  const u32 early = args.early;
  if (k == first.begin) gemm_publish_tile<Config>(pipeline, first.tile);
  if (early == 0) {
    ptx::grid_dependency_wait();
    k = gemm_fill<Config>(args, pipeline, first.tile, k, end, rank, kGemmOperandBoth);
  } else {
    k = gemm_fill<Config>(args, pipeline, first.tile, k, end, rank, early);
    if (stages < Config::kStages) return k;
    ptx::grid_dependency_wait();
    GemmPipeline<Config> refilled(pipeline.base);  // a second pass over the same stages
#pragma unroll 1
    for (i32 late_k = first.begin; late_k < k; late_k += Config::kTileK) {
      gemm_load_block<Config>(args, refilled, first.tile, late_k, rank, early ^ kGemmOperandBoth);
      refilled.advance();
    }
  }
  if (!Config::kSplit && stages == Config::kStages && args.plain_from > 0)
    ptx::prefetch_map(&args.map_d);
  return k;
}

// The step from one unit of a CTA to its next. It is computed from special registers at each use,
// as in gemm_first_unit().
template <class Config>
__device__ __forceinline__ i32 gemm_unit_step() {
  return static_cast<i32>(gridDim.x / (Config::kSplit ? ptx::cluster_size() : Config::kCluster));
}

// Waits until all stages are released, after the last load. A CTA of a cluster must not exit while
// another one may still arrive at its barriers or wait for its multicast.
template <class Config>
__device__ __forceinline__ void gemm_wait_all_released(GemmPipeline<Config> pipeline) {
  constexpr bool kHasCluster = Config::kCluster > 1 || Config::kAnyCluster;
  for (i32 stage = 0; kHasCluster && stage < pipeline.stages(); ++stage) {
    ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
    pipeline.advance();
  }
}

// Prefetches a tile's D into the L2 while the tile's last k blocks are loaded, because TMA
// reductions into D would otherwise wait until D has come from memory. One box of D's map is
// prefetched for each k block, or for every second k block if there are eight boxes or more. The
// TMA works in order, so eight boxes at once would delay later loads by more time than the full
// stages cover. If too few k blocks are left, the first boxes are prefetched together. load() loads
// the next k block, and blocks_left() returns how many whole k blocks are not loaded yet.
template <class Config, class BlocksLeft, class Load>
__device__ __forceinline__ void gemm_prefetch_d(const GemmArgs& args, const GemmTilePosition& tile,
                                                BlocksLeft blocks_left, Load load) {
  constexpr auto kAcross = static_cast<i32>(Config::kSlab.contiguous);
  constexpr auto kLines = static_cast<i32>(Config::kSlab.lines);
  constexpr i32 kBoxesAcross = (Config::kSwapAB ? Config::kTileM : Config::kTileN) / kAcross;
  constexpr i32 kBoxes =
      kBoxesAcross * ((Config::kSwapAB ? Config::kTileN : Config::kTileM) / kLines);
  constexpr i32 kBlocksPerBox = kBoxes < 8 ? 1 : 2;
#pragma unroll 1
  for (i32 box = 0; box < kBoxes; ++box) {
    while (blocks_left() > (kBoxes - box) * kBlocksPerBox) load();
    ptx::prefetch_tile(&args.map_d,
                       (Config::kSwapAB ? tile.m0 : tile.n0) + box % kBoxesAcross * kAcross,
                       (Config::kSwapAB ? tile.n0 : tile.m0) + box / kBoxesAcross * kLines);
  }
}

// Loads everything that gemm_produce_first() has not loaded. If there are two loaders, each loads
// every second k block, also from one chain or tile to the next. Stages are released in order, so
// neither loader gets far enough ahead to misread a parity.
template <class Config>
__device__ __forceinline__ void gemm_produce(const GemmArgs& args, GemmPipeline<Config> pipeline,
                                             u32 rank, u32 loader) {
  constexpr i32 kStep = static_cast<i32>(Config::kLoaders) * Config::kTileK;
  const GemmSpan span = gemm_span<Config>(args.k);
  const i32 units = args.units_m * args.units_n;
  const i32 unit_step = gemm_unit_step<Config>();
  const i32 first_unit = gemm_first_unit<Config>();
  // Ping-pong kernels alternate between the chains of two units. In other kernels the chains of a
  // unit follow one another, and the producer loads all of k without regard to chains.
  constexpr i32 kAlternatingUnits = Config::kAlternatesChains ? 2 : 1;
  const i32 chains = Config::kAlternatesChains ? 1 + args.more_chains : 1;
  const i32 loaded = gemm_first_blocks<Config>(args, first_unit);
  const bool holds_back = gemm_load_ahead<Config>(args, span) < Config::kStages;
  // If the load-ahead is limited, the release of the oldest stage in use permits the next load.
  GemmPipeline<Config> oldest = pipeline;
  if (Config::kLimitsLoadAhead) oldest.skip(static_cast<i32>(loader));
  if (loader > 0) ptx::grid_dependency_wait();
  pipeline.skip(loaded + static_cast<i32>(loader));
  // Where along k, from the beginning of a chain, this loader's first k block of the chain begins.
  i32 k_offset = (loaded + static_cast<i32>(loader)) * Config::kTileK;
  for (i32 first = first_unit; first < units; first += kAlternatingUnits * unit_step)
    for (i32 chain = 0; chain < chains; ++chain)
      for (i32 unit = first; unit < units && unit < first + kAlternatingUnits * unit_step;
           unit += unit_step) {
        const GemmTilePosition tile = gemm_tile_position<Config>(args, unit, rank);
        const GemmSpan chain_span =
            Config::kAlternatesChains ? gemm_chain_span<Config>(span, chain, chains) : span;
        i32 k = chain_span.begin + k_offset;
        // Each case has a loop of its own, because the producer's loop is the bottleneck of small
        // tiles.
        const auto load = [&] {
          ptx::mbarrier_wait(pipeline.empty_barrier(pipeline.stage), pipeline.phase ^ 1);
          if (k == span.begin) gemm_publish_tile<Config>(pipeline, tile);
          ptx::mbarrier_arrive_expect(pipeline.full_barrier(pipeline.stage), args.stage_bytes);
          gemm_load_block<Config>(args, pipeline, tile, k, rank, kGemmOperandBoth);
          pipeline.template advance_by<Config::kLoaders>();
          k += kStep;
        };
        if (Config::kLimitsLoadAhead && holds_back) {
          while (k < chain_span.end) {
            ptx::mbarrier_wait(oldest.empty_barrier(oldest.stage), oldest.phase);
            oldest.template advance_by<Config::kLoaders>();
            load();
          }
        }
        // D is prefetched during the first chain that is written to D. If consumers add the chains
        // up in registers, that is the last chain. Otherwise it is the first one.
        const i32 first_written = Config::kAllTmaAddsChains ? chains - 1 : 0;
        if (Config::kPrefetchesD && loader == 0 && args.adds_to_d && args.plain_from > 0 &&
            chain == first_written && k < chain_span.end)
          gemm_prefetch_d<Config>(
              args, tile, [&] { return (chain_span.end - k) / Config::kTileK; }, load);
        while (k < chain_span.end) load();
        k_offset = k - chain_span.begin - gemm_blocks<Config>(chain_span) * Config::kTileK;
      }
  // After the last chain, k_offset says how far past its end this loader's next k block would
  // begin. Of two loaders, it is one k block for the loader that issued the last load. The other
  // one has k_offset 0 and its `pipeline` is at the oldest stage, so that one waits for the stages.
  if (k_offset > 0) return;
  ptx::grid_dependency_launch();
  gemm_wait_all_released<Config>(pipeline);
}

// Numbers of arrivals after which a stage is full, and after which it is empty.
struct GemmArrivals {
  u32 full, empty;
};

// Initializes the barriers of stages `from` to `to` - 1, and with stage 0 the split-K barrier.
template <class Config>
__device__ __forceinline__ void gemm_init_barriers(const GemmPipeline<Config>& pipeline, i32 from,
                                                   i32 to, const GemmArrivals& arrivals) {
#pragma unroll
  for (i32 stage = from; stage < to; ++stage) {
    ptx::mbarrier_init(pipeline.full_barrier(stage), arrivals.full);
    ptx::mbarrier_init(pipeline.empty_barrier(stage), arrivals.empty);
  }
  if (Config::kSplit && from == 0) ptx::mbarrier_init(pipeline.partials_barrier(), 1);
  ptx::fence_mbarrier_init();
}

// Initializes the barriers and issues a CTA's first loads. Without a cluster, the first load is
// issued before the other stages' barriers are initialized. Code that runs once costs mostly its
// instruction fetch, which would delay the load.
template <class Config>
__device__ __forceinline__ void gemm_begin(const GemmArgs& args,
                                           const GemmPipeline<Config>& pipeline, u32 warp, u32 rank,
                                           const GemmArrivals& arrivals) {
  // A copy, because nvcc does not keep the pipeline in uniform registers if producer and consumers
  // advance the same object.
  GemmPipeline<Config> loading = pipeline;
  GemmFirstLoads first;
  i32 k = 0;
  if (Config::kCluster == 1) {
    if (warp == 0) {
      first = gemm_first_loads<Config>(args, gemm_first_unit<Config>(), rank);
      if (ptx::elect_one()) {
        gemm_init_barriers<Config>(pipeline, 0, 1, arrivals);
        k = gemm_produce_first<Config>(args, loading, first, first.begin, 1, rank);
        gemm_init_barriers<Config>(pipeline, 1, Config::kStages, arrivals);
      }
      ptx::sync_warp();
      ptx::named_barrier_arrive(5, Config::kThreads);
      if (ptx::elect_one())
        k = gemm_produce_first<Config>(args, loading, first, k, Config::kStages, rank);
      ptx::sync_warp();
    } else {
      if (Config::kPrefetchesWeights && warp >= 4) gemm_prefetch_weights<Config>(args);
      ptx::named_barrier(5, Config::kThreads);
    }
  } else {
    if (warp == 0 && ptx::elect_one()) {
      ptx::prefetch_map(&args.map_a);
      ptx::prefetch_map(&args.map_b);
      gemm_init_barriers<Config>(pipeline, 0, Config::kStages, arrivals);
    }
    ptx::sync_block();
    ptx::cluster_arrive_relaxed();
    if (warp == 0) first = gemm_first_loads<Config>(args, gemm_first_unit<Config>(), rank);
    ptx::cluster_wait();
    if (warp == 0 && ptx::elect_one())
      gemm_produce_first<Config>(args, loading, first, first.begin, Config::kStages, rank);
  }
  if (Config::kHasReceiveBuffer && Config::kCluster == 1)
    ptx::cluster_arrive_relaxed();  // gemm_sync_split
}

}  // namespace tw
