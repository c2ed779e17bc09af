// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogue of the stream-K kernels for narrow types. The run's arguments select the type of D.
// narrow_write() chooses between a short path, which finishes accumulators in registers, and the
// general path, which stages them in shared memory and applies every kind of epilogue. Without
// swap-AB, rows of a tile are lines of D, and each warp has 16 whole lines of it.
// "full" in names means an epilogue kernel.

#include "kernels/gemm/epilogue/full_store.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_blocks.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_scales.cuh"

namespace tw {

template <class Config, class OutType>
struct NarrowOut : Config {
  using Out = OutType;
  static constexpr GemmTile kTile = {Config::kTile.m,        Config::kTile.n,
                                     Config::kTile.k,        Config::kTile.variant,
                                     Config::kTile.in_bytes, OutType::kBytes};
  static constexpr GemmSlab kSlab = gemm_slab(kTile);
};

// Calls use() with the finished accumulators as floats. Integers are rounded to f32; for an i32 D
// the floats carry their bits.
template <class Config, class Use>
__device__ __forceinline__ void narrow_with_floats(typename Config::Sum (&d)[Config::kAccumulators],
                                                   u32 type, Use use) {
  if constexpr (Config::kIntegerSums) {
    const bool keeps_bits = type == kGemmI32;
    float sums[Config::kAccumulators];
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i)
      sums[i] = keeps_bits ? __int_as_float(d[i]) : static_cast<float>(d[i]);
    use(sums);
  } else {
    use(d);
  }
}

// Multiplies finished accumulators by the scales that narrow_start_scale_copies() copied, after the
// caller waited for its copies. d begins at column `first` of the tile, a multiple of 16. All
// threads of the warpgroup must call it.
template <class Config>
__device__ __forceinline__ void narrow_apply_scales(float (&d)[Config::kAccumulators],
                                                    const GemmNarrowArgs& all,
                                                    const GemmPipeline<Config>& pipeline, u32 group,
                                                    i32 first) {
  if (!narrow_scales_once(all.scales)) return;
  stream_sync_group(group);
  const u32 scales = narrow_tile_scales<Config>(pipeline, group);
  const NarrowScaleAddresses addresses(scales, scales + 256 + static_cast<u32>(first) * 4);
  float row[2];
  addresses.load_rows(row);
#pragma unroll
  for (int group16 = 0; group16 < Config::kAccumulators / 8; ++group16) {
    if (group16 * 16 >= all.stream.width - first) break;
    float column[4];
    addresses.load_columns(group16, column);
#pragma unroll
    for (int i = 0; i < 8; ++i) d[group16 * 8 + i] *= row[i / 2 % 2] * column[i / 4 * 2 + i % 2];
  }
}

// Whether the short path applies: D is wider than 8 bits, its address, stride and line length are
// multiples of 16 bytes, and the epilogue is at most alpha, a bias per element of a line, and relu.
__device__ __forceinline__ bool narrow_is_short(const GemmEpilogueArgs& args, const FullRun& run,
                                                u32 type) {
  const auto bytes = static_cast<u64>(scaled_bytes(type));
  const u64 places =
      run.d | static_cast<u64>(args.base.d_stride_m) * bytes | static_cast<u64>(run.extent) * bytes;
  return bytes > 1 && places % 16 == 0 && args.scale_by == kFullNone && args.amax == 0 &&
         args.bias_by != kFullPerLine && run.beta == 0.0f && args.gate == kGateNone &&
         args.activation <= kActRelu;
}

// The element of the bias for element `at` of a line of D.
template <class Config>
__device__ __forceinline__ float narrow_bias(const GemmEpilogueArgs& args, const FullRun& run,
                                             i32 at) {
  if (at >= run.extent) return -0.0f;
  return full_element<typename Config::In>(args.bias, args.bias_type, at);
}

// The short epilogue, in registers. With swap-AB a thread's accumulators belong to two elements of
// D's lines, else to two neighboring ones in each group of eight. Options that a run does not have
// are skipped as a whole: a tile executes these instructions once, so that most of their time is
// the time to fetch them.
template <class Config>
__device__ __forceinline__ void narrow_make_short(float (&d)[Config::kAccumulators],
                                                  const GemmEpilogueArgs& args, const FullRun& run,
                                                  i32 m0, i32 n0) {
  const auto lane = static_cast<i32>(ptx::lane_id());
  const i32 first = Config::kSwapAB ? m0 + static_cast<i32>(threadIdx.x / 32 % 4 * 16) + lane / 4
                                    : n0 + lane % 4 * 2;
  if (args.bias_by == kFullPerElement) {
    float bias[2];
    if constexpr (Config::kSwapAB) {
      bias[0] = narrow_bias<Config>(args, run, first);
      bias[1] = narrow_bias<Config>(args, run, first + 8);
    }
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i) {
      if (!Config::kSwapAB && i % 4 < 2)
        bias[i % 2] = narrow_bias<Config>(args, run, first + i / 4 * 8 + i % 2);
      d[i] = act::fused(run.alpha, d[i], bias[Config::kSwapAB ? i % 4 / 2 : i % 2]);
    }
  } else if (run.alpha != 1.0f) {
#pragma unroll
    for (float& value : d) value *= run.alpha;
  }
  if (args.activation != kActRelu) return;
