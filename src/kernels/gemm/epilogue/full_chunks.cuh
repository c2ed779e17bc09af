// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common form of the full epilogue, for a D that the TMA stores. It computes a tile in chunks,
// without branches, and sends each chunk at once. With short functions, the chunks of a tile are
// unrolled. With longer ones they would overflow the instruction cache (2 us of 61 us for 4096 x
// 7168 x 512 with gelu_tanh). There a loop moves the next chunk's accumulators to where the first
// one's were, since registers cannot be indexed.

#include "kernels/gemm/epilogue/full_ahead.cuh"
#include "kernels/gemm/epilogue/full_board.cuh"

namespace tw {

/// The options that a consumer loop is compiled for: activation, bias along D's lines, gate, C, and
/// the rest ("more": full_has_more). With kC or kMore, kActRelu stands for relu or no activation,
/// and bias for any or none, as the arguments say. A bias that is not asked for is -0.
template <u32 kFunction, bool kWithBias, u32 kGateOf, bool kWithC, bool kWithMore>
struct FullWay {
  static constexpr u32 kWhich = kFunction, kGate = kGateOf;
  static constexpr bool kBias = kWithBias, kC = kWithC, kMore = kWithMore;
  static constexpr bool kShort = kWhich == kActIdentity || kWhich == kActRelu;
  static constexpr bool kFloor = kWhich == kActRelu && (kC || kMore);
  // Relu is a part of the conversion to D's type.
  static constexpr bool kPacks = kWhich == kActRelu && !kFloor;
};

/// How a piece of kAccumulators accumulators is cut into chunks: at most half of the staging slabs,
/// so that the TMA reads one chunk while the next is written. If the staging memory holds just the
/// slabs of a piece, and an odd number of them, a chunk is the whole piece.
template <class Slab, u32 kGate, int kAccumulators, int kRing>
struct FullChunk {
  static constexpr i32 kOfPiece =
      kGate == kGateNone ? 2 * kAccumulators : kAccumulators;  // columns of D
  static constexpr int kSlabsOfPiece = kOfPiece / Slab::kColumns;
  static constexpr bool kAll = kRing == kSlabsOfPiece && kRing % 2 != 0;
  static constexpr int kMost = kAll ? kRing : kRing < 4 ? 1 : kRing / 2;
  static constexpr int kSlabs = kSlabsOfPiece < kMost ? kSlabsOfPiece : kMost;
  static constexpr i32 kColumns = kSlabs * Slab::kColumns;
  static constexpr int kChunks = kSlabsOfPiece / kSlabs;
  static constexpr int kStep = kGate == kGateNeighbours ? kColumns : kColumns / 2;  // accumulators
  static_assert(kChunks * kColumns == kOfPiece, "a piece must have whole chunks");
};

/// Writes a warp's part of a tile. kRing: slabs of the warp's staging memory.
template <class In, class Slab, class Way, int kRing, int kPieces, int kAccumulators, int kOfThread>
struct FullChunks {
  static_assert(kPieces <= 2, "at most two pieces: the loop moves the second to the first");
  using Out = typename Slab::Out;
  using Chunk = FullChunk<Slab, Way::kGate, kAccumulators, kRing>;
  static_assert(Chunk::kAll || (kRing & (kRing - 1)) == 0,
                "slab numbers wrap modulo a power of two");
  static constexpr int kValues = Slab::kValues;
  // With many accumulators, registers hold the bias of one part only.
  static constexpr bool kBiasByPart = kAccumulators > 64 && Chunk::kAll;
  static constexpr i32 kColumns = Slab::kPartColumns;

  const GemmEpilogueArgs& args;
  const FullRun& run;
  const FragmentOut& out;
  FullLoaded<kPieces, kOfThread>& asked;
  u32 board;  // of the lane's first two columns
  u32 lane;
  float floor;
  u32& largest;
  // Along the lines, for a chunk or part: two columns for each four accumulators.
  float bias[kBiasByPart ? kValues / 2 : kAccumulators / 2];

