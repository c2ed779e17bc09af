// SPDX-License-Identifier: Apache-2.0
#pragma once
// The full epilogue's common way, to the copy engine: chunks of a tile's sums, each laid out
// without branches and sent at once. Registers have no addresses, so that the next chunk's sums are
// moved to where the first one's were.

#include "kernels/parts/full_ahead.cuh"

namespace tw {

/// Chunks of a piece of kSums sums: what is taken of them at once, and what they are moved on by.
/// kStreams: a piece at once, the slabs of which take turns in one room.
template <class Out, u32 kGate, int kSums, bool kStreams>
struct FullChunk {
  static constexpr i32 kOfPiece = kGate == kGateNone ? 2 * kSums : kSums;  // columns of D
  static constexpr i32 kMost = kStreams             ? kOfPiece
                               : kGate == kGateNone ? kSlabsOfRoom * kSlabColumns<Out>
                                                    : 64;
  static constexpr i32 kColumns = kOfPiece < kMost ? kOfPiece : kMost;
  static constexpr int kSlabs = kColumns / kSlabColumns<Out>;
  static constexpr int kChunks = kOfPiece / kColumns;
  static constexpr int kStep = kGate == kGateNeighbours ? kColumns : kColumns / 2;  // sums
};

/// Turns pairs from kFrom to below kTo round, so that the one kStep behind the first comes first.
template <int kFrom, int kTo, int kStep, class Value, int kCount>
__device__ __forceinline__ void chunk_turn(Value (&v)[kCount][2]) {
  Value old[kTo - kFrom][2];
#pragma unroll
  for (int i = 0; i < 2 * (kTo - kFrom); ++i) old[i / 2][i % 2] = v[kFrom + i / 2][i % 2];
#pragma unroll
  for (int i = 0; i < 2 * (kTo - kFrom); ++i)
    v[kFrom + i / 2][i % 2] = old[(i / 2 + kStep) % (kTo - kFrom)][i % 2];
}

/// Packed pairs of columns 8 J + lane % 4 and the one four behind it become those of 8 J +
/// 2 (lane % 4) and the one beside it.
__device__ __forceinline__ u32 chunk_close_up(u32 word, u32 lane) {
  const auto from = static_cast<int>(lane / 4 * 4 + lane % 2 * 2);
  const u32 low = __shfl_sync(0xffffffffu, word, from);
  const u32 high = __shfl_sync(0xffffffffu, word, from + 1);
  return __byte_perm(low, high, lane % 4 < 2 ? 0x5410 : 0x7632);
}

/// kWhich: a function; kActIdentity for alpha alone, kActRelu for none or relu. kC: with C. kMore:
/// with more than a bias along D's lines, C and a function. kRooms: of the warp's staging memory.
template <class In, class Out, u32 kWhich, u32 kGate, bool kC, bool kMore, int kRooms, int kPieces,
          int kSums>
struct FullChunks {
  static_assert(kPieces <= 2, "a second piece is moved to the first one's place");
  static constexpr bool kStreams =
      kRooms == 1 && !kC && (kSums <= 64 || kWhich == kActIdentity || kWhich == kActRelu);
  using Chunk = FullChunk<Out, kGate, kSums, kStreams>;
  static constexpr int kGroups = kSums / 32;
  static constexpr int kValues = kPartValues<Out>;
  static constexpr i32 kColumns = kPartColumns<Out>;  // of a part

  const GemmFullArgs& args;
  const FullRun& run;
  const FragmentOut& out;
  const FullAhead<kPieces, kGroups>& asked;  // bias
  u32& largest;
  FullAhead<kPieces, kGroups> scales;
  float bias[kGroups][2], scale[kGroups][2];  // along the lines
  float bias_across[2], scale_across[2];
  float floor;
  u32 lane;

  __device__ __forceinline__ static float along(const float (&two)[kGroups][2], u32 lane,
                                                int column, int j, int e) {
    const int from = column % 64 / 2 + 4 * j + static_cast<int>(lane % 4);
    return __shfl_sync(0xffffffffu, two[column / 64][e], from);
  }

