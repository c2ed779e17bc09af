// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of rows that are contiguous on both sides, by plain loads and stores: a lane a piece of 16
// bytes of the destination, kFlight pieces a lane at once.
//
// Where the two sides are misaligned against each other, each lane loads the aligned 16 bytes that
// its piece begins in and takes the rest from the next lane, which loaded them for its own piece.
// So a warp's last lane only loads, and a row has one slot more than pieces.
//
// A sector of the L2 cache that is written in part is read from memory before it can leave the
// cache. Left to the cache that happens one by one, in the order in which it runs out of room: rows
// of 100 bytes then take twice the time. So such sectors are asked for beforehand, in the order of
// memory.

#include "kernels/copy/pieces.h"
#include "kernels/parts/realign.cuh"

namespace tw {

template <int kFlight, bool kRealign, int kRank>
struct PieceMover {
  const CopyPieceArgs& args;

  static constexpr u32 kLanes = kRealign ? 31 : 32;  // that store
  static constexpr u32 kWarps = kPieceThreads / 32;

  // What of a loaded piece the store needs.
  struct Pending {
    u64 to;
    u32 shift;  // bytes
    u32 first;
    u32 end;  // 0: nothing to store
  };

  __device__ __forceinline__ void store(const Pending& p, const uint4& mine) const {
    Words4 v = words_of(mine);
    if constexpr (kRealign) {
      Words4 next;
#pragma unroll
      for (int w = 0; w < 4; ++w) next.w[w] = __shfl_down_sync(0xffffffffu, v.w[w], 1);
      v = shift_bytes(v, next, p.shift);
    }
    if (p.first == 0 && p.end == 16)
      ptx::store_unit_hint<16>(p.to, make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]), args.dst_policy);
    else if (p.first == 0 || p.end == 16)
      store_end(p.to, v, p.first, p.end);
    else if (p.end != 0)
      store_part(p.to, v, p.first, p.end);
  }

  __device__ __forceinline__ bool stores(const CopyPiece& p) const {
    return p.end != 0 && (!kRealign || ptx::lane_id() != 31);
  }

  // Pieces at the ends of what may be read, byte by byte.
  __device__ __forceinline__ void store_outside(u32 slot) const {
#pragma unroll 1
    for (int k = 0; k < kFlight; ++k) {
      const CopyPiece p = copy_piece<kRank>(args, slot + static_cast<u32>(k) * kLanes);
      if (stores(p) && !piece_inside(args, p)) copy_bytes({p.to, p.from, p.first, p.end});
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
        if (args.touch != 0 && p.end != 0 && p.end - p.first != 16)
          ptx::prefetch_line(p.to + p.first);
        v[k] = make_uint4(0, 0, 0, 0);
        if (piece_loads(args, p)) v[k] = ptx::load_unit_hint<16>(p.from & ~15ull, args.src_policy);
        const bool mine = stores(p);
        const bool inside = piece_inside(args, p);
        outside = outside || (mine && !inside);
        pending[k] = {p.to, static_cast<u32>(p.from) & 15, p.first, mine && inside ? p.end : 0};
      }
#pragma unroll
      for (int k = 0; k < kFlight; ++k) store(pending[k], v[k]);
      if (outside) store_outside(slot);
    }
  }
};

template <int kFlight, bool kRealign>
__device__ __forceinline__ void copy_pieces(const CopyPieceArgs& args) {
  if constexpr (kFlight == 1) ptx::grid_dependency_wait_and_launch();
  if (args.rank == 1)
    PieceMover<kFlight, kRealign, 1>{args}.run();
  else
    PieceMover<kFlight, kRealign, 0>{args}.run();
}

}  // namespace tw