  // Reads the bias of a chunk.
  __device__ __forceinline__ void take_bias(u32 along) {
    if constexpr (Way::kBias && !kBiasByPart) {
#pragma unroll
      for (int i = 0; i < Chunk::kStep; i += 4) {
        take_two(along, i);
        if (Way::kGate == kGateHalves) take_two(along, kAccumulators / 2 + i);
      }
    }
  }
  __device__ __forceinline__ void take_two(u32 along, int place) {
    float two[2];
    board_take(along + static_cast<u32>(place) * 8, two);
    bias[place / 2] = two[0], bias[place / 2 + 1] = two[1];
  }
  // Reads the bias of the part whose accumulators begin at `place` in the chunk.
  __device__ __forceinline__ void take_bias_of_part(u32 along, int place) {
    if constexpr (Way::kBias && kBiasByPart) {
#pragma unroll
      for (int i = 0; i < kValues; i += 4) take_two(along + static_cast<u32>(place) * 8, i);
    }
  }

  // v = alpha * d + (beta * C + bias), of the accumulators from `place` on in the chunk at `base`.
  __device__ __forceinline__ void before(const float (&d)[kAccumulators], int base, int place,
                                         int piece, const float (&c)[kValues],
                                         float (&v)[kValues]) const {
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] = d[base + place + i];
    if constexpr (Way::kBias) {
      float across[2] = {-0.0f, -0.0f};
      if constexpr (Way::kMore) {
        across[0] = board_bias<In>(args, asked.bias_across[piece][0]);
        across[1] = board_bias<In>(args, asked.bias_across[piece][1]);
      }
      fragment_before<Way::kMore, Way::kC>(
          v, run, [&](int j, int e) { return bias[((kBiasByPart ? 0 : place) + 4 * j) / 2 + e]; },
          across, [&](int i) { return c[i]; });
    }
  }

  __device__ __forceinline__ void function(float (&v)[kValues]) const {
    if constexpr (Way::kFloor) {
#pragma unroll
      for (float& value : v) value = act::larger(value, floor);
    } else if constexpr (!Way::kPacks) {
      fragment_activate<Way::kWhich>(v);
    }
  }

  // A part of D without a gate, or with a gate of two halves.
  __device__ __forceinline__ void apart(const float (&d)[kAccumulators], int base, int place,
                                        int piece, const float (&c)[kValues],
                                        float (&v)[kValues]) const {
    before(d, base, place, piece, c, v);
    function(v);
    if constexpr (Way::kGate == kGateHalves) {
      float through[kValues];
      before(d, base, kAccumulators / 2 + place, piece, c, through);
#pragma unroll
      for (int i = 0; i < kValues; ++i) v[i] *= through[i];
    }
  }

  // Stages part `i` of a chunk with a gate of neighbors: column 4 j + lane % 4 of D comes from a
  // lane's columns 8 j + 2 (lane % 4) and the one after.
  __device__ __forceinline__ void beside(const float (&d)[kAccumulators], int base, int i,
                                         u32 slab) const {
    const float none[kValues] = {};
    const u32 first = store_place<Slab>(slab, lane / 4, 0) + lane % 4 * 2;
#pragma unroll
    for (int second = 0; second < 2; ++second) {
      float w[kValues], v[kValues / 2];
      before(d, base, (2 * i + second) * kValues, 0, none, w);
#pragma unroll
      for (int j = 0; j < kValues / 2; ++j) v[j] = activate(Way::kWhich, w[2 * j]) * w[2 * j + 1];
#pragma unroll
      for (int j = 0; j < kValues / 4; ++j) {
        const u32 both = Out::pack(v[2 * j], v[2 * j + 1]);
        const auto at = static_cast<u32>(i % Slab::kParts * kColumns + second * kValues + 4 * j);
        const u32 to = store_at(first, at / 8) + at % 8 * 2;
        ptx::shared_store<2>(to, static_cast<unsigned short>(both));
        ptx::shared_store<2>(to + 8 * Slab::kLine, static_cast<unsigned short>(both >> 16));
      }
    }
  }

  __device__ __forceinline__ void more(float (&v)[kValues], u32 scales, int piece, i32 line,
                                       i32 at) const {
#pragma unroll
    for (int j = 0; j < kValues / 4; ++j) {
      float two[2];
      board_take(scales + static_cast<u32>(j) * 32, two);
#pragma unroll
      for (int i = 4 * j; i < 4 * j + 4; ++i)
        v[i] *= two[i & 1] * act::from_bits(asked.scale_across[piece][(i & 2) / 2]);
    }
    if (args.amax == 0) return;
    if (line + static_cast<i32>(kGemmStoreLines) <= run.lines && at + kColumns <= run.extent) {
#pragma unroll
      for (const float& value : v) largest = max(largest, act::bits(value) & 0x7fffffffu);
    } else {
      fragment_largest(v, run, lane, line, run.extent - at, largest);
    }
  }

