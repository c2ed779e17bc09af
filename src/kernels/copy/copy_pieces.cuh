// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies rows that are contiguous on both sides by ordinary loads and stores: each lane moves
// 16-byte pieces of the destination, kFlight of them at once.
//
// If source and destination are misaligned relative to each other, each lane loads the aligned 16
// bytes in which its piece begins, and gets the rest from the next lane. So the last lane of a warp
// only loads, and a row has one more slot than pieces.
//
// When L2 evicts a partially written sector, it first reads the sector from memory. If this is left
// to the cache, the reads happen one at a time in eviction order, and rows of 100 bytes take twice
// the time. So the kernels prefetch such sectors in memory order.

#include "kernels/common/realign.cuh"
#include "kernels/copy/pieces.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

/// A partial piece that waits in shared memory to be stored: bytes [first, end) of `v`.
struct PieceEnd {
  uint4 v;
  u64 to;
  u32 first;
  u32 end;
};

/// Kernels for small copies (kFlight is 1) themselves wait for the predecessor grid. That grid may
/// write the source, so they must not use ld.global.nc.
template <int kFlight>
inline constexpr bool kPieceWaits = kFlight == 1;

template <int kFlight, bool kRealign, int kRank>
struct PieceMover {
  const CopyPieceArgs& args;
  PieceEnd* warp_ends;  // kFlight * 32 entries

  static constexpr u32 kLanes = kRealign ? 31 : 32;  // lanes that store
  // Prefetching single sectors and collecting the ends of rows cost instructions, which pay off
  // only in large copies. Copies with realignment or several dimensions (kRank) already spend many,
  // so they do not prefetch single sectors. Of these, only copies with realignment collect ends.
  static constexpr bool kLarge = kFlight > 1;
  static constexpr bool kPrefetchesSectors = kLarge && !kRealign && kRank == 1;
  static constexpr bool kCollectsEnds = kLarge && (kRealign || kRank == 1);
  static constexpr u32 kWarps = kPieceThreads / 32;
  static constexpr bool kWaits = kPieceWaits<kFlight>;

  __device__ __forceinline__ uint4 load(u64 from) const {
    if constexpr (kWaits)
      return ptx::load_once_vector(from, args.src_policy);
    else
      return ptx::load_unit_hint<16>(from, args.src_policy);
  }

  // State kept from the load of a piece to its store.
  struct Pending {
    u64 to;
    u32 shift;  // bytes
    u32 first;
    u32 end;  // 0: nothing to store
    u32 prefetch_bytes;
  };

  // Appends the partial pieces of the lanes in mask `lanes` to warp_ends.
  __device__ __forceinline__ void queue_end(const Pending& p, const uint4& v, u32 lanes,
                                            u32* ends) const {
    if ((lanes >> ptx::lane_id() & 1) != 0)
      warp_ends[*ends + __popc(lanes & ptx::lanes_below())] = {v, p.to, p.first, p.end};
    *ends += __popc(lanes);
  }

  // Each thread stores one byte, and each iteration covers two pieces. So the warp writes each
  // sector once, where stores of 8, 4, 2 and 1 bytes would write it up to four times.
  __device__ __forceinline__ void store_ends(u32 ends) const {
    ptx::sync_warp();
    const u32 byte = ptx::lane_id() % 16;
    for (u32 e = ptx::lane_id() / 16; e < ends; e += 2) {
      const PieceEnd& end = warp_ends[e];
      if (byte >= end.first && byte < end.end)
        ptx::store_unit<1>(end.to + byte, reinterpret_cast<const unsigned char*>(&end.v)[byte]);
    }
    ptx::sync_warp();
  }

