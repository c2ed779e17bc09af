// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogue of the kernels for narrow types. The run's arguments select the type of D.
// narrow_write() chooses between two paths. The short path applies a simple epilogue to the
// accumulators in registers. The general path stages the accumulators in shared memory and applies
// every kind of epilogue. Without swap-AB, the rows of a tile are lines of D, and each warp has 16
// whole rows of a tile.

#include "kernels/gemm/epilogue/full_store.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_blocks.cuh"
#include "kernels/gemm/wgmma/narrow/narrow_scales.cuh"

namespace tw {

// A kernel's Config with the type of D that the run selects.
template <class Config, class OutType>
struct NarrowConfigWithOut : Config {
  using Out = OutType;
  static constexpr GemmTile kTile = {Config::kTile.m,        Config::kTile.n,
                                     Config::kTile.k,        Config::kTile.variant,
                                     Config::kTile.in_bytes, OutType::kBytes};
  static constexpr GemmSlab kSlab = gemm_slab(kTile);
};

// Calls use() with the finished accumulators as floats. Integers are rounded to f32. If D is i32,
// the floats have the bits of the integers instead.
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

// Multiplies finished accumulators by scales that do not change along k, if the run has such
// scales. narrow_start_scale_copies() has copied these to shared memory, and each thread has waited
// for its own copies. d begins at column `first_column` of the tile, a multiple of 16. All threads
// of the warpgroup must call it.
template <class Config>
__device__ __forceinline__ void narrow_apply_scales(float (&d)[Config::kAccumulators],
                                                    const GemmNarrowArgs& narrow_args,
                                                    const GemmPipeline<Config>& pipeline, u32 group,
                                                    i32 first_column) {
  if (!narrow_scales_once(narrow_args.scales)) return;
  stream_sync_group(group);
  const u32 scales = narrow_tile_scales<Config>(pipeline, group);
  // The scales of the warpgroup's 64 rows come first, then those of the tile's columns.
  const NarrowScaleAddresses addresses(scales,
                                       scales + 64 * 4 + static_cast<u32>(first_column) * 4);
  float row[2];
  addresses.load_rows(row);
#pragma unroll
  for (int group16 = 0; group16 < Config::kAccumulators / 8; ++group16) {
    if (group16 * 16 >= narrow_args.stream.width - first_column) break;
    float column[4];
    addresses.load_columns(group16, column);
#pragma unroll
    for (int i = 0; i < 8; ++i) d[group16 * 8 + i] *= row[i / 2 % 2] * column[i / 4 * 2 + i % 2];
  }
}

// The epilogue arguments for matrix z of the batch. No lines are written if its D is null. Lines
// of D are rows, or columns with swap-AB.
template <class Config>
__device__ __forceinline__ FullRun narrow_run(const GemmNarrowArgs& narrow_args, i32 m, i32 n,
                                              i32 z) {
  const GemmEpilogueArgs& full = narrow_args.stream.full;
  FullRun run = Config::kSwapAB ? full_run(full, n, full.gate == kGateNone ? m : full.half)
                                : full_run(full, m, n);
  const GemmMatrix matrix =
      gemm_matrix(full, z, Config::In::kBytes, scaled_bytes(narrow_args.scales.d_type));
  run.c = matrix.c;
  run.d = matrix.d;
  if (matrix.d == 0) run.lines = 0;
  return run;
}

// Whether the short path can write D. D's elements must have more than 8 bits. D's address, its
// stride and the length of its lines must be multiples of 16 bytes. The epilogue may have nothing
// but alpha, a bias per element of a line and relu.
__device__ __forceinline__ bool narrow_is_short(const GemmEpilogueArgs& args, const FullRun& run,
                                                u32 type) {
  const auto bytes = static_cast<u64>(scaled_bytes(type));
  const u64 alignments =
      run.d | static_cast<u64>(args.base.d_stride_m) * bytes | static_cast<u64>(run.extent) * bytes;
  return bytes > 1 && alignments % 16 == 0 && args.d_factor_by == kFullNone && args.amax == 0 &&
         args.bias_by != kFullPerLine && run.beta == 0.0f && args.gate == kGateNone &&
         args.activation <= kActRelu;
}

// The element of the bias for element `at` of a line of D. Beyond the end of the line it is -0.0,
// which changes no value when it is added.
template <class Config>
__device__ __forceinline__ float narrow_bias(const GemmEpilogueArgs& args, const FullRun& run,
                                             i32 at) {
  if (at >= run.extent) return -0.0f;
  return full_element<typename Config::In>(args.bias, args.bias_type, at);
}

// Applies the short epilogue to the accumulators in registers. In each of its lines of D, a thread
// has two elements with swap-AB, otherwise two neighboring elements of each group of eight. A tile
// executes this code only once, so most of its time is spent on fetching instructions. Branches
// skip the code of options that a run does not have.
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

// Stores the warp's 16 lines of a 16-bit D by TMA, in pieces of 64 columns. The warp stages them in
// its own part of the staging memory, which the TMA reads while the next tile is multiplied. m0 is
// the warpgroup's first line.
template <class Config>
__device__ __forceinline__ void narrow_store_rows_by_tma(const float (&d)[Config::kAccumulators],
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
  const u32 first_line = threadIdx.x / 32 % 4 * kGemmStoreLines;
  if (ptx::lane_id() == 0) {
#pragma unroll
    for (i32 piece = 0; piece < Config::kTileN / kColumns; ++piece)
      if (tile.n0 + piece * kColumns < extent)
        ptx::store_tile(&args.base.map_d,
                        staging + static_cast<u32>(piece) * kPieceBytes + first_line * 128,
                        tile.n0 + piece * kColumns, m0 + static_cast<i32>(first_line), tile.z);
    ptx::store_commit();
  }
  stream_sync_group(group);  // the next tile overwrites the scales
}

// Whether the TMA may store the warpgroup's rows of a tile. D's map has the sizes of the launch
// arguments, so if the number of rows is in device memory, only whole tiles may be stored.
template <class Config>
__device__ __forceinline__ bool narrow_can_store_by_tma(const GemmNarrowArgs& narrow_args,
                                                        const FullRun& run, i32 m0, i32 n0) {
  const GemmEpilogueArgs& args = narrow_args.stream.full;
  return !Config::kSwapAB && (args.flags & kFullTmaStores) != 0 &&
         (args.device_m == 0 ||
          (m0 + 64 <= run.lines && n0 + narrow_args.stream.width <= run.extent));
}

// Converts a warp's 16 lines of the tile and stores them to D by plain stores of 16 bytes. The warp
// stages them in its own part of the warpgroup's staging memory. m0 is the warpgroup's first line.
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

// Computes eight neighboring elements of a line of D with any epilogue, and updates `largest` for
// amax. If D is i32, it only copies the bits of the accumulators.
template <class Config>
__device__ __forceinline__ void narrow_make_eight(const GemmNarrowArgs& narrow_args,
                                                  const FullRun& run,
                                                  const StreamSumSlab<Config>& staged, i32 line,
                                                  const NarrowElements<Config>& own, u32& largest,
                                                  float (&elements)[8]) {
  using In = typename Config::In;
  const GemmEpilogueArgs& args = narrow_args.stream.full;
  const u32 type = narrow_args.scales.d_type;
  const auto slab_line = static_cast<u32>(own.slab_line);
  if (Config::kIntegerSums && type == kGemmI32) return staged.get(slab_line, own.place, elements);
  FullVectors vectors;
  full_along<In>(args, run, own.at, own.count, vectors);
  full_spread(args, full_across<In>(args, line), vectors);
  u32 largest_unscaled = 0;
  full_make<In, F32, true>(
      args, run, vectors, line, own.at, own.count, largest_unscaled,
      [&](bool second, float(&v)[8]) { staged.take(args.gate, slab_line, own.place, second, v); },
      [&](FullPlace place, float(&c)[8]) {
        scaled_load(type, run.c, place.line * args.base.c_stride_m + place.at, place.step,
                    own.count, c);
      },
      [&](float(&v)[8]) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          if (args.amax && !is_scaled_f8(type) && i < own.count)
            largest = max(largest, act::bits(v[i]) & 0x7fffffffu);
          elements[i] = v[i];
        }
      });
  // For 8-bit floats, amax is that of D before its scale.
  if (is_scaled_f8(type)) largest = max(largest, largest_unscaled);
}