  // alpha * sums + (beta * C + bias) of the sums from `place` on, those of column 2 `place`.
  __device__ __forceinline__ void before(const float (&d)[kSums], int place,
                                         const float (&c)[kValues], float (&v)[kValues]) const {
    // Fragments have eight columns, two of them a lane's, for four sums.
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] = d[place + i];
    fragment_before<Out, kMore, kC>(
        v, run,
        [&](int j, int e) {
          return kWhich == kActIdentity ? -0.0f : along(bias, lane, 2 * place, j, e);
        },
        bias_across, [&](int i) { return c[i]; });
  }

  __device__ __forceinline__ void function(float (&v)[kValues]) const {
    if constexpr (kWhich == kActRelu) {
#pragma unroll
      for (float& value : v) value = act::larger(value, floor);
    } else {
      fragment_activate<kWhich>(v);
    }
  }

  // v of a part without a gate, or with one whose columns lie apart.
  __device__ __forceinline__ void apart(const float (&d)[kSums], int place,
                                        const float (&c)[kValues], float (&v)[kValues]) const {
    before(d, place, c, v);
    function(v);
    if constexpr (kGate == kGateHalves) {
      float through[kValues];
      before(d, kSums / 2 + place, c, through);
#pragma unroll
      for (int i = 0; i < kValues; ++i) v[i] *= through[i];
    }
  }

