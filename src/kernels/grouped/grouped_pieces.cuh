// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common epilogues of the grouped wgmma kernels. They compute on the accumulators in registers
// and write D in whole pieces of 16 bytes. All other epilogues use grouped_write_tile().
//
// Rows of a tile are columns of B. Of each warp's 16 rows a thread has two, eight apart. With a
// gate the first eight are gates and the other eight their linear columns (grouped_load_weights),
// so that a thread has both elements of a pair.

#include "kernels/gemm/wgmma/stream_write.cuh"
#include "kernels/grouped/grouped_lines.cuh"
#include "kernels/grouped/grouped_work.cuh"
#include "kernels/grouped/grouped_write.cuh"

namespace tw {

// Kernels with an f32 D have no registers left for SiLU.
template <class Config>
inline constexpr bool kPiecesTakeSilu = Config::Out::kBytes == 2;

/// Whether the run's epilogue and D suit these functions.
template <class Config>
__device__ __forceinline__ bool grouped_in_pieces(const GroupedArgs& args) {
  constexpr u32 kBytes = Config::Out::kBytes;
  const u64 places = args.d | static_cast<u64>(args.d_pitch) * kBytes |
                     static_cast<u64>(grouped_columns(args)) * kBytes;
  if (places % 16 != 0) return false;
  const bool is_short = args.activation == kActIdentity || args.activation == kActRelu ||
                        (kPiecesTakeSilu<Config> && args.activation == kActSilu);
  if (!is_short) return false;
  if (args.gate == kGateNone) return true;
  // Only activation(gate) * linear, without limit, offset or slope.
  const bool simple =
      args.gate_limit > 3.0e38f && args.gate_offset == 0.0f && args.gate_slope == 1.0f;
  return simple && kBytes == 2 && Config::kColumnA == 0;
}

template <class Config>
struct GroupedPut {
  const GroupedArgs& args;
  const GroupedSpot& tile;
  const GroupedLines<Config>& lines;