// Stores the first `count` of eight neighboring elements of D.
template <class Config>
__device__ __forceinline__ void narrow_store(u32 type, u64 d, i64 element, i32 count,
                                             const float (&v)[8]) {
  if (Config::kIntegerSums && type == kGemmI32)
    return full_store<F32>(d + static_cast<u64>(element * 4), count, v);
  scaled_store(type, d, element, count, v);
}

// Writes a tile with any epilogue. The accumulators are staged in shared memory slab by slab. Of
// each slab, a thread writes up to eight elements; with a gate, half of the threads write none. If
// D is quantized and has a gate, the elements of the first of two tiles are only held in shared
// memory.
template <class Config>
__device__ __forceinline__ void narrow_write_general(const float (&d)[Config::kAccumulators],
                                                     const GemmNarrowArgs& narrow_args,
                                                     const FullRun& run, const GemmTileOrigin& tile,
                                                     u32 shared, u32 group, u32& largest) {
  using Slab = StreamSumSlab<Config>;
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  const i32 end = Config::kSwapAB ? min(tile.n0 + narrow_args.stream.width, run.lines) : run.lines;
  const u32 staging = narrow_staging<Config>(shared, group);
  const bool quantizes = Config::kStreamK && Config::kSwapAB && narrow_args.scales.d.address != 0;
  // Without swap-AB, a warp's slab may lie where the TMA still reads another warp's lines of the
  // previous tile. Each warp has waited for its own stores, so after this barrier all have ended.
  if constexpr (!Config::kSwapAB) stream_sync_group(group);
#pragma unroll 1
  for (i32 slab = 0;; ++slab) {
    // The slab is as in StreamSumSlab. `first_place` is the position of its first accumulator in a
    // line of v (gemm_full.h), and `first_line` is its first line of D.
    const i32 first_place = Config::kSwapAB ? m0 : tile.n0 + slab / 4 * Slab::kLineAccumulators;
    const i32 first_line = Config::kSwapAB ? tile.n0 + slab * Slab::kLines : m0 + slab % 4 * 16;
    if (Config::kSwapAB ? first_line >= end : first_place >= run.extent) break;
    const Slab staged{staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes};
    staged.put(d, slab);
    // After this barrier the slab is complete. All threads have read the previous one, so the next
    // slab may overwrite it.
    stream_sync_group(group);
    const NarrowElements<Config> own(narrow_args.stream.full, run, first_place);
    const i32 line = first_line + own.slab_line;
    const bool inside = own.slab_line < Slab::kLines && line < end;
    float v[8] = {};
    if (inside && own.count > 0)
      narrow_make_eight<Config>(narrow_args, run, staged, line, own, largest, v);
    if (quantizes) {
      if constexpr (Config::kStreamK)
        narrow_write_blocks<Config>(narrow_args, run, tile, shared, slab, group, staged.base, own,
                                    line, inside, v);
    } else if (inside && own.count > 0) {
      narrow_store<Config>(narrow_args.scales.d_type, run.d,
                           line * narrow_args.stream.full.base.d_stride_m + own.at, own.count, v);
    }
  }
  // The next tile overwrites the first slab. If D is quantized, the other warpgroup also reads it.
  if (quantizes) return StreamConsumers<Config>::sync();
  stream_sync_group(group);
}

