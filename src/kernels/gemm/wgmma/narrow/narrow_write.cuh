// SPDX-License-Identifier: Apache-2.0
#pragma once
// Epilogue of the stream-K kernels for narrow types. The run's arguments select the type of D.
// narrow_write() chooses between a short path, which finishes accumulators in registers, and the
// general path, which stages them in shared memory and applies every kind of epilogue.
// "full" in names means an epilogue kernel.

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

// The short epilogue, in registers. A thread's accumulators belong to two rows, so that it needs
// only two elements of the bias.
template <class Config>
__device__ __forceinline__ void narrow_make_short(float (&d)[Config::kAccumulators],
                                                  const GemmEpilogueArgs& args, const FullRun& run,
                                                  i32 m0) {
  const bool relu = args.activation == kActRelu;
  const i32 row0 = m0 + static_cast<i32>(threadIdx.x / 32 % 4 * 16 + ptx::lane_id() / 4);
  float bias[2] = {-0.0f, -0.0f};
#pragma unroll
  for (i32 half = 0; half < 2; ++half)
    if (args.bias_by == kFullPerElement && row0 + half * 8 < run.extent)
      bias[half] = full_element<typename Config::In>(args.bias, args.bias_type, row0 + half * 8);
#pragma unroll
  for (int i = 0; i < Config::kAccumulators; ++i) {
    d[i] = act::fused(run.alpha, d[i], bias[i % 4 / 2]);
    if (relu) d[i] = activate(kActRelu, d[i]);
  }
}

// Computes eight neighboring elements of a line of D with the general path, and updates `largest`
// for amax. For an i32 D it only copies the bits of the accumulators.
template <class Config>
__device__ __forceinline__ void narrow_make_eight(const GemmNarrowArgs& all, const FullRun& run,
                                                  const StreamSlab<Config>& staged, i32 line,
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
  using Slab = StreamSlab<Config>;
  const i32 end = min(tile.n0 + all.stream.width, run.lines);
  const u32 staging = narrow_staging<Config>(shared, group);
  const bool in_blocks = all.scales.d.address != 0;
#pragma unroll 1
  for (i32 slab = 0; tile.n0 + slab * Slab::kLines < end; ++slab) {
    const Slab staged{staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes};
    staged.put(d, slab);
    // Every thread that arrives here has read the previous slab. The next one may overwrite it.
    stream_sync_group(group);
    const NarrowEight<Config> own(all.stream.full, run, tile.m0 + static_cast<i32>(group) * 64);
    const i32 line = tile.n0 + slab * Slab::kLines + own.slab_line;
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
  if (!narrow_is_short(args, run, type))
    return narrow_write_general<Config>(d, all, run, tile, shared, group, largest);
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  if (!Config::kIntegerSums || type != kGemmI32) narrow_make_short<Config>(d, args, run, m0);
  const auto write = [&](auto out) {
    stream_write_sums<NarrowOut<Config, decltype(out)>>(d, all.stream, run.d, run.lines, run.extent,
                                                        narrow_staging<Config>(shared, group),
                                                        group, m0, tile.n0);
  };
  if (type == kFormatBF16) return write(Bf16{});
  if (type == kFormatF16) return write(F16{});
  write(F32{});  // also for i32, which is as wide
}

}  // namespace tw