  __device__ __forceinline__ void operator()(i32 r, i32 x, uint4 piece) const {
    using Out = typename Config::Out;
    const u64 row = lines.template row<Out>(args, tile, r);
    if (row == 0) return;
    const u64 to = row + static_cast<u64>(x) * Out::kBytes;
    if (args.out != kRowsAdded) return ptx::store_unit<16>(to, piece);
    GroupedAdd<Out>::piece(to, piece);
  }
};

/// The bias of a column of B; without a bias -0, which changes no accumulator.
template <class In>
__device__ __forceinline__ float grouped_bias_at(const GroupedArgs& args, const GroupedTile& tile,
                                                 i32 column) {
  if (tile.bias == 0 || column >= args.n) return -0.0f;
  return full_element<In>(tile.bias, args.bias_f32, column);
}

/// Multiplies each value by the weight of its row of A. A thread has kCount values for the tile's
/// kTileN rows of A, in groups of eight rows.
template <class Config, int kCount>
__device__ __forceinline__ void grouped_weigh(float (&v)[kCount], const GroupedArgs& args,
                                              const GroupedLines<Config>& lines, i32 width) {
  if (args.row_weights == 0) return;
  constexpr int kOfGroup = kCount / (Config::kTileN / 8);  // of eight rows of A
  const u32 first = ptx::lane_id() % 4 * 2;
#pragma unroll
  for (int group = 0; group < Config::kTileN / 8; ++group) {
    if (group * 8 >= width) break;
    const u32 at = first + static_cast<u32>(group) * 8;
    const float weight[2] = {lines.weight(at), lines.weight(at + 1)};
#pragma unroll
    for (int i = 0; i < kOfGroup; ++i) v[group * kOfGroup + i] *= weight[i & 1];
  }
}

template <u32 kWhich, int kCount>
__device__ __forceinline__ void grouped_activate(float (&v)[kCount]) {
#pragma unroll
  for (float& value : v) value = activate(kWhich, value);
}

template <class Config>
__device__ __forceinline__ void grouped_write_plain(float (&d)[Config::kAccumulators],
                                                    const GroupedArgs& args,
                                                    const GroupedSpot& tile,
                                                    const GroupedLines<Config>& lines, u32 staging,
                                                    u32 group) {
  const GroupedTile values = grouped_tile(args, tile.weight);
  const i32 m0 = tile.m0 + static_cast<i32>(group) * 64;
  const i32 row0 = m0 + static_cast<i32>(threadIdx.x / 32 % 4 * 16 + ptx::lane_id() / 4);
  const float bias[2] = {grouped_bias_at<typename Config::In>(args, values, row0),
                         grouped_bias_at<typename Config::In>(args, values, row0 + 8)};
#pragma unroll
  for (int i = 0; i < Config::kAccumulators; ++i)
    d[i] = act::fused(values.alpha, d[i], bias[epilogue_half(i)]);
  if (args.activation == kActRelu) grouped_activate<kActRelu>(d);
  if (kPiecesTakeSilu<Config> && args.activation == kActSilu) grouped_activate<kActSilu>(d);
  grouped_weigh<Config>(d, args, lines, tile.width);
  stream_each_piece<Config>(d, tile.end, args.n, staging, group, m0, tile.row0,
                            GroupedPut<Config>{args, tile, lines});
}

// Staging of 64 rows with 32 16-bit columns of D: lines of 64 bytes, whose piece c lies at
// c ^ (line / 2 % 4), so that the same piece of eight lines lies in different banks.
struct GatedSlab {
  static constexpr i32 kLines = 64;
  static __device__ __forceinline__ u32 place(u32 base, u32 line, u32 piece) {
    return base + line * 64 + ((piece ^ (line / 2 % 4)) << 4);
  }
};

template <class Config>
__device__ __forceinline__ void grouped_write_gated(float (&d)[Config::kAccumulators],
                                                    const GroupedArgs& args,
                                                    const GroupedSpot& tile,
                                                    const GroupedLines<Config>& lines, u32 staging,
                                                    u32 group) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  const GroupedTile values = grouped_tile(args, tile.weight);
  const u32 warp = threadIdx.x / 32 % 4, lane = ptx::lane_id();
  const i32 at0 = tile.m0 / 2 + static_cast<i32>(group) * 32;
  const i32 own = at0 + static_cast<i32>(warp * 8 + lane / 4);
  const float bias[2] = {grouped_bias_at<In>(args, values, grouped_place(args, own, false).at),
                         grouped_bias_at<In>(args, values, grouped_place(args, own, true).at)};
  float v[Config::kAccumulators / 2];
#pragma unroll
  for (int i = 0; i < Config::kAccumulators / 2; ++i) {
    const int gate = i / 2 * 4 + i % 2;
    float first = act::fused(values.alpha, d[gate], bias[0]);
    const float second = act::fused(values.alpha, d[gate + 2], bias[1]);
    if (args.activation == kActSilu) first = activate(kActSilu, first);
    if (args.activation == kActRelu) first = activate(kActRelu, first);
    v[i] = first * second;
  }
  grouped_weigh<Config>(v, args, lines, tile.width);
  const GroupedPut<Config> put{args, tile, lines};
  const u32 line0 = threadIdx.x % 128 / 4, piece = threadIdx.x % 4;
  const i32 x = at0 + static_cast<i32>(piece) * 8;
#pragma unroll
  for (i32 slab = 0; slab * GatedSlab::kLines < Config::kTileN; ++slab) {
    const i32 r0 = tile.row0 + slab * GatedSlab::kLines;
    if (r0 >= tile.end) break;
    const u32 buffer = staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes;
#pragma unroll
    for (int four = 0; four < GatedSlab::kLines / 32; ++four) {
      const int i = slab * (GatedSlab::kLines / 4) + four * 8;
      if (i >= Config::kAccumulators / 2) break;  // the last slab may be half of one
      const u32 to = GatedSlab::place(buffer, static_cast<u32>(four) * 32 + lane, warp);
      ptx::stmatrix_x4_trans(to, Out::pack(v[i], v[i + 1]), Out::pack(v[i + 2], v[i + 3]),
                             Out::pack(v[i + 4], v[i + 5]), Out::pack(v[i + 6], v[i + 7]));
    }
    stream_staged(group);
    if (x >= args.n / 2) continue;
#pragma unroll
    for (u32 first = 0; first < GatedSlab::kLines; first += 32) {
      const i32 r = r0 + static_cast<i32>(first + line0);
      if (r >= tile.end) break;
      put(r, x, ptx::shared_load<16>(GatedSlab::place(buffer, first + line0, piece)));
    }
  }
  stream_staged(group);  // the next tile overwrites the first slab
}

}  // namespace tw