// Writes a tile to D, or one slice of a tile whose columns several CTAs share (stream_slices.cuh).
// All threads of the warpgroup must call it.
template <class Config>
__device__ __forceinline__ void narrow_write(float (&d)[Config::kAccumulators],
                                             const GemmNarrowArgs& narrow_args, const FullRun& run,
                                             const GemmTileOrigin& tile, u32 shared, u32 group,
                                             u32& largest) {
  const GemmEpilogueArgs& args = narrow_args.stream.full;
  const u32 type = narrow_args.scales.d_type;
  // The TMA may still read the previous tile from the staging memory.
  if constexpr (!Config::kSwapAB) store_wait_for_slabs<0>(ptx::lane_id());
  if (!narrow_is_short(args, run, type))
    return narrow_write_general<Config>(d, narrow_args, run, tile, shared, group, largest);
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  if (!Config::kIntegerSums || type != kGemmI32)
    narrow_make_short<Config>(d, args, run, m0, tile.n0);
  const u32 staging = narrow_staging<Config>(shared, group);
  const auto write = [&](auto out) {
    using Typed = NarrowConfigWithOut<Config, decltype(out)>;
    if constexpr (Config::kSwapAB) {
      stream_write_sums<Typed>(d, narrow_args.stream, run.d, run.lines, run.extent, staging, group,
                               m0, tile.n0);
    } else {
      if constexpr (decltype(out)::kBytes == 2)
        if (narrow_can_store_by_tma<Config>(narrow_args, run, m0, tile.n0))
          return narrow_store_rows_by_tma<Typed>(d, args, tile, run.extent, staging, group, m0);
      narrow_write_rows<Typed>(d, args, run, staging, group, m0, tile.n0);
    }
  };
  if (type == kFormatBF16) return write(Bf16{});
  if (type == kFormatF16) return write(F16{});
  write(F32{});  // also writes i32, which has the same size
}

}  // namespace tw
