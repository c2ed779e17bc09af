// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogue of the basic kernels: alpha, beta * C, conversion, shared memory, TMA store to D.
//
// A warpgroup writes its 64 rows in slabs (gemm_slab). Two or more staging slabs alternate if
// shared memory suffices, so that the TMA reads one while the next is written. TMA stores can only
// end at a multiple of 16 bytes, so plain stores write D from args.plain_from on (all of it if that
// is 0). Rows and columns are those of wgmma: with swap-AB, rows are contiguous in D.

#include "kernels/gemm/epilogue/epilogue_lines.cuh"
#include "kernels/ptx/basic.cuh"

namespace tw {

// d = alpha * d + beta * C. C is not read if beta is 0, nor if `adds`. In that case C is D, beta is
// 1, and the store adds to D.
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
    const i64 row_step = Config::kSwapAB ? 1 : args.c_stride_m;
    const i64 column_step = Config::kSwapAB ? args.c_stride_m : 1;
    const auto* line = c + row * row_step + column0 * column_step;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // A branch every 32 elements bounds how many loads of C the compiler keeps in flight. With
      // more, accumulators would spill.
      if (Config::kSwapAB && kCount > 96 && i % 32 == 0 && epilogue_column(i) >= columns) break;
      if (epilogue_half(i) == half && epilogue_column(i) < columns)
        d[i] += args.beta * Out::to_float(line[epilogue_column(i) * column_step]);
    }
  }
}

// Writes an element of D, or adds it to D.
template <class Out>
__device__ __forceinline__ void epilogue_put(typename Out::Storage* to, float value, bool adds) {
  *to = Out::from_float(adds ? value + Out::to_float(*to) : value);
}

// Writes the columns of D from args.plain_from on (with swap-AB: the rows) by plain stores.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue_plain(const float (&d)[kCount], const GemmArgs& args,
                                               i32 row0, i32 column0, bool adds) {
  using Out = typename Config::Out;
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d);
  const i32 columns = args.n - column0;
  const i32 first = Config::kSwapAB ? 0 : args.plain_from - column0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const i32 row = row0 + 8 * half;
    if (row >= args.m) break;
    if (Config::kSwapAB && row < args.plain_from) continue;
    const i64 row_step = Config::kSwapAB ? 1 : args.d_stride_m;
    const i64 column_step = Config::kSwapAB ? args.d_stride_m : 1;
    auto* line = out + row * row_step + column0 * column_step;
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      if (epilogue_half(i) == half && epilogue_column(i) < columns && epilogue_column(i) >= first)
        epilogue_put<Out>(&line[epilogue_column(i) * column_step], d[i], adds);
  }
}

/// Writes the warpgroup's 64 x (2 kCount) part of D whose first element is (m0, n0).
/// `slabs_written` counts the warpgroup's slabs from the start of the kernel, since a tile may have
/// an odd number of them. `again`: this thread has already written an accumulation chain of the
/// tile to D, and d is added to D.
template <class Config, int kCount>
__device__ __forceinline__ void epilogue(float (&d)[kCount], const GemmArgs& args, u32 staging,
                                         u32& slabs_written, u32 group, i32 m0, i32 n0,
                                         bool again) {
  constexpr bool kSwapAB = Config::kSwapAB;
  constexpr i32 kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  constexpr i32 kExtent = kSwapAB ? 64 : 2 * kCount;  // along D's contiguous dimension
  static_assert(kExtent % kContiguous == 0, "a tile must have whole slabs");
  constexpr i32 kSlabsAlongLine = kExtent / kContiguous;
  constexpr i32 kLines = static_cast<i32>(Config::kSlab.lines);
  constexpr i32 kLineGroups = kSwapAB ? 2 * kCount / kLines : 1;
  const u32 lane = ptx::lane_id();
  const u32 warp = threadIdx.x / 32 % 4;
  const i32 row0 = m0 + static_cast<i32>(warp * 16 + lane / 4);
  const i32 column0 = n0 + static_cast<i32>(lane % 4 * 2);
  const i32 start = kSwapAB ? m0 : n0;
  const bool adds = args.adds_to_d != 0 || again;
  epilogue_scale<Config>(d, args, row0, column0, adds);
  if (m0 >= args.m || n0 >= args.n) return;
  if (args.plain_from == 0) return epilogue_lines<Config>(d, args, staging, group, m0, n0, adds);
  if (start + kExtent > args.plain_from) epilogue_plain<Config>(d, args, row0, column0, adds);

  const u32 barrier = 1 + group;
  // The same thread throughout: the thread that commits a group of bulk stores must wait for it.
  const bool issuer = threadIdx.x % 128 == 0;
  if (again && issuer) ptx::store_wait<0>();  // the earlier chains must be in memory
#pragma unroll
  for (int slab = 0; slab < kSlabsAlongLine * kLineGroups; ++slab) {
    const i32 at = start + slab % kSlabsAlongLine * kContiguous;
    if (at >= args.plain_from) continue;
    const u32 buffer =
        staging + slabs_written++ % Config::kShared.slabs * Config::kShared.slab_bytes;
    if (issuer) ptx::store_wait_read<static_cast<int>(Config::kShared.slabs) - 1>();
    ptx::named_barrier(barrier, 128);
    if constexpr (kSwapAB)
      epilogue_stage_transposed<Config>(d, buffer, slab % kSlabsAlongLine, slab / kSlabsAlongLine);
    else
      epilogue_stage<Config>(d, buffer, slab);
    ptx::fence_async_shared();
    ptx::named_barrier(barrier, 128);
    if (issuer) {
      const i32 line = kSwapAB ? n0 + slab / kSlabsAlongLine * kLines : m0;
      if (adds)
        ptx::reduce_tile<ptx::ReduceOp::add>(&args.map_d, buffer, at, line);
      else
        ptx::store_tile(&args.map_d, buffer, at, line);
      ptx::store_commit();
    }
  }
}

/// Before the CTA exits: each thread waits until the TMA has read its slabs.
__device__ __forceinline__ void epilogue_finish() {
  ptx::store_wait_read<0>();
}

}  // namespace tw
