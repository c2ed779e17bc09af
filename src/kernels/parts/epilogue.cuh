// SPDX-License-Identifier: Apache-2.0
#pragma once
// From accumulators to D: alpha, beta * C, conversion, shared memory, TMA store.
//
// A warpgroup writes its 64 rows in chunks of 128 bytes a row. Two staging chunks alternate: while
// the copy engine reads one, the other is written. Columns from args.plain_from on, which a TMA
// store cannot end at (it clips at 16 bytes), go by plain stores.

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

// alpha * d, plus beta * C where asked. NaN and infinity in C pass; with beta 0 C is not read.
template <class Out, int kCount>
__device__ __forceinline__ void epilogue_scale(float (&d)[kCount], const GemmArgs& args, i32 row0,
                                               i32 column0) {
#pragma unroll
  for (float& value : d) value *= args.alpha;
  if (args.beta == 0.0f) return;
  const auto* c = reinterpret_cast<const typename Out::Storage*>(args.c);
  const i32 columns = args.n - column0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = row0 + 8 * half;
    if (row >= args.m) break;
    const auto* line = c + row * args.c_stride_m + column0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (epilogue_half(i) == half && epilogue_column(i) < columns)
        d[i] += args.beta * Out::to_float(line[epilogue_column(i)]);
  }
}

template <class Out, int kCount>
__device__ __forceinline__ void epilogue_plain(const float (&d)[kCount], const GemmArgs& args,
                                               i32 row0, i32 column0) {
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d);
  const i32 columns = args.n - column0;
  const i32 first = args.plain_from - column0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = row0 + 8 * half;
    if (row >= args.m) break;
    auto* line = out + row * args.d_stride_m + column0;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (epilogue_half(i) == half && epilogue_column(i) < columns && epilogue_column(i) >= first)
        line[epilogue_column(i)] = Out::from_float(d[i]);
  }
}

// One chunk into shared memory, 128-byte-swizzled: chunk c of 16 bytes of row r lies at c ^ (r %
// 8).
template <class Out, int kCount>
__device__ __forceinline__ void epilogue_stage(const float (&d)[kCount], u32 staging, int chunk) {
  const u32 lane = ptx::lane_id();
  const u32 warp_row = (threadIdx.x / 32 % 4) * 16;
  if constexpr (Out::kBytes == 2) {
    const u32 row = warp_row + lane % 16;
    const u32 line = staging + row * 128;
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const int i = chunk * 32 + pair * 8;
      const u32 piece = static_cast<u32>(2 * pair) + lane / 16;
      ptx::stmatrix_x4(line + ((piece ^ (row % 8)) << 4), Out::pack(d[i], d[i + 1]),
                       Out::pack(d[i + 2], d[i + 3]), Out::pack(d[i + 4], d[i + 5]),
                       Out::pack(d[i + 6], d[i + 7]));
    }
  } else {
#pragma unroll
    for (int block = 0; block < 4; ++block) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int i = chunk * 16 + block * 4 + half * 2;
        const u32 row = warp_row + lane / 4 + static_cast<u32>(8 * half);
        const u32 piece = static_cast<u32>(2 * block) + lane % 4 / 2;
        ptx::store_shared_v2(staging + row * 128 + ((piece ^ (row % 8)) << 4) + lane % 2 * 8, d[i],
                             d[i + 1]);
      }
    }
  }
}

/// Writes the warpgroup's 64 x (2 kCount) part of D whose first element is (m0, n0). `turn` counts
/// the chunks of the whole run: a tile may have an odd number of them, so the buffer that is free
/// is not a matter of the chunk's place in its tile.
template <class Out, int kCount>
__device__ __forceinline__ void epilogue(float (&d)[kCount], const GemmArgs& args, u32 staging,
                                         u32& turn, u32 group, i32 m0, i32 n0) {
  constexpr int kChunkColumns = 128 / static_cast<int>(Out::kBytes);
  constexpr int kColumns = 2 * kCount;
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32 % 4;
  const i32 row0 = m0 + static_cast<i32>(warp * 16 + lane / 4);
  const i32 column0 = n0 + static_cast<i32>(lane % 4 * 2);
  epilogue_scale<Out>(d, args, row0, column0);
  if (n0 + kColumns > args.plain_from) epilogue_plain<Out>(d, args, row0, column0);
  if (m0 >= args.m) return;

  const u32 barrier = 1 + group;
  // One and the same thread throughout: groups of stores belong to the thread that commits them.
  const bool issuer = threadIdx.x % 128 == 0;
#pragma unroll
  for (int chunk = 0; chunk < kColumns / kChunkColumns; ++chunk) {
    const i32 column = n0 + chunk * kChunkColumns;
    if (column >= args.plain_from) break;
    const u32 buffer = staging + turn++ % kGemmChunks * kGemmChunkBytes;
    if (issuer) ptx::store_wait_read<kGemmChunks - 1>();
    ptx::named_barrier(barrier, 128);
    epilogue_stage<Out>(d, buffer, chunk);
    ptx::fence_async_shared();
    ptx::named_barrier(barrier, 128);
    if (issuer) {
      ptx::store_2d(&args.map_d, buffer, column, m0);
      ptx::store_commit();
    }
  }
}

/// Before the block ends: shared memory stays until the last stores are made.
__device__ __forceinline__ void epilogue_finish() {
  if (threadIdx.x / 32 % 4 == 0) ptx::store_wait<0>();
}

}  // namespace tw
