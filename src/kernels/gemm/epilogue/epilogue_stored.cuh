// SPDX-License-Identifier: Apache-2.0
#pragma once
// epilogue.cuh reduced to the common case in which TMA stores write all of D and C is not read
// ("all_tma" in names). This case has a loop of its own (gemm_consume_all_tma): between two tiles
// warps mostly wait for instruction fetch, and code that is skipped is fetched too.

#include "kernels/gemm/epilogue/epilogue.cuh"

namespace tw {

/// Whether epilogue_all_tma() can write D for all tiles of a launch. It needs products (k > 0) and,
/// for several accumulation chains, registers.
template <class Config>
__device__ __forceinline__ bool epilogue_is_all_tma(const GemmArgs& args) {
  const i32 contiguous = Config::kSwapAB ? args.m : args.n;
  return (args.beta == 0.0f || args.adds_to_d) && args.plain_from >= contiguous && args.k > 0 &&
         !(Config::kChains && !Config::kAllTmaAddsChains && args.more_chains);
}

// Slabs of a row block that are staged between two barriers. Ping-pong kernels, which have time for
// barriers, stage one, so that the TMA reads it while the next is staged. Others stage as many as
// there is memory for.
template <class Config>
__device__ __forceinline__ constexpr u32 epilogue_at_once(u32 slabs) {
  if (Config::kPingpong) return 1;
  u32 at_once = slabs < Config::kShared.slabs ? slabs : Config::kShared.slabs;
  while (slabs % at_once != 0 || at_once > 4) --at_once;  // one warp stores each
  return at_once;
}

// Number of slabs of a tile that stay in registers, as 16-bit elements, until the next tile's main
// loop writes them: all in cooperative kernels that can stage only half of a tile, otherwise none.
// Without this, the second half would have to wait until the TMA has read the first.
template <class Config>
__device__ __forceinline__ constexpr u32 epilogue_pending_slabs() {
  if (Config::kPingpong || Config::kSwapAB || Config::Out::kBytes != 2 || Config::kTileN < 192)
    return 0;
  constexpr u32 kSlabs = Config::kTileN / Config::kSlab.contiguous;
  return kSlabs == 2 * epilogue_at_once<Config>(kSlabs) ? kSlabs : 0;
}

/// The converted D of the tile at (m0, n0), not yet written.
template <class Config>
struct EpiloguePending {
  static constexpr int kSlabPairs = static_cast<int>(Config::kSlab.contiguous) / 4;
  static constexpr int kPairs = static_cast<int>(epilogue_pending_slabs<Config>()) * kSlabPairs;
  i32 m0, n0;
  u32 pairs[kPairs == 0 ? 1 : kPairs];
};

// Number of slabs side by side along D's contiguous dimension.
template <class Config>
__device__ __forceinline__ constexpr u32 epilogue_across() {
  return static_cast<u32>(Config::kSwapAB ? 64 : Config::kTileN) / Config::kSlab.contiguous;
}

// Stores the kAtOnce slabs that a warpgroup has staged. One thread stores each: the first lane of
// warp 0 the first slab, and so on.
template <class Config, u32 kAtOnce>
__device__ __forceinline__ void epilogue_send(const GemmArgs& args, u32 buffer, u32 group,
                                              u32 first, i32 m0, i32 n0, bool adds) {
  const u32 warp = threadIdx.x / 32 % 4;
  ptx::fence_async_shared();
  ptx::named_barrier(1 + group, 128);
  if (warp >= kAtOnce || threadIdx.x % 32 != 0) return;
  const u32 from = buffer + warp * Config::kShared.slab_bytes;
  constexpr u32 kSlabsAlongLine = epilogue_across<Config>();
  const u32 slab = first + warp;
  const i32 at = (Config::kSwapAB ? m0 : n0) +
                 static_cast<i32>(slab % kSlabsAlongLine * Config::kSlab.contiguous);
  const i32 line =
      Config::kSwapAB ? n0 + static_cast<i32>(slab / kSlabsAlongLine * Config::kSlab.lines) : m0;
  if (adds)
    ptx::reduce_tile<ptx::ReduceOp::add>(&args.map_d, from, at, line);
  else
    ptx::store_tile(&args.map_d, from, at, line);
  ptx::store_commit();
}

/// Stages and stores half 0 or 1 of the slabs in `pending`.
template <class Config, u32 kHalf>
__device__ __forceinline__ void epilogue_write_pending(const EpiloguePending<Config>& pending,
                                                       const GemmArgs& args, u32 staging,
                                                       u32 group) {
  constexpr u32 kSlabs = epilogue_pending_slabs<Config>() / 2;
  if (threadIdx.x / 32 % 4 < kSlabs && threadIdx.x % 32 == 0) ptx::store_wait_read<0>();
  ptx::named_barrier(1 + group, 128);
#pragma unroll
  for (u32 i = 0; i < kSlabs; ++i)
    epilogue_stage_pairs<Config>(pending.pairs, staging + i * Config::kShared.slab_bytes,
                                 static_cast<int>(kHalf * kSlabs + i) * pending.kSlabPairs);
  epilogue_send<Config, kSlabs>(args, staging, group, kHalf * kSlabs, pending.m0, pending.n0,
                                false);
}

/// Does the same as epilogue(). `slab_offset` is the bytes from `staging` to the next free slab.
/// One warp per slab stores it and later waits until the TMA has read it, since the thread that
/// commits a group of bulk stores must wait for it. Two barriers per step are faster than one for
/// both purposes: the TMA delays stores while it loads, and a slab that is ready would wait for the
/// next buffer to become free.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_all_tma(float (&d)[kCount], const GemmArgs& args,
                                                 u32 staging, u32& slab_offset, u32 group, i32 m0,
                                                 i32 n0, EpiloguePending<Config>& pending) {
  if (args.alpha != 1.0f) [[unlikely]] {
#pragma unroll
    for (float& value : d) value *= args.alpha;
  }
  if constexpr (epilogue_pending_slabs<Config>() > 0) {
    pending.m0 = m0;
    pending.n0 = n0;
    epilogue_pack<Config>(d, 0, pending.pairs);
  } else {
    constexpr bool kSwapAB = Config::kSwapAB;
    constexpr u32 kSlabsAlongLine = epilogue_across<Config>();
    constexpr u32 kSlabs =
        kSwapAB ? kSlabsAlongLine * (2 * kCount / Config::kSlab.lines) : kSlabsAlongLine;
    constexpr u32 kAtOnce = epilogue_at_once<Config>(kSlabs);
    constexpr u32 kSlabBytes = Config::kShared.slab_bytes;
    constexpr u32 kStep = kAtOnce * kSlabBytes;
    constexpr int kBuffers = static_cast<int>(Config::kShared.slabs / kAtOnce);
    const u32 warp = threadIdx.x / 32 % 4;
    const bool issuer = warp < kAtOnce && threadIdx.x % 32 == 0;
    const u32 barrier = 1 + group;
#pragma unroll
    for (u32 first = 0; first < kSlabs; first += kAtOnce) {
      const u32 buffer = staging + slab_offset;
      slab_offset = slab_offset + kStep < kBuffers * kStep ? slab_offset + kStep : 0;
      if (issuer) ptx::store_wait_read<kBuffers - 1>();
      ptx::named_barrier(barrier, 128);
#pragma unroll
      for (u32 i = 0; i < kAtOnce; ++i) {
        if constexpr (kSwapAB)
          epilogue_stage_transposed<Config>(d, buffer + i * kSlabBytes,
                                            static_cast<int>((first + i) % kSlabsAlongLine),
                                            static_cast<int>((first + i) / kSlabsAlongLine));
        else
          epilogue_stage<Config>(d, buffer + i * kSlabBytes, static_cast<int>(first + i));
      }
      epilogue_send<Config, kAtOnce>(args, buffer, group, first, m0, n0, args.adds_to_d);
    }
  }
}

}  // namespace tw