#pragma unroll
  for (float& value : d) value = activate(kActRelu, value);
}

// Stores the warp's 16 lines of a 16-bit D by TMA, in pieces of 64 columns, by way of the warp's
// own part of the staging memory. The TMA reads it while the next tile is multiplied. m0 is the
// warpgroup's first line.
template <class Config>
__device__ __forceinline__ void narrow_store_rows(const float (&d)[Config::kAccumulators],
                                                  const GemmEpilogueArgs& args,
                                                  const GemmTileOrigin& tile, i32 extent,
                                                  u32 staging, u32 group, i32 m0) {
  constexpr auto kColumns = static_cast<i32>(Config::kSlab.contiguous);
  constexpr u32 kPieceBytes = 64 * 128;
  static_assert(Config::kTileN / kColumns * kPieceBytes <= 2 * Config::kShared.slab_bytes);
#pragma unroll
  for (i32 piece = 0; piece < Config::kTileN / kColumns; ++piece)
    epilogue_stage<Config>(d, staging + static_cast<u32>(piece) * kPieceBytes, piece);
  ptx::fence_async_shared();
  ptx::sync_warp();
  const u32 first = threadIdx.x / 32 % 4 * kGemmStoreLines;
  if (ptx::lane_id() == 0) {
#pragma unroll
    for (i32 piece = 0; piece < Config::kTileN / kColumns; ++piece)
      if (tile.n0 + piece * kColumns < extent)
        ptx::store_tile(&args.base.map_d,
                        staging + static_cast<u32>(piece) * kPieceBytes + first * 128,
                        tile.n0 + piece * kColumns, m0 + static_cast<i32>(first), tile.z);
    ptx::store_commit();
  }
  stream_sync_group(group);  // the next tile overwrites the scales
}

// Whether the TMA may store the tile: D's map has the sizes of the arguments, which may exceed
// those in device memory.
template <class Config>
__device__ __forceinline__ bool narrow_stores_rows(const GemmNarrowArgs& all, const FullRun& run,
                                                   i32 m0, i32 n0) {
  const GemmEpilogueArgs& args = all.stream.full;
  return !Config::kSwapAB && (args.flags & kFullTmaStores) != 0 &&
         (args.device_m == 0 || (m0 + 64 <= run.lines && n0 + all.stream.width <= run.extent));
}

// Converts a warp's 16 lines of the tile and stores them to D in pieces of 16 bytes, by way of its
// own part of the warpgroup's staging memory. m0 is the warpgroup's first line.
template <class Config>
__device__ __forceinline__ void narrow_write_rows(const float (&d)[Config::kAccumulators],
                                                  const GemmEpilogueArgs& args, const FullRun& run,
                                                  u32 staging, u32 group, i32 m0, i32 n0) {
  using Out = typename Config::Out;
  constexpr auto kColumns = static_cast<i32>(Config::kSlab.contiguous);
  static_assert(Config::kSlab.swizzled && Config::kTileN % kColumns == 0);
  static_assert(64 * 128 <= 2 * Config::kShared.slab_bytes, "a piece of all 64 lines is staged");
  const u32 lane = ptx::lane_id(), line0 = threadIdx.x / 32 % 4 * 16 + lane / 8;
  const auto x = static_cast<i32>(lane % 8 * (16 / Out::kBytes));
#pragma unroll
  for (i32 piece = 0; piece < Config::kTileN / kColumns; ++piece) {
    const i32 at = n0 + piece * kColumns + x;
    ptx::sync_warp();  // all lanes have read the previous piece
    epilogue_stage<Config>(d, staging, piece);
    ptx::sync_warp();
    if (at >= run.extent) continue;
#pragma unroll
    for (u32 line = line0; line < line0 + 16; line += 4) {
      if (m0 + static_cast<i32>(line) >= run.lines) break;
      const i64 element = (m0 + static_cast<i32>(line)) * args.base.d_stride_m + at;
      ptx::store_unit<16>(run.d + static_cast<u64>(element) * Out::kBytes,
                          ptx::shared_load<16>(epilogue_place<Config>(staging, line, lane % 8)));
    }
  }
  // The next tile overwrites the scales and the staging memory, which other warps may still read.
  stream_sync_group(group);
}

