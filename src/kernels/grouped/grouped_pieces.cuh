// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common epilogues of the grouped wgmma kernels. They compute on the accumulators in registers
// and write D in whole pieces of 16 bytes. All other epilogues use grouped_write_general().
//
// Because of swap-AB, rows of a tile are columns of B. A warp has 16 rows of a tile, and a thread
// has two of these, eight apart. With a gate the first eight rows are gate columns and the other
// eight are the linear columns that they multiply (grouped_load_weights()), so that a thread has
// both elements.
// "full" in names marks code of the gemm family's epilogue kernels.

#include "kernels/gemm/wgmma/stream_write.cuh"
#include "kernels/grouped/grouped_lines.cuh"
#include "kernels/grouped/grouped_work.cuh"
#include "kernels/grouped/grouped_write.cuh"

namespace tw {

// Kernels with an f32 D have no registers left for SiLU.
template <class Config>
inline constexpr bool kPiecesHaveSilu = Config::Out::kBytes == 2;

/// Whether grouped_write_ungated() or grouped_write_gated() can do the run's epilogue.
template <class Config>
__device__ __forceinline__ bool grouped_can_write_pieces(const GroupedArgs& args) {
  constexpr u32 kBytes = Config::Out::kBytes;
  const u64 alignments = args.d | static_cast<u64>(args.d_pitch) * kBytes |
                         static_cast<u64>(grouped_columns(args)) * kBytes;
  if (alignments % 16 != 0 || args.d_pitch > 0xffffffff / i64{kBytes}) return false;
  const bool has_activation = args.activation == kActIdentity || args.activation == kActRelu ||
                              (kPiecesHaveSilu<Config> && args.activation == kActSilu);
  if (!has_activation) return false;
  if (args.gate == kGateNone) return true;
  // grouped_write_gated() computes activation(gate) * linear, without limit, offset or slope.
  const bool simple =
      args.gate_limit > 3.0e38f && args.gate_offset == 0.0f && args.gate_slope == 1.0f;
  return simple && kBytes == 2 && Config::kColumnA == 0;
}

/// Writes a piece of 16 bytes to column `column` of the row of D that belongs to row r of the run.
/// The piece is added if rows are added atomically. Otherwise a predicated instruction stores it,
/// which needs no branch. The pitch of D in bytes fits in 32 bits: grouped_can_write_pieces() has
/// checked this.
template <class Config>
struct GroupedPieceWriter {
  const GroupedArgs& args;
  const GroupedWgmmaTile& tile;
  const GroupedRowTargets& targets;

