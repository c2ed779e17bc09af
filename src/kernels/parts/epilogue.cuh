// SPDX-License-Identifier: Apache-2.0
#pragma once
// From accumulators to D: alpha, beta * C, conversion, shared memory, TMA store.
//
// A warpgroup writes its 64 rows in slabs (gemm_slab). Staging slabs alternate where there is
// room: while the copy engine reads one, the other is written. What a TMA store cannot end at (it
// clips at 16 bytes), from args.plain_from on, goes by plain stores.
//
// "Row" and "column" are wgmma's here: a transposed row of the table stores its rows contiguously.

#include "kernels/gemm/gemm.h"
#include "kernels/parts/types.cuh"
#include "kernels/ptx/tma.cuh"

namespace tw {

// A thread's elements of D: two rows eight apart, and in each the columns 8 j and 8 j + 1 from its
// first. Distances from the first column are constants, which keeps addresses out of registers.
__device__ __forceinline__ constexpr int epilogue_half(int i) {
  return (i & 2) / 2;
}
__device__ __forceinline__ constexpr int epilogue_column(int i) {
  return i / 4 * 8 + (i & 1);
}

// alpha * d, plus beta * C where asked. NaN and infinity in C pass; with beta 0, and where D is
// added to, C is not read.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_scale(float (&d)[kCount], const GemmArgs& args, i32 row0,
                                               i32 column0, bool adds) {
  using Out = typename Config::Out;
#pragma unroll
  for (float& value : d) value *= args.alpha;
  if (args.beta == 0.0f || adds) return;
  const auto* c = reinterpret_cast<const typename Out::Storage*>(args.c);
  const i32 columns = args.n - column0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = row0 + 8 * half;
    if (row >= args.m) break;
    const i64 row_step = Config::kTransposed ? 1 : args.c_stride_m;
    const i64 column_step = Config::kTransposed ? args.c_stride_m : 1;
    const auto* line = c + row * row_step + column0 * column_step;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (epilogue_half(i) == half && epilogue_column(i) < columns)
        d[i] += args.beta * Out::to_float(line[epilogue_column(i) * column_step]);
  }
}

template <class Out>
__device__ __forceinline__ void epilogue_put(typename Out::Storage* to, float value, bool adds) {
  *to = Out::from_float(adds ? value + Out::to_float(*to) : value);
}

template <class Config, int kCount>
__device__ __forceinline__ void epilogue_plain(const float (&d)[kCount], const GemmArgs& args,
                                               i32 row0, i32 column0, bool adds) {
  using Out = typename Config::Out;
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d);
  const i32 columns = args.n - column0;
  const i32 first = Config::kTransposed ? 0 : args.plain_from - column0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = row0 + 8 * half;
    if (row >= args.m) break;
    if (Config::kTransposed && row < args.plain_from) continue;
    const i64 row_step = Config::kTransposed ? 1 : args.d_stride_m;
    const i64 column_step = Config::kTransposed ? args.d_stride_m : 1;
    auto* line = out + row * row_step + column0 * column_step;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (epilogue_half(i) == half && epilogue_column(i) < columns && epilogue_column(i) >= first)
        epilogue_put<Out>(&line[epilogue_column(i) * column_step], d[i], adds);
  }
}

// Piece c of 16 bytes of line r of a swizzled slab lies at c ^ (r % 8).
template <class Config>
__device__ __forceinline__ u32 epilogue_place(u32 staging, u32 line, u32 piece) {
  if constexpr (Config::kSlab.swizzled)
    return staging + line * 128 + ((piece ^ (line % 8)) << 4);
  else
    return staging + line * (Config::kSlab.contiguous * Config::Out::kBytes) + (piece << 4);
}

// One slab of columns into shared memory.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_stage(const float (&d)[kCount], u32 staging, int slab) {
  using Out = typename Config::Out;
  constexpr int kGroups = static_cast<int>(Config::kSlab.contiguous) / 8;  // of eight columns
  u32 lane = ptx::lane_id();
  // Offsets of floats are found again for each slab: kept, they are too many beside 192 columns.
  if constexpr (Out::kBytes == 4) asm volatile("" : "+r"(lane));
  const u32 warp_row = (threadIdx.x / 32 % 4) * 16;
#pragma unroll
  for (int group = 0; group < kGroups; group += Out::kBytes == 2 ? 2 : 1) {
    const int i = (slab * kGroups + group) * 4;
    if constexpr (Out::kBytes == 2) {
      const u32 row = warp_row + lane % 16;
      const u32 to = epilogue_place<Config>(staging, row, static_cast<u32>(group) + lane / 16);
      if (group + 1 < kGroups)
        ptx::stmatrix_x4(to, Out::pack(d[i], d[i + 1]), Out::pack(d[i + 2], d[i + 3]),
                         Out::pack(d[i + 4], d[i + 5]), Out::pack(d[i + 6], d[i + 7]));
      else
        ptx::stmatrix_x2(to, Out::pack(d[i], d[i + 1]), Out::pack(d[i + 2], d[i + 3]));
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const u32 row = warp_row + lane / 4 + static_cast<u32>(8 * half);
        const u32 piece = static_cast<u32>(2 * group) + lane % 4 / 2;
        ptx::store_shared_v2(epilogue_place<Config>(staging, row, piece) + lane % 2 * 8,
                             d[i + half * 2], d[i + half * 2 + 1]);
      }
    }
  }
}