  // Of neighbours, as packed pairs: value 2 j + h is of column 4 j + lane % 4 in line h.
  __device__ __forceinline__ void beside(const float (&d)[kSums], int place,
                                         u32 (&words)[kValues / 2]) const {
    const float none[kValues] = {};
    float v[kValues], through[kValues];
#pragma unroll
    for (int second = 0; second < 2; ++second) {
      float w[kValues];
      before(d, 2 * place + second * kValues, none, w);
#pragma unroll
      for (int i = 0; i < kValues / 2; ++i) {
        v[second * (kValues / 2) + i] = w[2 * i];
        through[second * (kValues / 2) + i] = w[2 * i + 1];
      }
    }
    function(v);
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] *= through[i];
#pragma unroll
    for (int i = 0; i < kValues / 2; ++i) {
      const int first = i / 2 * 4 + i % 2;
      words[i] = chunk_close_up(Out::pack(v[first], v[first + 2]), lane);
    }
  }

  __device__ __forceinline__ void more(float (&v)[kValues], int column, i32 line, i32 at) const {
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      const float two[2] = {along(scale, lane, column, j, 0), along(scale, lane, column, j, 1)};
#pragma unroll
      for (int i = 4 * j; i < 4 * j + 4; ++i) v[i] *= two[i & 1] * scale_across[(i & 2) / 2];
    }
    fragment_largest<Out>(v, run, lane, line, run.extent - at, largest);
  }

  // Part i of the chunk whose sums come first in d.
  __device__ __forceinline__ void part(const float (&d)[kSums], int i, u32 first, u32 slab,
                                       i32 line, i32 at) {
    const auto half = static_cast<u32>(i % kPartsOfSlab);
    if constexpr (kGate == kGateNeighbours) {
      u32 words[kValues / 2];
      beside(d, i * kValues, words);
      store_words(words, first, slab, half);
    } else {
      float v[kValues], c[kValues] = {};
      if (kC) store_unstage<Out>(c, first, slab, half);
      apart(d, i * kValues, c, v);
      if constexpr (kMore) more(v, i * kColumns, line, at + i * kColumns);
      store_stage<Out>(v, first, slab, half);
    }
  }

  __device__ __forceinline__ void chunk(const float (&d)[kSums], u32& turn, i32 line, i32 at) {
    const u32 room = out.staging + turn++ % kRooms * kRoomBytes;
    if (!kC) store_free<Chunk::kSlabs*(kRooms - 1)>();
    const u32 first = store_first<Out>(lane, room);
#pragma unroll
    for (int i = 0; i < Chunk::kSlabs * kPartsOfSlab; ++i)
      part(d, i, first, static_cast<u32>(i / kPartsOfSlab), line, at);
    store_send<Out, Chunk::kSlabs>(out.map, room, line, at, out.z);
  }

  __device__ __forceinline__ void stream(const float (&d)[kSums], u32& turn, i32 line, i32 at) {
#pragma unroll
    for (int i = 0; i < Chunk::kSlabs; ++i) {
      const u32 slab = out.staging + turn++ % kSlabsOfRoom * kStoreBytes;
      store_free<kSlabsOfRoom - 1>();
#pragma unroll
      for (int j = 0; j < kPartsOfSlab; ++j)
        part(d, i * kPartsOfSlab + j, store_first<Out>(lane, slab), 0, line, at);
      store_send<Out, 1>(out.map, slab, line, at + i * kSlabColumns<Out>, out.z);
    }
  }

  __device__ __forceinline__ void next_chunk(float (&d)[kSums]) {
    constexpr int kStep = Chunk::kStep, kTurn = kStep / 32;
#pragma unroll
    for (int i = 0; i + kStep < kSums; ++i) d[i] = d[i + kStep];
    if constexpr (kGate == kGateHalves) {
      chunk_turn<0, kGroups / 2, kTurn>(bias);
      chunk_turn<kGroups / 2, kGroups, kTurn>(bias);
    } else {
      chunk_turn<0, kGroups, kTurn>(bias);
    }
    if (kMore) chunk_turn<0, kGroups, kTurn>(scale);
  }

  // What goes along the lines for all pieces, and across them for piece `piece`.
  __device__ __forceinline__ void take_along() {
    const bool no_bias = kMore && args.bias_by == kFullAcross;
    const bool no_scale = args.scale_by == kFullAcross;
#pragma unroll
    for (int i = 0; i < 2 * kGroups; ++i) {
      bias[i / 2][i % 2] = no_bias ? -0.0f : ahead_value<In>(args, asked.raw[i / 2][i % 2]);
      if (kMore) scale[i / 2][i % 2] = no_scale ? 1.0f : act::from_bits(scales.raw[i / 2][i % 2]);
    }
  }
  __device__ __forceinline__ void take_across(int piece) {
    const int last = kPieces - 1;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const u32 raw = piece == 0 ? asked.raw[0][half] : asked.raw[last][half];
      const u32 factor = piece == 0 ? scales.raw[0][half] : scales.raw[last][half];
      bias_across[half] = args.bias_by == kFullAcross ? ahead_value<In>(args, raw) : -0.0f;
      scale_across[half] = args.scale_by == kFullAcross ? act::from_bits(factor) : 1.0f;
    }
  }

  __device__ __forceinline__ void tile(float (&d)[kPieces][kSums], u32& turn) {
    lane = ptx::lane_id_again();
    floor = args.activation == kActRelu ? 0.0f : act::from_bits(0xff800000u);
    if (kMore) full_ask_scale(args, run, out.line, out.at, scales);
    take_along();
    if (kC) {
      ptx::async_copy_wait<0>();
      ptx::sync_warp();
    }
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      const i32 line = out.line + piece * 64;
      if (line >= run.lines) break;
      if (kMore) take_across(piece);
#pragma unroll 1
      for (int i = 0; i < Chunk::kChunks; ++i) {
        const i32 at = out.at + i * Chunk::kColumns;
        if (kC && kPieces * Chunk::kChunks > kRooms && piece * Chunk::kChunks + i >= kRooms) {
          const u32 room = out.staging + turn % kRooms * kRoomBytes;
          store_free<0>();
          ahead_chunk<Out, Chunk::kSlabs>(args, run, room, line, at);
          ptx::async_copy_wait<0>();
          ptx::sync_warp();
        }
        if constexpr (kStreams)
          stream(d[0], turn, line, at);
        else
          chunk(d[0], turn, line, at);
        if (Chunk::kChunks > 1) next_chunk(d[0]);
      }
#pragma unroll
      for (int i = 0; kPieces > 1 && i < kSums; ++i) d[0][i] = d[kPieces - 1][i];
    }
  }
};