  __device__ __forceinline__ void operator()(i32 r, i32 column, uint4 piece) const {
    using Out = typename Config::Out;
    const i32 row = targets.row(tile, r);
    const u64 to = args.d + u64{static_cast<u32>(column)} * Out::kBytes +
                   u64{static_cast<u32>(row)} * (static_cast<u32>(args.d_pitch) * Out::kBytes);
    if (args.row_output != kRowsAddedAtomically) return ptx::store_unit_if(row >= 0, to, piece);
    if (row >= 0) GroupedAdd<Out>::piece(to, piece);
  }
};

/// The bias of a column of B. Without a bias it is -0, which changes no accumulator.
template <class In>
__device__ __forceinline__ float grouped_bias_at(const GroupedArgs& args,
                                                 const GroupedAlphaBias& alpha_bias, i32 column) {
  if (alpha_bias.bias == 0 || column >= args.n) return -0.0f;
  return full_element<In>(alpha_bias.bias, args.bias_type, column);
}

/// Multiplies each value by the weight of its row of the run. Because of swap-AB these rows are the
/// columns of the tile: a thread has kCount values for kTileN of them, in groups of eight.
template <class Config, int kCount>
__device__ __forceinline__ void grouped_weigh(float (&v)[kCount], const GroupedArgs& args,
                                              const GroupedRowTargets& targets, i32 width) {
  if (args.row_weights == 0) return;
  constexpr int kValuesPerGroup = kCount / (Config::kTileN / 8);
  const u32 first = ptx::lane_id() % 4 * 2;
#pragma unroll
  for (int group = 0; group < Config::kTileN / 8; ++group) {
    if (group * 8 >= width) break;
    const u32 row = first + static_cast<u32>(group) * 8;
    const float weight[2] = {targets.weight(row), targets.weight(row + 1)};
#pragma unroll
    for (int i = 0; i < kValuesPerGroup; ++i) v[group * kValuesPerGroup + i] *= weight[i & 1];
  }
}

template <u32 kActivation, int kCount>
__device__ __forceinline__ void grouped_activate(float (&v)[kCount]) {
#pragma unroll
  for (float& value : v) value = activate(kActivation, value);
}

// Stages the accumulators and calls put(line, x, piece) for each piece of 16 bytes, at element x of
// a line of D. The warpgroup's part begins at element m0 of lines n0 to `end` - 1. `extent` is the
// length of a line of D: a multiple of a piece.
template <class Config, class Put>
__device__ __forceinline__ void grouped_each_piece(const float (&d)[Config::kAccumulators], i32 end,
                                                   i32 extent, u32 staging, u32 group, i32 m0,
                                                   i32 n0, Put put) {
  using Out = typename Config::Out;
  constexpr auto kContiguous = static_cast<i32>(Config::kSlab.contiguous);
  constexpr auto kLines = static_cast<i32>(Config::kSlab.lines);
  static_assert(Config::kTileN % kLines == 0, "a tile must have whole slabs");
  // Slabs side by side in the 64 elements of a line that the warpgroup has.
  constexpr i32 kSlabsAlongLine = 64 / kContiguous;
  constexpr i32 kPiece = 16 / static_cast<i32>(Out::kBytes);  // elements
  const auto thread = static_cast<i32>(threadIdx.x % 128);
  const i32 line0 = thread / 8, piece16 = thread % 8;
#pragma unroll
  for (i32 slab = 0; slab < kSlabsAlongLine * (Config::kTileN / kLines); ++slab) {
    const i32 x = m0 + slab % kSlabsAlongLine * kContiguous + piece16 * kPiece;
    const i32 y = n0 + slab / kSlabsAlongLine * kLines;
    if (y >= end) break;
    const u32 buffer = staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes;
    epilogue_stage_transposed<Config>(d, buffer, slab % kSlabsAlongLine, slab / kSlabsAlongLine);
    // After this barrier all threads have read the previous slab, so the next may overwrite it.
    stream_sync_group(group);
    if (x >= extent) continue;
#pragma unroll
    for (i32 first = 0; first < kLines; first += 16) {
      const i32 line = first + line0;
      if (y + line >= end) break;
      put(y + line, x,
          ptx::shared_load<16>(
              epilogue_place<Config>(buffer, static_cast<u32>(line), static_cast<u32>(piece16))));
    }
  }
  stream_sync_group(group);  // the next tile begins with slab 0 again
}

template <class Config>
__device__ __forceinline__ void grouped_write_ungated(float (&d)[Config::kAccumulators],
                                                      const GroupedArgs& args,
                                                      const GroupedWgmmaTile& tile,
                                                      const GroupedRowTargets& targets, u32 staging,
                                                      u32 group) {
  const GroupedAlphaBias alpha_bias = grouped_alpha_bias(args, tile.weight_index);
  const i32 column0 = tile.column0 + static_cast<i32>(group) * 64;
  const i32 bias_column =
      column0 + static_cast<i32>(threadIdx.x / 32 % 4 * 16 + ptx::lane_id() / 4);
  const float bias[2] = {grouped_bias_at<typename Config::In>(args, alpha_bias, bias_column),
                         grouped_bias_at<typename Config::In>(args, alpha_bias, bias_column + 8)};
  if (alpha_bias.alpha != 1.0f || alpha_bias.bias != 0) {
#pragma unroll
    for (int i = 0; i < Config::kAccumulators; ++i)
      d[i] = act::fused(alpha_bias.alpha, d[i], bias[epilogue_half(i)]);
  }
  if (args.activation == kActRelu) grouped_activate<kActRelu>(d);
  if (kPiecesHaveSilu<Config> && args.activation == kActSilu) grouped_activate<kActSilu>(d);
  grouped_weigh<Config>(d, args, targets, tile.width);
  grouped_each_piece<Config>(d, tile.row_end, args.n, staging, group, column0, tile.row0,
                             GroupedPieceWriter<Config>{args, tile, targets});
}

// Staging memory for 64 rows with 32 16-bit columns of D. Each row is a line of 64 bytes. Its piece
// c lies at c ^ (line / 2 % 4), so that the same piece of eight lines lies in different banks.
struct GatedSlab {
  static constexpr i32 kLines = 64;
  static __device__ __forceinline__ u32 address(u32 base, u32 line, u32 piece) {
    return base + line * 64 + ((piece ^ (line / 2 % 4)) << 4);
  }
};

template <class Config>
__device__ __forceinline__ void grouped_write_gated(float (&d)[Config::kAccumulators],
                                                    const GroupedArgs& args,
                                                    const GroupedWgmmaTile& tile,
                                                    const GroupedRowTargets& targets, u32 staging,
                                                    u32 group) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  const GroupedAlphaBias alpha_bias = grouped_alpha_bias(args, tile.weight_index);
  const u32 warp = threadIdx.x / 32 % 4, lane = ptx::lane_id();
  const i32 column0 = tile.column0 / 2 + static_cast<i32>(group) * 32;  // of D
  const i32 bias_column = column0 + static_cast<i32>(warp * 8 + lane / 4);
  const float bias[2] = {
      grouped_bias_at<In>(args, alpha_bias, grouped_b_columns(args, bias_column, false).at),
      grouped_bias_at<In>(args, alpha_bias, grouped_b_columns(args, bias_column, true).at)};
  float v[Config::kAccumulators / 2];
#pragma unroll
  for (int i = 0; i < Config::kAccumulators / 2; ++i) {
    const int gate = i / 2 * 4 + i % 2;
    float activated = act::fused(alpha_bias.alpha, d[gate], bias[0]);
    const float linear = act::fused(alpha_bias.alpha, d[gate + 2], bias[1]);
    if (args.activation == kActSilu) activated = activate(kActSilu, activated);
    if (args.activation == kActRelu) activated = activate(kActRelu, activated);
    v[i] = activated * linear;
  }
  grouped_weigh<Config>(v, args, targets, tile.width);
  const GroupedPieceWriter<Config> write{args, tile, targets};
  const u32 line0 = threadIdx.x % 128 / 4, piece = threadIdx.x % 4;
  const i32 column = column0 + static_cast<i32>(piece) * 8;
#pragma unroll
  for (i32 slab = 0; slab * GatedSlab::kLines < Config::kTileN; ++slab) {
    const i32 r0 = tile.row0 + slab * GatedSlab::kLines;
    if (r0 >= tile.row_end) break;
    const u32 buffer = staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes;
#pragma unroll
    for (int lines32 = 0; lines32 < GatedSlab::kLines / 32; ++lines32) {
      const int i = slab * (GatedSlab::kLines / 4) + lines32 * 8;
      if (i >= Config::kAccumulators / 2) break;  // the last slab may be half full
      const u32 to = GatedSlab::address(buffer, static_cast<u32>(lines32) * 32 + lane, warp);
      ptx::stmatrix_x4_trans(to, Out::pack(v[i], v[i + 1]), Out::pack(v[i + 2], v[i + 3]),
                             Out::pack(v[i + 4], v[i + 5]), Out::pack(v[i + 6], v[i + 7]));
    }
    stream_sync_group(group);
    if (column >= args.n / 2) continue;
#pragma unroll
    for (u32 first = 0; first < GatedSlab::kLines; first += 32) {
      const i32 r = r0 + static_cast<i32>(first + line0);
      if (r >= tile.row_end) break;
      write(r, column, ptx::shared_load<16>(GatedSlab::address(buffer, first + line0, piece)));
    }
  }
  stream_sync_group(group);  // the next tile overwrites the first slab
}

/// Writes a tile if grouped_can_write_pieces() is true, which it is not for a gate if the
/// configuration has no grouped_write_gated().
template <class Config>
__device__ __forceinline__ void grouped_write_pieces(float (&d)[Config::kAccumulators],
                                                     const GroupedArgs& args,
                                                     const GroupedWgmmaTile& tile,
                                                     const GroupedRowTargets& targets, u32 staging,
                                                     u32 group) {
  if (args.gate == kGateNone)
    grouped_write_ungated<Config>(d, args, tile, targets, staging, group);
  else if constexpr (Config::Out::kBytes == 2 && Config::kColumnA == 0)
    grouped_write_gated<Config>(d, args, tile, targets, staging, group);
}

}  // namespace tw