  // Stages part i of the chunk at `base` in slab `slab`. `along` is the chunk's place in the board.
  __device__ __forceinline__ void part(const float (&d)[kAccumulators], int base, int i, int piece,
                                       u32 slab, u32 along, i32 line, i32 at) {
    constexpr int kPending = kRing / Chunk::kSlabs - 1;  // chunks
    const auto half = static_cast<u32>(i % Slab::kParts);
    if constexpr (Way::kGate == kGateNeighbours) {
      if (i == 0) store_free<kPending>(lane);
      beside(d, base, i, slab);
    } else {
      const u32 first = store_first<Slab>(lane, slab);
      float v[kValues], c[kValues] = {};
      take_bias_of_part(along, i * kValues);
      if (Way::kC) store_unstage<Slab>(c, first, half);
      apart(d, base, i * kValues, piece, c, v);
      if constexpr (Way::kMore)
        more(v, along + (2 * kAccumulators + static_cast<u32>(i) * kColumns) * 4, piece, line,
             at + i * kColumns);
      if (!Way::kC && i == 0) store_free<kPending>(lane);
      store_stage<Slab, Way::kPacks>(v, first, half);
    }
  }

  // Activations that take an exponential and a reciprocal, both with a long latency. A warp that
  // has its scheduler to itself must keep several in flight.
  static constexpr bool kByPairs = (Way::kWhich == kActGeluTanh || Way::kWhich == kActSilu) &&
                                   Way::kGate == kGateNone && !Way::kC && !Way::kMore;

  // Factor of alpha and bias that the activation divides out: see gelu_tanh_power_of_scaled().
  static constexpr float kFactor =
      kByPairs && Way::kWhich == kActGeluTanh ? act::kGeluTanhFactor : 1.0f;

  // Whether the second piece's accumulators move to the first one's place as alpha * d + bias,
  // which costs no more than a move.
  static constexpr bool kMovesBiased = kByPairs && kPieces == 2 && Chunk::kChunks == 1;

  __device__ __forceinline__ void move_biased(float (&d)[kPieces][kAccumulators], int from) const {
#pragma unroll
    for (int i = 0; i < kAccumulators; i += 4) {
      float two[2];
      if constexpr (kBiasByPart)
        board_take(board + static_cast<u32>(i) * 8, two);
      else
        two[0] = bias[i / 2], two[1] = bias[i / 2 + 1];
#pragma unroll
      for (int j = i; j < i + 4; ++j) d[0][j] = act::fused(run.alpha, d[from][j], two[j % 2]);
    }
  }

