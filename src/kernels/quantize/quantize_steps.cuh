// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kernels that work by vectors, for rows that are aligned to vectors. (quantize_any.cuh has
// those that work element by element.) If the region of a scale fits in the registers of its
// threads, each element is read once.

#include "kernels/quantize/quantize_vectors.cuh"

namespace tw {

/// For each of a thread's vectors: the largest magnitude of the group of 128 elements that contains
/// the vector. With 16-bit types two magnitudes share a word, so that one shuffle serves two
/// vectors.
template <u32 kVector>
struct GroupTops {
  static constexpr u32 kWords = kVector == 4 ? kQuantizeAccesses : kQuantizeAccesses / 2;
  u32 word[kWords];

  __device__ __forceinline__ GroupTops(const u32 (&raw)[kQuantizeAccesses][4], u32 infinity) {
    u32 all = 0;
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) {
      if constexpr (kVector == 4) {
        word[w] = largest_halves<kVector>(raw[w]);
      } else {
        const u32 a = largest_halves<kVector>(raw[2 * w]);
        const u32 b = largest_halves<kVector>(raw[2 * w + 1]);
        word[w] = ptx::max_bf16(__byte_perm(a, b, 0x5410), __byte_perm(a, b, 0x7632));
      }
      all = larger_halves<kVector>(all, word[w]);
    }
    if (!halves_finite<kVector>(all, infinity)) recompute_finite(raw, infinity);
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) {
      if constexpr (kVector == 4) {
        word[w] = warp_largest(word[w]);
      } else {
#pragma unroll
        for (u32 step = 1; step < kGroupLanes<kVector>; step *= 2)
          word[w] = ptx::max_bf16(word[w], __shfl_xor_sync(kFullWarpMask, word[w], step));
      }
    }
  }

  __device__ __forceinline__ void recompute_finite(const u32 (&raw)[kQuantizeAccesses][4],
                                                   u32 infinity) {
#pragma unroll
    for (u32 w = 0; w < kWords; ++w) {
      if constexpr (kVector == 4)
        word[w] = largest_finite<kVector>(raw[w], infinity);
      else
        word[w] = largest_finite<kVector>(raw[2 * w], infinity) |
                  largest_finite<kVector>(raw[2 * w + 1], infinity) << 16;
    }
  }

  /// Returns the largest magnitude of the group that access number `access` reads. That number is
  /// not a compile-time constant.
  __device__ __forceinline__ u32 of_access(u32 access) const {
    const u32 own = kVector == 4 ? access : access / 2;
    u32 top = word[0];
#pragma unroll
    for (u32 w = 1; w < kWords; ++w) top = own == w ? word[w] : top;
    if constexpr (kVector == 4) return top;
    return access % 2 == 0 ? top & 0xffffu : top >> 16;
  }
};

/// One scale per 128 elements of a row. Each of the first eight lanes of a group computes one of
/// the tile's scales, so a scale costs one division and adjacent scales are stored together.
template <u32 kVector>
__device__ __forceinline__ void quantize_groups(const QuantizeArgs& args) {
  constexpr u32 kLanes = kGroupLanes<kVector>;
  ptx::grid_dependency_wait_and_launch();
  each_tile(args, [&](u32 number) {
    const QuantizeTile<kVector> tile(args, number);
    u32 raw[kQuantizeAccesses][4];
    tile.load(raw);
    const GroupTops<kVector> tops(raw, quantize_infinity(args.src_format));
    const u32 own = tile.lane % kQuantizeAccesses;
    const float scale =
        region_scale(args, magnitude_value<kVector>(args.src_format, tops.of_access(own)));
    const float inverse = quantize_inverse(scale);
    if (tile.lane < min(kQuantizeAccesses, tile.group_count))
      ptx::store_unit<4>(tile.scale_address(own), __float_as_uint(scale));
    with_wide<kVector>(args.src_format, [&](auto wide) {
      with_narrow(args.dst_format, [&](auto narrow) {
        tile.store([&](u32 f, u32(&words)[4]) {
          quantize_vector<wide.kNumber, narrow.kNumber, kVector>(
              raw[f], __shfl_sync(kFullWarpMask, inverse, f, kLanes), words);
        });
      });
    });
  });
}