// One slab of rows into shared memory, a line for each column.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_stage_transposed(const float (&d)[kCount], u32 staging,
                                                          int slab) {
  using Out = typename Config::Out;
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32 % 4;
  if constexpr (Out::kBytes == 2) {
    // Lanes 0 to 15 address the eight columns of one group, lanes 16 to 31 those of the next.
#pragma unroll
    for (int group = 0; group < kCount / 4; group += 2) {
      const int i = group * 4;
      const u32 line = static_cast<u32>(group) * 8 + lane / 16 * 8 + lane % 8;
      const u32 to = epilogue_place<Config>(staging, line, warp * 2 + lane / 8 % 2);
      if (group + 1 < kCount / 4)
        ptx::stmatrix_x4_trans(to, Out::pack(d[i], d[i + 1]), Out::pack(d[i + 2], d[i + 3]),
                               Out::pack(d[i + 4], d[i + 5]), Out::pack(d[i + 6], d[i + 7]));
      else
        ptx::stmatrix_x2_trans(to, Out::pack(d[i], d[i + 1]), Out::pack(d[i + 2], d[i + 3]));
    }
  } else if (static_cast<int>(warp / 2) == slab) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const u32 row = warp % 2 * 16 + lane / 4 + static_cast<u32>(8 * epilogue_half(i));
      const u32 line = lane % 4 * 2 + static_cast<u32>(epilogue_column(i));
      ptx::store_shared(epilogue_place<Config>(staging, line, row / 4) + row % 4 * 4, d[i]);
    }
  }
}

/// Writes the warpgroup's 64 x (2 kCount) part of D whose first element is (m0, n0). `turn` counts
/// the slabs of the whole run: a tile may have an odd number of them, so the buffer that is free is
/// not a matter of the slab's place in its tile. `again`: this thread has written here before, and
/// what it has now is added.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue(float (&d)[kCount], const GemmArgs& args, u32 staging,
                                         u32& turn, u32 group, i32 m0, i32 n0, bool again) {
  constexpr bool kTransposed = Config::kTransposed;
  constexpr i32 kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  constexpr i32 kExtent = kTransposed ? 64 : 2 * kCount;  // along D's contiguous dimension
  static_assert(kExtent % kContiguous == 0, "whole slabs");
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32 % 4;
  const i32 row0 = m0 + static_cast<i32>(warp * 16 + lane / 4);
  const i32 column0 = n0 + static_cast<i32>(lane % 4 * 2);
  const i32 start = kTransposed ? m0 : n0;
  const bool adds = args.adds != 0 || again;
  epilogue_scale<Config>(d, args, row0, column0, adds);
  if (start + kExtent > args.plain_from) epilogue_plain<Config>(d, args, row0, column0, adds);
  if (m0 >= args.m || n0 >= args.n) return;

  const u32 barrier = 1 + group;
  // One and the same thread throughout: groups of stores belong to the thread that commits them.
  const bool issuer = threadIdx.x % 128 == 0;
  if (again && issuer) ptx::store_wait<0>();  // what is added to lies in memory
#pragma unroll
  for (int slab = 0; slab < kExtent / kContiguous; ++slab) {
    const i32 at = start + slab * kContiguous;
    if (at >= args.plain_from) break;
    const u32 buffer = staging + turn++ % Config::kShared.slabs * Config::kShared.slab_bytes;
    if (issuer) ptx::store_wait_read<static_cast<int>(Config::kShared.slabs) - 1>();
    ptx::named_barrier(barrier, 128);
    if constexpr (kTransposed)
      epilogue_stage_transposed<Config>(d, buffer, slab);
    else
      epilogue_stage<Config>(d, buffer, slab);
    ptx::fence_async_shared();
    ptx::named_barrier(barrier, 128);
    if (issuer) {
      const i32 line = kTransposed ? n0 : m0;
      if (adds)
        ptx::store_add_2d(&args.map_d, buffer, at, line);
      else
        ptx::store_2d(&args.map_d, buffer, at, line);
      ptx::store_commit();
    }
  }
}

/// Before the block ends: shared memory stays until the last stores are made, each by its thread.
__device__ __forceinline__ void epilogue_finish() {
  ptx::store_wait<0>();
}

}  // namespace tw