  // Activates and stages a chunk as a software pipeline over pairs: exponent, power, reciprocal and
  // product. Each step works on a pair that is kBehind pairs earlier than that of the step before.
  __device__ __forceinline__ void by_pairs(float (&d)[kPieces][kAccumulators], u32 turn,
                                           u32 along) {
    constexpr int kParts = Chunk::kSlabs * Slab::kParts, kPairs = kValues / 2;
    constexpr int kAll = kParts * kPairs, kBehind = 2;
    static_assert(Way::kBias && !Way::kShort,
                  "by_pairs applies alpha itself and reads its chunk from d[0]");
    float x[2 * kAll], y[2 * kAll], column[2][kValues / 2];
    // Reads the bias of a part half a part ahead.
    constexpr bool kAsks = !kMovesBiased && kBiasByPart;
    const auto ask = [&](int part) {
#pragma unroll
      for (int i = 0; kAsks && i < kValues; i += 4) {
        float two[2];
        board_take(along + static_cast<u32>(part * kValues + i) * 8, two);
        column[part % 2][i / 2] = two[0], column[part % 2][i / 2 + 1] = two[1];
      }
    };
    store_free<kRing / Chunk::kSlabs - 1>(lane);  // registers do not suffice for it later
    ask(0);
#pragma unroll
    for (int step = 0; step < kAll + 3 * kBehind; ++step) {
      if (step % kPairs == kPairs / 2 && step / kPairs + 1 < kParts) ask(step / kPairs + 1);
      const int power = step - kBehind, inverse = power - kBehind, last = inverse - kBehind;
#pragma unroll
      for (int i = 2 * step; i < 2 * step + 2 && step < kAll; ++i) {
        const int place = i / 4 * 2 + i % 2;
        float v = d[0][i];
        if constexpr (kAsks)
          v = act::fused(run.alpha, v, column[i / kValues % 2][place % (kValues / 2)]);
        else if constexpr (!kMovesBiased)
          v = act::fused(run.alpha, v, bias[place]);
        x[i] = act::finite_below(v);
        y[i] =
            Way::kWhich == kActSilu ? act::silu_power(x[i]) : act::gelu_tanh_power_of_scaled(x[i]);
      }
#pragma unroll
      for (int i = 2 * power; i < 2 * power + 2 && power >= 0 && power < kAll; ++i)
        y[i] = act::fused(act::exp2_approx(y[i]), kFactor, kFactor);
#pragma unroll
      for (int i = 2 * inverse; i < 2 * inverse + 2 && inverse >= 0 && inverse < kAll; ++i)
        y[i] = act::reciprocal_approx(y[i]);
#pragma unroll
      for (int i = 2 * last; i < 2 * last + 2 && last >= 0; ++i) x[i] *= y[i];
      if (last >= 0 && last % kPairs == kPairs - 1) {
        const int part = last / kPairs;
        float v[kValues];
#pragma unroll
        for (int i = 0; i < kValues; ++i) v[i] = x[part * kValues + i];
        const u32 slab = slab_of(turn, static_cast<u32>(part / Slab::kParts));
        store_stage<Slab>(v, store_first<Slab>(lane, slab), static_cast<u32>(part % Slab::kParts));
      }
    }
  }

  __device__ __forceinline__ u32 slab_of(u32 turn, u32 s) const {
    return out.staging + (Chunk::kAll ? s : (turn + s) % kRing) * Slab::kBytes;
  }

  // Stores the chunk's slabs. `turn` is the number of slabs that the warp has written before.
  __device__ __forceinline__ void send(u32 turn, i32 line, i32 at) const {
    const bool partial =
        args.device_m != 0 &&
        (line + static_cast<i32>(kGemmStoreLines) > run.lines || at + Chunk::kColumns > run.extent);
    ptx::fence_async_shared();
    ptx::sync_warp();
    if (partial) [[unlikely]] {
#pragma unroll 1
      for (u32 s = 0; s < Chunk::kSlabs; ++s)
        store_inside<Slab>(args, run, lane, slab_of(turn, s), line,
                           at + static_cast<i32>(s) * Slab::kColumns);
    }
    if (lane == 0) {
#pragma unroll
      for (u32 s = 0; s < Chunk::kSlabs; ++s)
        if (!partial)
          ptx::store_tile(out.map, slab_of(turn, s), at + static_cast<i32>(s) * Slab::kColumns,
                          line, out.z);
      ptx::store_commit();
    }
  }

  // Loads C of a chunk for which full_ask_c had no room.
  __device__ __forceinline__ void late_c(u32 turn, i32 line, i32 at) const {
    store_free<0>(lane);
#pragma unroll 1
    for (u32 s = 0; s < Chunk::kSlabs; ++s)
      ahead_slab<Slab>(args, run, lane, slab_of(turn, s), line,
                       at + static_cast<i32>(s) * Slab::kColumns);
    ptx::async_copy_commit();
    ptx::async_copy_wait<0>();
    ptx::sync_warp();
  }

  // Writes chunk number `of` of the tile, in piece `piece`. Accumulators begin at d[from][base].
  __device__ __forceinline__ void chunk(float (&d)[kPieces][kAccumulators], int from, int base,
                                        int piece, int of, u32& turn, u32 along, i32 line, i32 at) {
    if (Way::kC && of * Chunk::kSlabs >= kRing) late_c(turn, line, at);
    if constexpr (kByPairs) by_pairs(d, turn, along);
#pragma unroll
    for (u32 s = 0; !kByPairs && s < Chunk::kSlabs; ++s)
#pragma unroll
      for (int j = 0; j < Slab::kParts; ++j)
        part(d[from], base, static_cast<int>(s) * Slab::kParts + j, piece, slab_of(turn, s), along,
             line, at);
    send(turn, line, at);
    turn += Chunk::kSlabs;
  }