/// C of a tile's first chunks, as many as there are rooms.
template <class Out, int kRooms, int kPieces, int kSums>
__device__ __forceinline__ void full_ask_c(const GemmFullArgs& args, const FullRun& run,
                                           u32 staging, i32 line, i32 at, u32 turn) {
  using Chunk = FullChunk<Out, kGateNone, kSums, false>;
  constexpr int kAll = kPieces * Chunk::kChunks;
  store_free<0>();
#pragma unroll 1
  for (int i = 0; i < (kAll < kRooms ? kAll : kRooms); ++i)
    ahead_chunk<Out, Chunk::kSlabs>(
        args, run, staging + (turn + static_cast<u32>(i)) % kRooms * kRoomBytes,
        line + i / Chunk::kChunks * 64, at + i % Chunk::kChunks * Chunk::kColumns);
}

/// Whether the common way has what is asked for, of a D that goes through its map.
template <class Out>
__device__ __forceinline__ bool full_in_chunks(const GemmFullArgs& args, const FullRun& run) {
  if (args.flags & (kFullAlphaAlone | kFullShort)) return true;
  if (run.beta != 0.0f) return false;
  if (args.gate == kGateNone) return args.activation > kActRelu;
  return args.activation == kActSilu && !full_has_more(args) &&
         (args.gate == kGateHalves || Out::kBytes == 2);
}

template <class In, class Out, int kRooms, int kPieces, int kSums>
__device__ __forceinline__ void full_chunks(float (&d)[kPieces][kSums], const GemmFullArgs& args,
                                            const FullRun& run, const FragmentOut& out,
                                            const FullAhead<kPieces, kSums / 32>& bias, u32& turn,
                                            u32& largest) {
#define TW_FULL_CHUNKS(...)                                                                     \
  FullChunks<In, Out, __VA_ARGS__, kRooms, kPieces, kSums>{args, run, out, bias, largest}.tile( \
      d, turn)
  const bool more = full_has_more(args);
  if (args.flags & kFullAlphaAlone) {
    TW_FULL_CHUNKS(kActIdentity, kGateNone, false, false);
  } else if (args.gate == kGateHalves) {
    if constexpr (kSums >= 64) TW_FULL_CHUNKS(kActSilu, kGateHalves, false, false);
  } else if (args.gate == kGateNeighbours) {
    if constexpr (kSums >= 64 && Out::kBytes == 2)
      TW_FULL_CHUNKS(kActSilu, kGateNeighbours, false, false);
  } else if (args.activation == kActGelu) {
    if (more)
      TW_FULL_CHUNKS(kActGelu, kGateNone, false, true);
    else
      TW_FULL_CHUNKS(kActGelu, kGateNone, false, false);
  } else if (args.activation == kActGeluTanh) {
    if (more)
      TW_FULL_CHUNKS(kActGeluTanh, kGateNone, false, true);
    else
      TW_FULL_CHUNKS(kActGeluTanh, kGateNone, false, false);
  } else if (args.activation == kActSilu) {
    if (more)
      TW_FULL_CHUNKS(kActSilu, kGateNone, false, true);
    else
      TW_FULL_CHUNKS(kActSilu, kGateNone, false, false);
  } else if (run.beta != 0.0f) {
    if (more)
      TW_FULL_CHUNKS(kActRelu, kGateNone, true, true);
    else
      TW_FULL_CHUNKS(kActRelu, kGateNone, true, false);
  } else {
    if (more)
      TW_FULL_CHUNKS(kActRelu, kGateNone, false, true);
    else
      TW_FULL_CHUNKS(kActRelu, kGateNone, false, false);
  }
#undef TW_FULL_CHUNKS
}

}  // namespace tw
