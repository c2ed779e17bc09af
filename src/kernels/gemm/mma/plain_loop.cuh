// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the basic and the epilogue mma.sync kernels ("plain" in names) have in common: the tile's
// constants, the products of one k block, and how accumulators are stored to shared memory.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/ptx/types.cuh"

namespace tw {

inline constexpr i32 kPlainTile = 64;
inline constexpr i32 kPlainK = 32;
inline constexpr i32 kPlainPitch = kPlainK + 8;  // elements, padded against bank conflicts
inline constexpr u32 kPlainThreads = 128;
// k of an accumulation chain. mma.sync truncates its accumulators, so that a long chain drifts by
// more than the rounding of the inputs. Kernels add each chain to a second accumulator, rounded to
// nearest, and start the next chain at zero.
inline constexpr i32 kPlainChain = 1024;

// Adds the products of one k block to d.
template <class In>
__device__ __forceinline__ void plain_multiply(float (&d)[2][4][4], const typename In::Storage* a,
                                               const typename In::Storage* b) {
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32;
  const u32 row = warp / 2 * 32 + lane / 4;
  const u32 column = warp % 2 * 32 + lane / 4;
#pragma unroll
  for (u32 k = 0; k < kPlainK; k += 16) {
    const u32 at = k + lane % 4 * 2;
    u32 fa[2][4];
    u32 fb[4][2];
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
#pragma unroll
      for (u32 part = 0; part < 4; ++part)
        fa[i][part] = *reinterpret_cast<const u32*>(
            a + (row + i * 16 + part % 2 * 8) * kPlainPitch + at + part / 2 * 8);
#pragma unroll
    for (u32 j = 0; j < 4; ++j)
#pragma unroll
      for (u32 part = 0; part < 2; ++part)
        fb[j][part] =
            *reinterpret_cast<const u32*>(b + (column + j * 8) * kPlainPitch + at + part * 8);
#pragma unroll
    for (u32 i = 0; i < 2; ++i)
#pragma unroll
      for (u32 j = 0; j < 4; ++j) In::mma(d[i][j], fa[i], fb[j]);
  }
}

// Ends a chain: adds it to d and clears it.
__device__ __forceinline__ void plain_add(float (&d)[2][4][4], float (&chain)[2][4][4]) {
#pragma unroll
  for (i32 i = 0; i < 2; ++i)
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
#pragma unroll
      for (i32 e = 0; e < 4; ++e) {
        d[i][j][e] += chain[i][j][e];
        chain[i][j][e] = 0.0f;
      }
}

inline constexpr i32 kFullPlainPitch = kPlainTile + 8;  // floats: rows start eight banks apart

__device__ __forceinline__ void full_plain_stage(const float (&d)[2][4][4], float* sums) {
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32;
  const u32 row = warp / 2 * 32 + lane / 4;
  const u32 column = warp % 2 * 32 + lane % 4 * 2;
#pragma unroll
  for (u32 i = 0; i < 2; ++i)
#pragma unroll
    for (u32 j = 0; j < 4; ++j)
#pragma unroll
      for (u32 half = 0; half < 2; ++half)
        *reinterpret_cast<float2*>(sums + (row + i * 16 + half * 8) * kFullPlainPitch + column +
                                   j * 8) = make_float2(d[i][j][2 * half], d[i][j][2 * half + 1]);
}

}  // namespace tw