/// Loads and stores one thread's vectors of a row that a team of team_warps warps processes:
/// vectors base + first, base + first + step and so on, kQuantizeAccesses in all.
template <u32 kVector>
struct RowVectors {
  u64 src, dst;
  u32 first;  // this thread's first vector, counted from `base`
  u32 step;   // from one of its vectors to the next
  u32 end;    // number of vectors in the row

  __device__ __forceinline__ void load(const QuantizeArgs& args, u32 base,
                                       u32 (&raw)[kQuantizeAccesses][4]) const {
#pragma unroll
    for (u32 f = 0; f < kQuantizeAccesses; ++f) {
      raw[f][0] = raw[f][1] = raw[f][2] = raw[f][3] = 0;
      const u32 vector = base + first + f * step;
      if (vector < end) ptx::load_once<16>(src + u64{vector} * 16, args.src_policy, raw[f]);
    }
  }
  __device__ __forceinline__ void store(const QuantizeArgs& args, u32 base, float inverse,
                                        const u32 (&raw)[kQuantizeAccesses][4]) const {
    with_wide<kVector>(args.src_format, [&](auto wide) {
      with_narrow(args.dst_format, [&](auto narrow) {
#pragma unroll
        for (u32 f = 0; f < kQuantizeAccesses; ++f) {
          const u32 vector = base + first + f * step;
          u32 words[4];
          quantize_vector<wide.kNumber, narrow.kNumber, kVector>(raw[f], inverse, words);
          if (vector < end)
            ptx::store_words<kVector>(dst + static_cast<u64>(vector) * kVector, words,
                                      args.dst_policy);
        }
      });
    });
  }
};

/// One scale per row. A team of team_warps warps holds a row in registers. If a row is longer than
/// a block holds, all but its last part are read a second time.
template <u32 kVector>
__device__ __forceinline__ void quantize_rows_of_teams(const QuantizeArgs& args) {
  __shared__ u32 warp_tops[2][kQuantizeWarpsPerBlock];
  ptx::grid_dependency_wait_and_launch();
  const u32 warps = args.team_warps;
  const u32 warp = threadIdx.x / 32;
  const u32 teams = kQuantizeWarpsPerBlock / warps;
  const u32 part = warps * 32 * kQuantizeAccesses;
  RowVectors<kVector> row{};
  row.first = warp % warps * 32 + ptx::lane_id();
  row.step = warps * 32;
  u32 buffer = 0;
  for (u32 base_row = blockIdx.x * teams; base_row < args.rows; base_row += gridDim.x * teams) {
    const u32 number = base_row + warp / warps;
    row.end = number < args.rows ? args.columns / kVector : 0;
    row.src = row_address(args.src, args.src_pitch, number);
    row.dst = row_address(args.dst, args.dst_pitch, number);
    u32 raw[kQuantizeAccesses][4] = {};
    u32 top = 0;
    u32 last = 0;
    for (u32 base = 0; base < row.end; base += part) {
      row.load(args, base, raw);
      last = base;
      top = max(top, largest_magnitude<kVector>(raw, quantize_infinity(args.src_format)));
    }
    top = warp_largest(top);
    if (warps > 1) {
      if (ptx::lane_id() == 0) warp_tops[buffer][warp] = top;
      ptx::sync_block();
      for (u32 w = 0; w < warps; ++w) top = max(top, warp_tops[buffer][warp / warps * warps + w]);
      buffer ^= 1;  // a warp that is ahead writes the other buffer
    }
    if (row.end == 0) continue;
    const float scale = region_scale(args, magnitude_value<kVector>(args.src_format, top));
    const float inverse = quantize_inverse(scale);
    if (row.first == 0)
      ptx::store_unit<4>(quantize_scale_address(args, number, 0), __float_as_uint(scale));
    for (u32 base = last;; base -= part) {
      if (base != last) row.load(args, base, raw);
      row.store(args, base, inverse, raw);
      if (base == 0) break;
    }
  }
}