  __device__ __forceinline__ void store(const Pending& p, const uint4& mine, u32* ends) const {
    Words4 v = words_of(mine);
    if constexpr (kRealign) {
      Words4 next;
#pragma unroll
      for (int w = 0; w < 4; ++w) next.w[w] = __shfl_down_sync(0xffffffffu, v.w[w], 1);
      v = shift_bytes(v, next, p.shift);
    }
    const uint4 unit = make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]);
    const bool whole = p.first == 0 && p.end == 16;
    if (whole) ptx::store_unit_hint<16>(p.to, unit, args.dst_policy);
    const bool part = p.end != 0 && !whole;
    if constexpr (kCollectsEnds) {
      const u32 lanes = __ballot_sync(0xffffffffu, part);
      if (lanes == 0) return;
      if (args.ends_by_bytes != 0) return queue_end(p, unit, lanes, ends);
    }
    if (part && (p.first == 0 || p.end == 16))
      store_end(p.to, v, p.first, p.end);
    else if (part)
      store_part(p.to, v, p.first, p.end);
  }

  __device__ __forceinline__ bool stores(const CopyPiece& p) const {
    return p.end != 0 && (!kRealign || ptx::lane_id() != 31);
  }

  // Prefetches the line of a piece that is not 16 bytes long.
  __device__ __forceinline__ void prefetch_part_line(const CopyPiece& p) const {
    if (kLarge && !kPrefetchesSectors && args.prefetch != kPrefetchNothing && p.end != 0 &&
        p.end - p.first != 16)
      ptx::prefetch_line(p.to + p.first);
  }

  // Prefetches the sectors that the pieces cover only in part. Called after all loads are issued.
  __device__ __forceinline__ void prefetch_parts(const Pending (&pending)[kFlight]) const {
#pragma unroll
    for (int k = 0; k < kFlight; ++k) {
      if (pending[k].prefetch_bytes == 0) continue;
      if (args.prefetch == kPrefetchLines)
        ptx::prefetch_line(pending[k].to + pending[k].first);
      else
        ptx::prefetch_bulk(ptx::global_pointer(pending[k].to), pending[k].prefetch_bytes);
    }
  }

  // Copies pieces whose aligned loads would leave [src_low, src_high), byte by byte.
  __device__ __forceinline__ void store_outside(u32 slot) const {
#pragma unroll 1
    for (int k = 0; k < kFlight; ++k) {
      const CopyPiece p = copy_piece<kRank>(args, slot + static_cast<u32>(k) * kLanes);
      if (stores(p) && !piece_inside(args, p)) copy_bytes<kWaits>({p.to, p.from, p.first, p.end});
    }
  }

  __device__ __forceinline__ void run() const {
    constexpr u32 kWarpSlots = kFlight * kLanes;
    const u64 step = static_cast<u64>(gridDim.x) * (kWarps * kWarpSlots);
    u64 at = static_cast<u64>(blockIdx.x * kWarps + threadIdx.x / 32) * kWarpSlots;
    for (; at < args.items; at += step) {
      const u32 slot = static_cast<u32>(at) + ptx::lane_id();
      Pending pending[kFlight];
      uint4 v[kFlight];
      bool outside = false;
#pragma unroll
      for (int k = 0; k < kFlight; ++k) {
        const CopyPiece p = copy_piece<kRank>(args, slot + static_cast<u32>(k) * kLanes);
        prefetch_part_line(p);
        v[k] = make_uint4(0, 0, 0, 0);
        if (piece_loads(args, p)) v[k] = load(p.from & ~15ull);
        const bool mine = stores(p);
        const bool inside = piece_inside(args, p);
        outside = outside || (mine && !inside);
        pending[k] = {p.to, static_cast<u32>(p.from) & 15, p.first, mine && inside ? p.end : 0,
                      kPrefetchesSectors ? prefetch_bytes_of(args, p) : 0};
      }
      if (kPrefetchesSectors && args.prefetch != kPrefetchNothing) prefetch_parts(pending);
      u32 ends = 0;
#pragma unroll
      for (int k = 0; k < kFlight; ++k) store(pending[k], v[k], &ends);
      if (ends != 0) store_ends(ends);
      if (outside) store_outside(slot);
    }
  }
};

template <int kFlight, bool kRealign>
__device__ __forceinline__ void copy_pieces(const CopyPieceArgs& args) {
  if constexpr (kPieceWaits<kFlight>) ptx::grid_dependency_wait_and_launch();
  __shared__ PieceEnd ends[kFlight > 1 ? kPieceThreads * kFlight : 1];
  PieceEnd* const warp_ends = ends + threadIdx.x / 32 * (kFlight * 32);
  if (args.rank == 1)
    PieceMover<kFlight, kRealign, 1>{args, warp_ends}.run();
  else
    PieceMover<kFlight, kRealign, 0>{args, warp_ends}.run();
}

}  // namespace tw
