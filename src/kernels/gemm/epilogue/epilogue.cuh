// SPDX-License-Identifier: Apache-2.0
#pragma once
// From accumulators to D: alpha, beta * C, conversion, shared memory, TMA store.
//
// A warpgroup writes its 64 rows in slabs (gemm_slab). Staging slabs alternate where there is
// room: while the copy engine reads one, the other is written. What a TMA store cannot end at (it
// clips at 16 bytes), from args.plain_from on, goes by plain stores, and all of D where that is 0.
//
// "Row" and "column" are wgmma's here: a transposed row of the table stores its rows contiguously.

#include "kernels/gemm/epilogue/epilogue_lines.cuh"
#include "kernels/ptx/basic.cuh"

namespace tw {

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
    for (int i = 0; i < kCount; ++i) {
      // In steps, or so many of C are on their way at once that sums leave the registers.
      if (Config::kTransposed && kCount > 96 && i % 32 == 0 && epilogue_column(i) >= columns) break;
      if (epilogue_half(i) == half && epilogue_column(i) < columns)
        d[i] += args.beta * Out::to_float(line[epilogue_column(i) * column_step]);
    }
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
  constexpr i32 kAcross = kExtent / kContiguous;
  constexpr i32 kLines = static_cast<i32>(Config::kSlab.lines);
  constexpr i32 kParts = kTransposed ? 2 * kCount / kLines : 1;
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32 % 4;
  const i32 row0 = m0 + static_cast<i32>(warp * 16 + lane / 4);
  const i32 column0 = n0 + static_cast<i32>(lane % 4 * 2);
  const i32 start = kTransposed ? m0 : n0;
  const bool adds = args.adds != 0 || again;
  epilogue_scale<Config>(d, args, row0, column0, adds);
  if (m0 >= args.m || n0 >= args.n) return;
  if (args.plain_from == 0) return epilogue_lines<Config>(d, args, staging, group, m0, n0, adds);
  if (start + kExtent > args.plain_from) epilogue_plain<Config>(d, args, row0, column0, adds);

  const u32 barrier = 1 + group;
  // One and the same thread throughout: groups of stores belong to the thread that commits them.
  const bool issuer = threadIdx.x % 128 == 0;
  if (again && issuer) ptx::store_wait<0>();  // what is added to lies in memory
#pragma unroll
  for (int slab = 0; slab < kAcross * kParts; ++slab) {
    const i32 at = start + slab % kAcross * kContiguous;
    if (at >= args.plain_from) continue;
    const u32 buffer = staging + turn++ % Config::kShared.slabs * Config::kShared.slab_bytes;
    if (issuer) ptx::store_wait_read<static_cast<int>(Config::kShared.slabs) - 1>();
    ptx::named_barrier(barrier, 128);
    if constexpr (kTransposed)
      epilogue_stage_transposed<Config>(d, buffer, slab % kAcross, slab / kAcross);
    else
      epilogue_stage<Config>(d, buffer, slab);
    ptx::fence_async_shared();
    ptx::named_barrier(barrier, 128);
    if (issuer) {
      const i32 line = kTransposed ? n0 + slab / kAcross * kLines : m0;
      if (adds)
        ptx::reduce_tile<ptx::ReduceOp::add>(&args.map_d, buffer, at, line);
      else
        ptx::store_tile(&args.map_d, buffer, at, line);
      ptx::store_commit();
    }
  }
}

/// Before the block ends: shared memory stays until the last stores are made, each by its thread.
__device__ __forceinline__ void epilogue_finish() {
  ptx::store_wait_read<0>();
}

}  // namespace tw