/// One scale per 128 x 128 elements, which the threads of a block hold in registers.
template <u32 kVector>
__device__ __forceinline__ void quantize_blocks(const QuantizeArgs& args) {
  constexpr u32 kThreads = quantize_block_threads(kVector);
  constexpr u32 kLanes = kGroupLanes<kVector>;
  constexpr u32 kRows = kThreads / kLanes;  // processed at once
  static_assert(kRows * kQuantizeAccesses == 128, "a block of 128 rows");
  __shared__ u32 warp_tops[2][kThreads / 32];
  ptx::grid_dependency_wait_and_launch();
  u32 buffer = 0;
  for (u32 tile = blockIdx.x; tile < args.tiles; tile += gridDim.x) {
    const u32 tile_row = divide(tile, args.tiles_across);
    const u32 tile_column = tile - tile_row * args.tiles_across.divisor;
    const u32 row = tile_row * 128 + threadIdx.x / kLanes;
    const u32 column = tile_column * kQuantizeGroup + threadIdx.x % kLanes * kVector;
    const bool inside = column < args.columns;
    const u64 src =
        row_address(args.src, args.src_pitch, row) + static_cast<u64>(column) * (16 / kVector);
    const u64 dst = row_address(args.dst, args.dst_pitch, row) + column;
    u32 raw[kQuantizeAccesses][4];
#pragma unroll
    for (u32 f = 0; f < kQuantizeAccesses; ++f) {
      raw[f][0] = raw[f][1] = raw[f][2] = raw[f][3] = 0;
      if (inside && row + f * kRows < args.rows)
        ptx::load_once<16>(row_address(src, args.src_pitch, f * kRows), args.src_policy, raw[f]);
    }
    const u32 top = block_largest(
        largest_magnitude<kVector>(raw, quantize_infinity(args.src_format)), warp_tops[buffer]);
    buffer ^= 1;
    const float scale = region_scale(args, magnitude_value<kVector>(args.src_format, top));
    const float inverse = quantize_inverse(scale);
    if (threadIdx.x == 0)
      ptx::store_unit<4>(quantize_scale_address(args, tile_row, tile_column),
                         __float_as_uint(scale));
    with_wide<kVector>(args.src_format, [&](auto wide) {
      with_narrow(args.dst_format, [&](auto narrow) {
#pragma unroll
        for (u32 f = 0; f < kQuantizeAccesses; ++f) {
          u32 words[4];
          quantize_vector<wide.kNumber, narrow.kNumber, kVector>(raw[f], inverse, words);
          if (inside && row + f * kRows < args.rows)
            ptx::store_words<kVector>(row_address(dst, args.dst_pitch, f * kRows), words,
                                      args.dst_policy);
        }
      });
    });
  }
}

__device__ __forceinline__ void store_partial_amax(const QuantizeArgs& args, u32 top,
                                                   u32 (&warp_tops)[kQuantizeWarpsPerBlock]) {
  top = block_largest(top, warp_tops);
  if (threadIdx.x == 0)
    ptx::store_unit<4>(args.partial_amax + static_cast<u64>(blockIdx.x) * 4,
                       __float_as_uint(decode(args.src_format, top)));
}

template <u32 kVector>
__device__ __forceinline__ void quantize_amax(const QuantizeArgs& args) {
  __shared__ u32 warp_tops[kQuantizeWarpsPerBlock];
  ptx::grid_dependency_wait_and_launch();
  u32 top = 0;
  each_tile(args, [&](u32 tile) {
    u32 raw[kQuantizeAccesses][4];
    QuantizeTile<kVector>(args, tile).load(raw);
    top = max(top, largest_magnitude<kVector>(raw, quantize_infinity(args.src_format)));
  });
  store_partial_amax(args, top, warp_tops);
}

