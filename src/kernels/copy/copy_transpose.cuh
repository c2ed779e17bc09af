// SPDX-License-Identifier: Apache-2.0
#pragma once
// Transposes in registers: a thread loads a square of elements, a 16-byte vector long on either
// side, turns it round and stores it.
//
// Four-byte elements and wider change places by naming registers alone; halves and bytes take one
// and two byte permutations a word. Lanes lie side by side along both dimensions, so that every
// access of a warp covers whole sectors of both tensors.

#include "kernels/copy/transpose.h"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// Words of a cell: vector r has words [4 r, 4 r + 4).
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

  /// Vector `column` of the transposed cell.
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

template <int kElement, int kLanesA, int kWarpsA, int kCellsA, int kCellsB>
struct Transposer {
  static constexpr u32 kSide = 16 / kElement;
  static constexpr u32 kLanesB = 32 / kLanesA;
  static constexpr u32 kWarpsB = kTransposeThreads / 32 / kWarpsA;
  static constexpr u32 kStepA = kLanesA * kWarpsA;
  static constexpr u32 kStepB = kLanesB * kWarpsB;
  static constexpr u32 kTileA = kStepA * kCellsA;
  static constexpr u32 kTileB = kStepB * kCellsB;

  __device__ __forceinline__ static void tile(const CopyTransposeArgs& args, u32 number) {
    const u32 lane = threadIdx.x % 32;
    const u32 warp = threadIdx.x / 32;
    const TransposePlace at = transpose_place(args, number, kTileA, kTileB);
    const u32 a = at.a + warp % kWarpsA * kLanesA + lane % kLanesA;
    const u32 b = at.b + warp / kWarpsA * kLanesB + lane / kLanesA;
    Cell<kElement> cell[kCellsA * kCellsB];
#pragma unroll
    for (u32 i = 0; i < kCellsA * kCellsB; ++i) {
      const u32 va = a + i % kCellsA * kStepA;
      const u32 vb = b + i / kCellsA * kStepB;
      if (va >= args.vectors_a || vb >= args.vectors_b) continue;
      u64 from = at.src + va * 16ull +
                 static_cast<u64>(static_cast<i64>(vb) * static_cast<i64>(kSide) * args.src_pitch);
#pragma unroll
      for (u32 r = 0; r < kSide; ++r) {
        cell[i].set(static_cast<int>(r), ptx::load_unit_hint<16>(from, args.src_policy));
        from += static_cast<u64>(args.src_pitch);
      }
    }
#pragma unroll
    for (u32 i = 0; i < kCellsA * kCellsB; ++i) {
      const u32 va = a + i % kCellsA * kStepA;
      const u32 vb = b + i / kCellsA * kStepB;
      if (va >= args.vectors_a || vb >= args.vectors_b) continue;
      u64 to = at.dst + vb * 16ull +
               static_cast<u64>(static_cast<i64>(va) * static_cast<i64>(kSide) * args.dst_pitch);
#pragma unroll
      for (u32 c = 0; c < kSide; ++c) {
        ptx::store_unit_hint<16>(to, cell[i].column(static_cast<int>(c)), args.dst_policy);
        to += static_cast<u64>(args.dst_pitch);
      }
    }
  }
};

template <int kElement, int kLanesA, int kWarpsA, int kCellsA, int kCellsB>
__device__ __forceinline__ void copy_transpose(const CopyTransposeArgs& args) {
  for (u32 number = blockIdx.x; number < args.tiles; number += gridDim.x)
    Transposer<kElement, kLanesA, kWarpsA, kCellsA, kCellsB>::tile(args, number);
}

/// The same with the turned vectors going through shared memory, so that a warp stores longer runs.
template <int kElement, int kLanesA, int kWarpsA, int kCellsA, int kCellsB>
__device__ __forceinline__ void copy_transpose_staged(const CopyTransposeArgs& args) {
  using T = Transposer<kElement, kLanesA, kWarpsA, kCellsA, kCellsB>;
  extern __shared__ __align__(1024) unsigned char shared[];
  const u32 base = ptx::shared_address(shared);
  const u32 lane = threadIdx.x % 32;
  const u32 warp = threadIdx.x / 32;
  constexpr u32 kSide = T::kSide;
  for (u32 number = blockIdx.x; number < args.tiles; number += gridDim.x) {
    const TransposePlace at = transpose_place(args, number, T::kTileA, T::kTileB);
    const u32 a = warp % kWarpsA * kLanesA + lane % kLanesA;
    const u32 b = warp / kWarpsA * T::kLanesB + lane / kLanesA;
    Cell<kElement> cell[kCellsA * kCellsB];
#pragma unroll
    for (u32 i = 0; i < kCellsA * kCellsB; ++i) {
      const u32 va = at.a + a + i % kCellsA * T::kStepA;
      const u32 vb = at.b + b + i / kCellsA * T::kStepB;
      if (va >= args.vectors_a || vb >= args.vectors_b) continue;
      u64 from = at.src + va * 16ull +
                 static_cast<u64>(static_cast<i64>(vb) * static_cast<i64>(kSide) * args.src_pitch);
#pragma unroll
      for (u32 r = 0; r < kSide; ++r) {
        cell[i].set(static_cast<int>(r), ptx::load_unit_hint<16>(from, args.src_policy));
        from += static_cast<u64>(args.src_pitch);
      }
    }
    __syncthreads();  // of the tile before
#pragma unroll
    for (u32 i = 0; i < kCellsA * kCellsB; ++i) {
      const u32 va = a + i % kCellsA * T::kStepA;
      const u32 vb = b + i / kCellsA * T::kStepB;
#pragma unroll
      for (u32 c = 0; c < kSide; ++c)
        ptx::shared_store<16>(base + ((va * kSide + c) * T::kTileB + (vb ^ (va & 7))) * 16,
                              cell[i].column(static_cast<int>(c)));
    }
    __syncthreads();
    constexpr u32 kVectors = T::kTileA * kSide * T::kTileB;
#pragma unroll 8
    for (u32 v = threadIdx.x; v < kVectors; v += kTransposeThreads) {
      const u32 row = v / T::kTileB;
      const u32 vb = v % T::kTileB;
      if (at.a + row / kSide >= args.vectors_a || at.b + vb >= args.vectors_b) continue;
      const uint4 value =
          ptx::shared_load<16>(base + (row * T::kTileB + (vb ^ (row / kSide & 7))) * 16);
      ptx::store_unit<16>(
          at.dst + (at.b + vb) * 16ull +
              static_cast<u64>(static_cast<i64>(at.a * kSide + row) * args.dst_pitch),
          value);
    }
  }
}

}  // namespace tw