// Computes eight neighboring elements of a line of D with the general path, and updates `largest`
// for amax. For an i32 D it only copies the bits of the accumulators.
template <class Config>
__device__ __forceinline__ void narrow_make_eight(const GemmNarrowArgs& all, const FullRun& run,
                                                  const StreamSumSlab<Config>& staged, i32 line,
                                                  const NarrowEight<Config>& own, u32& largest,
                                                  float (&made)[8]) {
  using In = typename Config::In;
  const GemmEpilogueArgs& args = all.stream.full;
  const u32 type = all.scales.d_type;
  const auto slab_line = static_cast<u32>(own.slab_line);
  if (Config::kIntegerSums && type == kGemmI32) return staged.get(slab_line, own.row, made);
  FullVectors vectors;
  full_along<In>(args, run, own.at, own.count, vectors);
  full_spread(args, full_across<In>(args, line), vectors);
  u32 unscaled = 0;
  full_make<In, F32, true>(
      args, run, vectors, line, own.at, own.count, unscaled,
      [&](bool second, float(&v)[8]) { staged.take(args.gate, slab_line, own.row, second, v); },
      [&](FullPlace place, float(&c)[8]) {
        scaled_load(type, run.c, place.line * args.base.c_stride_m + place.at, place.step,
                    own.count, c);
      },
      [&](float(&v)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          if (args.amax && !is_scaled_f8(type) && i < own.count)
            largest = max(largest, act::bits(v[i]) & 0x7fffffffu);
          made[i] = v[i];
        }
      });
  if (is_scaled_f8(type)) largest = max(largest, unscaled);
}

template <class Config>
__device__ __forceinline__ void narrow_store(u32 type, u64 d, i64 element, i32 count,
                                             const float (&v)[8]) {
  if (Config::kIntegerSums && type == kGemmI32)
    return full_store<F32>(d + static_cast<u64>(element * 4), count, v);
  scaled_store(type, d, element, count, v);
}

// Stages the accumulators in shared memory slab by slab and writes the tile's lines of D from it.
template <class Config>
__device__ __forceinline__ void narrow_write_general(const float (&d)[Config::kAccumulators],
                                                     const GemmNarrowArgs& all, const FullRun& run,
                                                     const GemmTileOrigin& tile, u32 shared,
                                                     u32 group, u32& largest) {
  using Slab = StreamSumSlab<Config>;
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  const i32 end = Config::kSwapAB ? min(tile.n0 + all.stream.width, run.lines) : run.lines;
  const u32 staging = narrow_staging<Config>(shared, group);
  const bool in_blocks = Config::kSwapAB && all.scales.d.address != 0;
  // A slab is in memory from which the TMA may have stored other warps' lines of the previous tile.
  if constexpr (!Config::kSwapAB) stream_sync_group(group);
#pragma unroll 1
  for (i32 slab = 0;; ++slab) {
    // With swap-AB a slab has the warpgroup's rows of 16 columns, else 64 columns of 16 rows.
    const i32 at = Config::kSwapAB ? m0 : tile.n0 + slab / 4 * Slab::kRows;
    const i32 first_line = Config::kSwapAB ? tile.n0 + slab * Slab::kLines : m0 + slab % 4 * 16;
    if (Config::kSwapAB ? first_line >= end : at >= run.extent) break;
    const Slab staged{staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes};
    staged.put(d, slab);
    // Every thread that arrives here has read the previous slab. The next one may overwrite it.
    stream_sync_group(group);
    const NarrowEight<Config> own(all.stream.full, run, at);
    const i32 line = first_line + own.slab_line;
    const bool inside = own.slab_line < Slab::kLines && line < end;
    float v[8] = {};
    if (inside && own.count > 0) narrow_make_eight<Config>(all, run, staged, line, own, largest, v);
    if (in_blocks)
      narrow_write_blocks<Config>(all, run, tile, shared, slab, group, staged.base, own, line,
                                  inside, v);
    else if (inside && own.count > 0)
      narrow_store<Config>(all.scales.d_type, run.d,
                           line * all.stream.full.base.d_stride_m + own.at, own.count, v);
  }
  // The next tile overwrites the first slab. With block scales both warpgroups read that slab.
  if (in_blocks) return StreamConsumers<Config>::sync();
  stream_sync_group(group);
}

template <class Config>
__device__ __forceinline__ void narrow_write(float (&d)[Config::kAccumulators],
                                             const GemmNarrowArgs& all, const FullRun& run,
                                             const GemmTileOrigin& tile, u32 shared, u32 group,
                                             u32& largest) {
  const GemmEpilogueArgs& args = all.stream.full;
  const u32 type = all.scales.d_type;
  if constexpr (!Config::kSwapAB) store_wait_for_slabs<0>(ptx::lane_id());
  if (!narrow_is_short(args, run, type))
    return narrow_write_general<Config>(d, all, run, tile, shared, group, largest);
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  if (!Config::kIntegerSums || type != kGemmI32)
    narrow_make_short<Config>(d, args, run, m0, tile.n0);
  const u32 staging = narrow_staging<Config>(shared, group);
  const auto write = [&](auto out) {
    using Typed = NarrowOut<Config, decltype(out)>;
    if constexpr (Config::kSwapAB) {
      stream_write_sums<Typed>(d, all.stream, run.d, run.lines, run.extent, staging, group, m0,
                               tile.n0);
    } else {
      if constexpr (decltype(out)::kBytes == 2)
        if (narrow_stores_rows<Config>(all, run, m0, tile.n0))
          return narrow_store_rows<Typed>(d, args, tile, run.extent, staging, group, m0);
      narrow_write_rows<Typed>(d, args, run, staging, group, m0, tile.n0);
    }
  };
  if (type == kFormatBF16) return write(Bf16{});
  if (type == kFormatF16) return write(F16{});
  write(F32{});  // also for i32, which is as wide
}

}  // namespace tw
