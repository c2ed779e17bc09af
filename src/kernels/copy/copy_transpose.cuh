// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tiled transposes.
//
// If everything is aligned to 16 bytes, each thread loads a cell, a square of elements whose edge
// is one 16-byte vector, and transposes it in registers. Elements of 4 bytes or more only need
// register renaming; 2-byte elements need one byte permutation per word, 1-byte elements three. The
// transposed vectors pass through shared memory, so that a warp stores runs of 256 bytes. Small
// tensors skip shared memory and use blocks of one warp.
//
// Otherwise a tile passes through shared memory element by element.

#include "kernels/copy/transpose.h"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/global_own.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// Words [4 r, 4 r + 4) are vector r.
template <int kElement>
struct Cell {
  static constexpr int kSide = 16 / kElement;  // elements along an edge
  u32 word[kSide * 4];

  __device__ __forceinline__ void set(int vector, const uint4& v) {
    word[vector * 4 + 0] = v.x;
    word[vector * 4 + 1] = v.y;
    word[vector * 4 + 2] = v.z;
    word[vector * 4 + 3] = v.w;
  }

  /// Vector c of the transposed cell.
  __device__ __forceinline__ uint4 column(int c) const {
    u32 out[4] = {};
    if constexpr (kElement == 16) {
      return {word[0], word[1], word[2], word[3]};
    } else if constexpr (kElement == 8) {
      return {word[2 * c], word[2 * c + 1], word[4 + 2 * c], word[4 + 2 * c + 1]};
    } else if constexpr (kElement == 4) {
      return {word[c], word[4 + c], word[8 + c], word[12 + c]};
    } else if constexpr (kElement == 2) {
#pragma unroll
      for (int w = 0; w < 4; ++w)
        out[w] = __byte_perm(word[8 * w + c / 2], word[8 * w + 4 + c / 2], c % 2 ? 0x7632 : 0x5410);
    } else {
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const int at = 16 * w + c / 4;
        const u32 pick = static_cast<u32>(c % 4);
        const u32 two = pick | (pick + 4) << 4;
        const u32 low = __byte_perm(word[at], word[at + 4], two);
        const u32 high = __byte_perm(word[at + 8], word[at + 12], two);
        out[w] = __byte_perm(low, high, 0x5410);
      }
    }
    return {out[0], out[1], out[2], out[3]};
  }
};

/// A block's tile. Dimension a is contiguous in the source, b in the destination (transpose.h).
/// Each thread has kCellsA x kCellsB cells; a warp's lanes and a block's warps are divided between
/// the dimensions.
template <int kElement, int kThreads, int kLanesA, int kWarpsA, int kCellsA, int kCellsB>
struct CellTile {
  static constexpr u32 kSide = 16 / kElement;
  static constexpr u32 kLanesB = 32 / kLanesA;
  static constexpr u32 kStepA = kLanesA * kWarpsA;
  static constexpr u32 kStepB = kLanesB * (kThreads / 32 / kWarpsA);
  static constexpr u32 kTileA = kStepA * kCellsA;
  static constexpr u32 kTileB = kStepB * kCellsB;
  static constexpr u32 kCells = kCellsA * kCellsB;

  const CopyTransposeArgs& args;
  TransposePlace at;
  u32 a;  // the thread's first cell within the tile
  u32 b;
  Cell<kElement> cell[kCells];

  __device__ __forceinline__ CellTile(const CopyTransposeArgs& arguments, u32 number)
      : args(arguments), at(transpose_place(arguments, number, kTileA, kTileB)) {
    const u32 lane = threadIdx.x % 32;
    const u32 warp = threadIdx.x / 32;
    a = warp % kWarpsA * kLanesA + lane % kLanesA;
    b = warp / kWarpsA * kLanesB + lane / kLanesA;
  }

  __device__ __forceinline__ u32 cell_a(u32 i) const { return a + i % kCellsA * kStepA; }
  __device__ __forceinline__ u32 cell_b(u32 i) const { return b + i / kCellsA * kStepB; }
  __device__ __forceinline__ bool inside(u32 va, u32 vb) const {
    return at.a + va < args.units_a && at.b + vb < args.units_b;
  }

  // The small kernels start before their predecessor grid ends, and wait for it. That grid may
  // write the source, so they must not use ld.global.nc, which needs memory that nobody writes
  // while the kernel runs. The large kernels are not dependent launches: they start after the
  // predecessor grid has ended.
  __device__ __forceinline__ uint4 load_vector(u64 from) const {
    if constexpr (kThreads == kSmallTransposeThreads)
      return ptx::load_once_vector(from, args.src_policy);
    else
      return ptx::load_unit_hint<16>(from, args.src_policy);
  }

  __device__ __forceinline__ void load() {
#pragma unroll
    for (u32 i = 0; i < kCells; ++i) {
      if (!inside(cell_a(i), cell_b(i))) continue;
      const i64 row = static_cast<i64>(at.b + cell_b(i)) * static_cast<i64>(kSide);
      u64 from = at.src + (at.a + cell_a(i)) * 16ull + static_cast<u64>(row * args.src_pitch);
#pragma unroll
      for (u32 r = 0; r < kSide; ++r) {
        cell[i].set(static_cast<int>(r), load_vector(from));
        from += static_cast<u64>(args.src_pitch);
      }
    }
  }

