// SPDX-License-Identifier: Apache-2.0
#pragma once
// A D of 8-bit floats with one scale for each 128 elements of a line, computed from their largest
// magnitude (d_quantize).
//
// A tile has 128 elements of each of its lines. Each of two warpgroups has half of them, so they
// exchange their largest magnitudes through the unused end of a slab's line. With a gate, a tile
// has only 64 elements of a line. Then a CTA multiplies the two tiles of each 128 elements one
// after the other, and parks the first one's elements in shared memory, after a shorter pipeline.

#include "kernels/gemm/epilogue/scaled_types.cuh"
#include "kernels/gemm/wgmma/stream_meet.cuh"
#include "kernels/gemm/wgmma/stream_write.cuh"

namespace tw {

// Where a warpgroup's slabs begin.
template <class Config>
__device__ __forceinline__ u32 narrow_staging(u32 shared, u32 group) {
  return ptx::kept(shared + Config::kShared.d_offset +
                   group * (Config::kShared.slabs * Config::kShared.slab_bytes));
}

// The eight elements of a line that a thread writes of a slab. Recomputed for each slab, because
// there are no registers to keep it.
template <class Config>
struct NarrowEight {
  using Slab = StreamSlab<Config>;
  u32 row;        // first of the elements within the slab's line
  i32 inside;     // line of the slab; past the last line for threads without elements
  i32 at, count;  // position along D's lines; elements from there to the line's end

  __device__ __forceinline__ NarrowEight(const GemmEpilogueArgs& args, const FullRun& run, i32 m0) {
    const bool gated = args.gate != kGateNone;
    const u32 groups = gated ? Slab::kRows / 16 : Slab::kRows / 8;  // a power of two
    const u32 thread = ptx::thread_id_again() % 128;
    row = thread % groups * 8;
    inside = static_cast<i32>(thread / groups);
    at = (gated ? m0 / 2 : m0) + static_cast<i32>(row);
    count = run.extent - at;
  }
};

// The parked elements of the first of two tiles. A thread reads only what it has written itself.
struct NarrowParked {
  u32 address;

  template <class Config>
  static __device__ __forceinline__ NarrowParked of(u32 shared, i32 width, i32 slab, u32 group) {
    static_assert(StreamSlab<Config>::kLines * 4 * 2 * 32 ==
                  kGemmParkedBytes * StreamSlab<Config>::kLines);
    const u32 begin =
        shared + Config::kShared.d_offset - kGemmParkedBytes * static_cast<u32>(width);
    return {begin + (static_cast<u32>(slab) * 2 + group) * 2048 + ptx::thread_id_again() % 64 * 32};
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

__device__ __forceinline__ void narrow_see(const float (&v)[8], i32 count, u32& most) {
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i < count) most = max(most, gemm_finite(v[i]));
}

// The largest magnitude of a line. `most` is that of the thread's eight elements. All threads of a
// tile call it.
template <class Config>
__device__ __forceinline__ u32 narrow_largest(u32 most, bool gated, const NarrowEight<Config>& own,
                                              u32 slab, u32 group) {
  using Slab = StreamSlab<Config>;
  static_assert(Config::kConsumers == 2, "a line is in two warpgroups");
  constexpr u32 kApart = Config::kShared.slabs * Config::kShared.slab_bytes;
  most = max(most, __shfl_xor_sync(0xffffffffu, most, 1));
  most = max(most, __shfl_xor_sync(0xffffffffu, most, 2));
  if (!gated) most = max(most, __shfl_xor_sync(0xffffffffu, most, 4));
  const u32 end = slab + (static_cast<u32>(own.inside) * Slab::kPitch + Slab::kRows) * 4;
  if (own.row == 0 && own.inside < Slab::kLines) ptx::shared_store<4>(end, most);
  StreamParty<Config>::meet();
  if (own.inside >= Slab::kLines) return most;
  return max(most, ptx::shared_load<4>(group == 0 ? end + kApart : end - kApart));
}

__device__ __forceinline__ void narrow_store_scale(const GemmScales& scales, const FullTile& tile,
                                                   i32 line, i32 at, float scale) {
  const i64 to = line * scales.d.line_step + at / kScaleDepth * scales.d.block_step +
                 tile.z * scales.d.batch_step;
  reinterpret_cast<float*>(scales.d.address)[to] = scale;
}

// Writes eight elements `v` of line `line` with their scale. With a gate, the first of two tiles
// only parks its elements, and the second one writes both. `inside`: the line exists. All threads
// of a tile call it.
template <class Config>
__device__ __forceinline__ void narrow_write_blocks(const GemmNarrowArgs& all, const FullRun& run,
                                                    const FullTile& tile, u32 shared, i32 slab,
                                                    u32 group, u32 staged,
                                                    const NarrowEight<Config>& own, i32 line,
                                                    bool inside, float (&v)[8]) {
  constexpr i32 kTile = Config::kTileM / 2;  // gated elements of a line
  const u32 type = all.scales.d_type;
  const bool gated = all.stream.full.gate != kGateNone;
  const auto parked = NarrowParked::of<Config>(shared, all.stream.width, slab, group);
  if (gated && tile.m0 % (2 * Config::kTileM) == 0) {
    if (inside) parked.put(v);
    return;
  }
  u32 most = 0;
  if (inside) narrow_see(v, own.count, most);
  float first[8] = {};
  if (inside && gated) {
    parked.get(first);
    narrow_see(first, own.count + kTile, most);
  }
  most = narrow_largest<Config>(most, gated, own, staged, group);
  if (!inside) return;
  const float scale = gemm_block_scale(float_of(most), format_max(type));
  const float inverse = gemm_block_inverse(scale);
  const i64 element = line * all.stream.full.base.d_stride_m + own.at;
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] *= inverse, first[i] *= inverse;
  scaled_store(type, run.d, element, own.count, v);
  if (gated) scaled_store(type, run.d, element - kTile, own.count + kTile, first);
  if (group == 0 && own.row == 0) narrow_store_scale(all.scales, tile, line, own.at, scale);
}

}  // namespace tw