  __device__ __forceinline__ u32 along(int chunk) const {
    return board + static_cast<u32>(chunk * Chunk::kStep) * 8;
  }

  // Writes a tile with all chunks unrolled.
  __device__ __forceinline__ void at_length(float (&d)[kPieces][kAccumulators], u32& turn) {
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const i32 line = out.line + piece * 64;
      if (line >= run.lines) break;
#pragma unroll
      for (int i = 0; i < Chunk::kChunks; ++i) {
        if (Chunk::kChunks > 1) take_bias(along(i));
        chunk(d, piece, i * Chunk::kStep, piece, piece * Chunk::kChunks + i, turn, along(i), line,
              out.at + i * Chunk::kColumns);
      }
    }
  }

  // Writes a tile in a loop over chunks.
  __device__ __forceinline__ void in_turn(float (&d)[kPieces][kAccumulators], u32& turn) {
    if constexpr (kMovesBiased) move_biased(d, 0);
#pragma unroll 1
    for (int piece = 0; piece < kPieces; ++piece) {
      const i32 line = out.line + piece * 64;
      if (line >= run.lines) break;
#pragma unroll 1
      for (int i = 0; i < Chunk::kChunks; ++i) {
        if (Chunk::kChunks > 1) take_bias(along(i));
        chunk(d, 0, 0, 0, piece * Chunk::kChunks + i, turn, along(i), line,
              out.at + i * Chunk::kColumns);
#pragma unroll
        for (int j = 0; Chunk::kChunks > 1 && j + Chunk::kStep < kAccumulators; ++j)
          d[0][j] = d[0][j + Chunk::kStep];
      }
      if constexpr (kPieces > 1) {
        if (piece + 1 == kPieces) break;
        if constexpr (kMovesBiased) move_biased(d, 1);
#pragma unroll
        for (int i = 0; !kMovesBiased && i < kAccumulators; ++i) d[0][i] = d[1][i];
#pragma unroll
        for (int i = 0; Way::kMore && i < 2; ++i) {
          asked.bias_across[0][i] = asked.bias_across[1][i];
          asked.scale_across[0][i] = asked.scale_across[1][i];
        }
      }
    }
  }

  __device__ __forceinline__ void tile(float (&d)[kPieces][kAccumulators], u32& turn) {
    if constexpr (!Way::kBias) {
      if (run.alpha != 1.0f) {
#pragma unroll
        for (auto& piece : d)
#pragma unroll
          for (float& value : piece) value *= run.alpha;
      }
    }
    if (Chunk::kChunks == 1) take_bias(board);
    if constexpr (Way::kShort)
      at_length(d, turn);
    else
      in_turn(d, turn);
  }
};

/// Loads C of as much of a tile as the staging memory holds.
template <class Slab, int kRing, int kPieces, int kAccumulators>
__device__ __forceinline__ void full_ask_c(const GemmEpilogueArgs& args, const FullRun& run,
                                           u32 lane, u32 staging, i32 line, i32 at, u32 turn) {
  constexpr int kOfPiece = 2 * kAccumulators / Slab::kColumns;
  constexpr int kAll = kPieces * kOfPiece;
  store_free<0>(lane);
#pragma unroll 1
  for (int i = 0; i < (kAll < kRing ? kAll : kRing); ++i)
    ahead_slab<Slab>(args, run, lane, staging + (turn + static_cast<u32>(i)) % kRing * Slab::kBytes,
                     line + i / kOfPiece * 64, at + i % kOfPiece * Slab::kColumns);
  ptx::async_copy_commit();
}

/// Whether FullChunks supports the run's options, for a D with a tensor map.
template <class Out, i32 kTileN>
__device__ __forceinline__ bool full_in_chunks(const GemmEpilogueArgs& args, const FullRun& run) {
  if (args.flags & (kFullNoEpilogue | kFullSimpleEpilogue)) return true;
  if (run.beta != 0.0f) return false;
  if (args.gate == kGateNone) return args.activation > kActRelu;
  return kTileN % 128 == 0 && args.activation == kActSilu && !full_has_more(args) &&
         (args.gate == kGateHalves || Out::kBytes == 2);
}

}  // namespace tw