  // Stores vector vb of a line of the tile. A line has the elements along b at one index along a.
  __device__ __forceinline__ void store(u32 line, u32 vb, const uint4& value) const {
    const i64 row = static_cast<i64>(at.a) * static_cast<i64>(kSide) + line;
    ptx::store_unit_hint<16>(at.dst + (at.b + vb) * 16ull + static_cast<u64>(row * args.dst_pitch),
                             value, args.dst_policy);
  }

  __device__ __forceinline__ void store_cells() const {
#pragma unroll
    for (u32 i = 0; i < kCells; ++i)
      if (inside(cell_a(i), cell_b(i)))
#pragma unroll
        for (u32 c = 0; c < kSide; ++c)
          store(cell_a(i) * kSide + c, cell_b(i), cell[i].column(static_cast<int>(c)));
  }

  // Shared address of vector vb of a line. The swizzle avoids bank conflicts: eight lanes that
  // write adjacent cells along a, or read adjacent vectors along b, access eight different groups
  // of four banks.
  __device__ __forceinline__ static u32 place(u32 shared, u32 line, u32 vb) {
    return shared + (line * kTileB + (vb ^ (line / kSide & 7))) * 16;
  }

  __device__ __forceinline__ void stage(u32 shared) const {
#pragma unroll
    for (u32 i = 0; i < kCells; ++i)
#pragma unroll
      for (u32 c = 0; c < kSide; ++c)
        ptx::shared_store<16>(place(shared, cell_a(i) * kSide + c, cell_b(i)),
                              cell[i].column(static_cast<int>(c)));
  }

  __device__ __forceinline__ void store_staged(u32 shared) const {
#pragma unroll 8
    for (u32 v = threadIdx.x; v < kTileA * kSide * kTileB; v += kThreads) {
      const u32 line = v / kTileB;
      const u32 vb = v % kTileB;
      if (inside(line / kSide, vb)) store(line, vb, ptx::shared_load<16>(place(shared, line, vb)));
    }
  }
};

template <int kElement, int kLanesA, int kWarpsA, int kCellsA, int kCellsB>
__device__ __forceinline__ void copy_transpose(const CopyTransposeArgs& args) {
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 stage = ptx::shared_address(shared);
  for (u32 number = blockIdx.x; number < args.tiles; number += gridDim.x) {
    CellTile<kElement, kTransposeThreads, kLanesA, kWarpsA, kCellsA, kCellsB> tile(args, number);
    tile.load();
    ptx::sync_block();  // all threads have read the previous tile
    tile.stage(stage);
    ptx::sync_block();
    tile.store_staged(stage);
  }
}

template <int kElement>
__device__ __forceinline__ void copy_transpose_small(const CopyTransposeArgs& args) {
  ptx::grid_dependency_wait_and_launch();
  for (u32 number = blockIdx.x; number < args.tiles; number += gridDim.x) {
    CellTile<kElement, kSmallTransposeThreads, 8, 1, 1, 1> tile(args, number);
    tile.load();
    tile.store_cells();
  }
}

/// A transpose with any addresses, pitches and extents. Here units_a and units_b count elements,
/// not vectors.
template <int kElement>
__device__ __forceinline__ void copy_transpose_plain(const CopyTransposeArgs& args) {
  constexpr u32 kEdge = transpose_edge(kElement);
  constexpr u32 kPitch = transpose_pitch(kElement);
  constexpr u32 kLines = kTransposeThreads / kEdge;  // processed at once by the block
  constexpr u32 kEach = kEdge / kLines;
  __shared__ __align__(128) unsigned char shared[kEdge * kPitch];
  const u32 base = ptx::shared_address(shared);
  const u32 inner = threadIdx.x % kEdge;
  const u32 outer = threadIdx.x / kEdge;
  for (u32 number = blockIdx.x; number < args.tiles; number += gridDim.x) {
    const TransposePlace at = transpose_place(args, number, kEdge, kEdge);
    const u64 from = at.src + static_cast<u64>(at.a + inner) * kElement;
    ptx::Unit<kElement> value[kEach];
#pragma unroll
    for (u32 k = 0; k < kEach; ++k) {
      const u32 b = at.b + outer + k * kLines;
      if (at.a + inner < args.units_a && b < args.units_b)
        value[k] = ptx::load_unit_cached_hint<kElement>(
            from + static_cast<u64>(static_cast<i64>(b) * args.src_pitch), args.src_policy);
    }
    ptx::sync_block();  // all threads have read the previous tile
#pragma unroll
    for (u32 k = 0; k < kEach; ++k)
      ptx::shared_store<kElement>(base + (outer + k * kLines) * kPitch + inner * kElement,
                                  value[k]);
    ptx::sync_block();
    const u64 to = at.dst + static_cast<u64>(at.b + inner) * kElement;
#pragma unroll
    for (u32 k = 0; k < kEach; ++k) {
      const u32 line = outer + k * kLines;
      if (at.b + inner < args.units_b && at.a + line < args.units_a)
        ptx::store_unit_hint<kElement>(
            to + static_cast<u64>(static_cast<i64>(at.a + line) * args.dst_pitch),
            ptx::shared_load<kElement>(base + inner * kPitch + line * kElement), args.dst_policy);
    }
  }
}

}  // namespace tw