/// Returns 1 / scale to all threads. Unless the scale is given, block 0 also stores the scale.
__device__ __forceinline__ float one_scale_inverse(const QuantizeArgs& args,
                                                   u32 (&warp_tops)[kQuantizeWarpsPerBlock]) {
  if (quantize_has(args, kQuantizeGiven)) return quantize_inverse(load_scale(args.scale));
  // Bits of non-negative f32 numbers compare like the numbers.
  u32 top = 0;
  for (u32 part = threadIdx.x; part < args.partial_count; part += kQuantizeThreads)
    top = max(top, ptx::load_after_wait<4>(args.partial_amax + static_cast<u64>(part) * 4));
  top = block_largest(top, warp_tops);
  const float scale = region_scale(args, __uint_as_float(top));
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    ptx::store_unit<4>(args.scale, __float_as_uint(scale));
    if (args.amax != 0) ptx::reduce_max_u32(args.amax, top);
  }
  return quantize_inverse(scale);
}

/// Returns whether the caller gives the scale but also wants the largest magnitude.
__device__ __forceinline__ bool one_scale_measures(const QuantizeArgs& args) {
  return quantize_has(args, kQuantizeGiven) && args.amax != 0;
}
__device__ __forceinline__ void raise_amax(const QuantizeArgs& args, u32 top) {
  top = warp_largest(top);
  if (ptx::lane_id() == 0 && top != 0)
    ptx::reduce_max_u32(args.amax, __float_as_uint(decode(args.src_format, top)));
}

/// Quantizes by one scale for the whole matrix. The caller gives the scale, or quantize_amax() has
/// stored the largest magnitude of each of its blocks, from which the scale is computed.
template <u32 kVector>
__device__ __forceinline__ void quantize_by_one_scale(const QuantizeArgs& args) {
  __shared__ u32 warp_tops[kQuantizeWarpsPerBlock];
  ptx::grid_dependency_wait_and_launch();
  const float inverse = one_scale_inverse(args, warp_tops);
  const bool measures = one_scale_measures(args);
  u32 top = 0;
  each_tile(args, [&](u32 number) {
    const QuantizeTile<kVector> tile(args, number);
    u32 raw[kQuantizeAccesses][4];
    tile.load(raw);
    if (measures)
      top = max(top, largest_magnitude<kVector>(raw, quantize_infinity(args.src_format)));
    with_wide<kVector>(args.src_format, [&](auto wide) {
      with_narrow(args.dst_format, [&](auto narrow) {
        tile.store([&](u32 f, u32(&words)[4]) {
          quantize_vector<wide.kNumber, narrow.kNumber, kVector>(raw[f], inverse, words);
        });
      });
    });
  });
  if (measures) raise_amax(args, top);
}

/// Converts from 8 bits back to a wide type. All vectors and scales are loaded before the first is
/// used.
template <u32 kVector>
__device__ __forceinline__ void quantize_dequantize(const QuantizeArgs& args) {
  ptx::grid_dependency_wait_and_launch();
  each_tile(args, [&](u32 number) {
    const DequantizeTile<kVector> tile(args, number);
    u32 raw[kQuantizeAccesses][4];
    tile.load(raw);
    float scale[kQuantizeAccesses];
#pragma unroll
    for (u32 f = 0; f < kQuantizeAccesses; ++f)
      scale[f] = __uint_as_float(
          ptx::load_word_after_wait(f < tile.group_count, tile.scale_address(f), 0));
    with_narrow(args.src_format, [&](auto narrow) {
      with_wide<kVector>(args.dst_format, [&](auto wide) {
        tile.store([&](u32 f, u32(&words)[4]) {
          dequantize_vector<narrow.kNumber, wide.kNumber, kVector>(raw[f], scale[f], words);
        });
      });
    });
  });
}

}  // namespace tw
