// SPDX-License-Identifier: Apache-2.0
#pragma once
// Quantizes D to 8-bit floats: each block of 128 elements along a line of D gets a scale, which the
// kernel derives from the block's largest element.
//
// A tile holds 128 elements of each of its lines of D, which is one scale block. Each of the two
// consumer warpgroups has half of it, and they exchange their maxima through the unused end of a
// line of the staging slab. With a gate a tile yields only 64 elements of a line. The CTA then
// multiplies the two tiles of a scale block one after the other, and holds the elements of the
// first one in shared memory behind a shorter pipeline.
// "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/arguments/gemm_narrow.h"
#include "kernels/gemm/epilogue/scaled_types.cuh"
#include "kernels/gemm/wgmma/stream_meet.cuh"
#include "kernels/gemm/wgmma/stream_write.cuh"

namespace tw {

template <class Config>
__device__ __forceinline__ u32 narrow_staging(u32 shared, u32 group) {
  return ptx::opaque(shared + Config::kShared.d_offset +
                     group * (Config::kShared.slabs * Config::kShared.slab_bytes));
}

// The eight elements of a line of D that a thread writes from a slab. They are recomputed for each
// slab, because no registers are left to keep them in.
template <class Config>
struct NarrowElements {
  using Slab = StreamSumSlab<Config>;
  u32 place;      // first element within the slab's line, in elements of D
  i32 slab_line;  // line of the slab; Slab::kLines or more for threads that have none
  i32 at, count;  // first element within D's line, and the elements from there to its end

  __device__ __forceinline__ NarrowElements(const GemmEpilogueArgs& args, const FullRun& run,
                                            i32 m0) {
    const bool gated = args.gate != kGateNone;
    // a power of two
    const u32 groups = gated ? Slab::kLineAccumulators / 16 : Slab::kLineAccumulators / 8;
    const u32 thread = ptx::reread_thread_id() % 128;
    place = thread % groups * 8;
    slab_line = static_cast<i32>(thread / groups);
    at = (gated ? m0 / 2 : m0) + static_cast<i32>(place);
    count = run.extent - at;
  }
};

// Eight elements of the first of two gated tiles, which are held until the second one is written.
// Each thread reads only what it wrote, so that no barrier is needed.
struct NarrowHeld {
  u32 address;

  template <class Config>
  static __device__ __forceinline__ NarrowHeld at(u32 shared, i32 width, i32 slab, u32 group) {
    static_assert(StreamSumSlab<Config>::kLines * 4 * 2 * 32 ==
                  kGemmHeldColumnBytes * StreamSumSlab<Config>::kLines);
    const u32 begin =
        shared + Config::kShared.d_offset - kGemmHeldColumnBytes * static_cast<u32>(width);
    return {begin + (static_cast<u32>(slab) * 2 + group) * 2048 +
            ptx::reread_thread_id() % 64 * 32};
  }
  __device__ __forceinline__ void put(const float (&v)[8]) const {
    ptx::store_shared_v4(address, {v[0], v[1], v[2], v[3]});
    ptx::store_shared_v4(address + 16, {v[4], v[5], v[6], v[7]});
  }
  __device__ __forceinline__ void get(float (&v)[8]) const {
    float low[4], high[4];
    ptx::load_shared_v4(address, low);
    ptx::load_shared_v4(address + 16, high);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = low[i], v[i + 4] = high[i];
  }
};

// Updates `largest` with the largest finite magnitude (bits of a float) of the first `count`
// elements.
__device__ __forceinline__ void narrow_raise_largest(const float (&v)[8], i32 count, u32& largest) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < count) largest = max(largest, gemm_finite(v[i]));
}

// Returns the largest magnitude in the scale block of the thread's line. `largest` is the largest
// magnitude among the elements of the block that the thread itself has. The threads that have the
// others pass theirs, so all consumer threads of the CTA must call it.
template <class Config>
__device__ __forceinline__ u32 narrow_largest(u32 largest, bool gated,
                                              const NarrowElements<Config>& own, u32 slab,
                                              u32 group) {
  using Slab = StreamSumSlab<Config>;
  static_assert(Config::kConsumers == 2, "a line is in two warpgroups");
  constexpr u32 kGroupDistance = Config::kShared.slabs * Config::kShared.slab_bytes;
  largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 1));
  largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 2));
  if (!gated) largest = max(largest, __shfl_xor_sync(0xffffffffu, largest, 4));
  const u32 end =
      slab + (static_cast<u32>(own.slab_line) * Slab::kPitch + Slab::kLineAccumulators) * 4;
  if (own.place == 0 && own.slab_line < Slab::kLines) ptx::shared_store<4>(end, largest);
  StreamConsumers<Config>::sync();
  if (own.slab_line >= Slab::kLines) return largest;
  return max(largest,
             ptx::shared_load<4>(group == 0 ? end + kGroupDistance : end - kGroupDistance));
}

__device__ __forceinline__ void narrow_store_scale(const GemmScales& scales,
                                                   const GemmTileOrigin& tile, i32 line, i32 at,
                                                   float scale) {
  const i64 to = line * scales.d.line_step + at / kScaleDepth * scales.d.block_step +
                 tile.z * scales.d.batch_step;
  reinterpret_cast<float*>(scales.d.address)[to] = scale;
}

// Quantizes and writes eight elements `v` of line `line`. With a gate, those of the first tile are
// held and written with the second. All consumer threads must call it, even those whose elements
// lie outside of D (not `inside`).
template <class Config>
__device__ __forceinline__ void narrow_write_blocks(const GemmNarrowArgs& narrow_args,
                                                    const FullRun& run, const GemmTileOrigin& tile,
                                                    u32 shared, i32 slab, u32 group, u32 staged,
                                                    const NarrowElements<Config>& own, i32 line,
                                                    bool inside, float (&v)[8]) {
  constexpr i32 kGatedTileElements = Config::kTileM / 2;  // gated elements of a line in one tile
  const u32 type = narrow_args.scales.d_type;
  const bool gated = narrow_args.stream.full.gate != kGateNone;
  const auto held = NarrowHeld::at<Config>(shared, narrow_args.stream.width, slab, group);
  if (gated && tile.m0 % (2 * Config::kTileM) == 0) {
    if (inside) held.put(v);
    return;
  }
  u32 largest = 0;
  if (inside) narrow_raise_largest(v, own.count, largest);
  float first[8] = {};
  if (inside && gated) {
    held.get(first);
    narrow_raise_largest(first, own.count + kGatedTileElements, largest);
  }
  largest = narrow_largest<Config>(largest, gated, own, staged, group);
  if (!inside) return;
  const float scale = gemm_block_scale(float_of(largest), format_max(type));
  const float inverse = gemm_block_inverse(scale);
  const i64 element = line * narrow_args.stream.full.base.d_stride_m + own.at;
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] *= inverse, first[i] *= inverse;
  scaled_store(type, run.d, element, own.count, v);
  if (gated)
    scaled_store(type, run.d, element - kGatedTileElements, own.count + kGatedTileElements, first);
  if (group == 0 && own.place == 0)
    narrow_store_scale(narrow_args.scales, tile, line, own.at, scale);
}

}  // namespace tw
