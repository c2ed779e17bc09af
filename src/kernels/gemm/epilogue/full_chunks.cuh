// SPDX-License-Identifier: Apache-2.0
#pragma once
// The common form of the epilogue kernels' epilogue, for a D that the TMA stores. It computes a
// tile in chunks, without branches, and stores each chunk as soon as it is staged. Nested units of
// a warp's D:
//
//   row block  16 lines by the tile's columns: the warp's part of one wgmma (M = 64)
//   chunk      16 lines by FullChunk::kColumns: one or more slabs that are stored together
//   slab       16 lines by 64 or 128 bytes: what one TMA instruction stores
//   fragment   16 lines by 64 bytes: what a warp computes at a time (full_fragment.cuh)
//
// With short activations, the chunks of a tile are unrolled. With longer ones the unrolled chunks
// would overflow the instruction cache, which cost 2 of 61 us for 4096 x 7168 x 512 with gelu_tanh.
// A loop is used instead. It moves the next chunk's accumulators to where the first one's were,
// since registers cannot be indexed.
// "full" in names means an epilogue kernel.

#include "kernels/gemm/epilogue/full_ahead.cuh"
#include "kernels/gemm/epilogue/full_board.cuh"

namespace tw {

/// The options that a consumer loop is compiled for: activation, a bias along D's lines
/// (kFullPerElement), gate, C, and the extras of full_has_extras(). A loop may also serve launches
/// that lack one of its options:
/// - A loop with kBias also serves launches without a bias: they add -0. Loops without kBias exist
///   only for identity and relu without gate, C and extras.
/// - A loop with kActRelu that has kC or kExtras also serves launches without activation.
template <u32 kOfActivation, bool kWithBias, u32 kOfGate, bool kWithC, bool kWithExtras>
struct FullOptions {
  static constexpr u32 kActivation = kOfActivation, kGate = kOfGate;
  static constexpr bool kBias = kWithBias, kC = kWithC, kExtras = kWithExtras;
  static constexpr bool kShortActivation = kActivation == kActIdentity || kActivation == kActRelu;
  static constexpr bool kRunTimeRelu = kActivation == kActRelu && (kC || kExtras);
  // The instruction that converts to D's type also applies relu.
  static constexpr bool kReluInPack = kActivation == kActRelu && !kRunTimeRelu;
};

/// How a row block of kAccumulators accumulators is cut into chunks. A chunk takes at most half of
/// the staging slabs, so that the TMA reads one chunk while the next is written. If the staging
/// memory holds just the slabs of a row block, and an odd number of them, a chunk is the whole row
/// block.
template <class Slab, u32 kGate, int kAccumulators, int kStagingSlabs>
struct FullChunk {
  static constexpr i32 kRowBlockColumns =
      kGate == kGateNone ? 2 * kAccumulators : kAccumulators;  // columns of D
  static constexpr int kRowBlockSlabs = kRowBlockColumns / Slab::kColumns;
  static constexpr bool kWholeRowBlock = kStagingSlabs == kRowBlockSlabs && kStagingSlabs % 2 != 0;
  static constexpr int kMostSlabs = kWholeRowBlock      ? kStagingSlabs
                                    : kStagingSlabs < 4 ? 1
                                                        : kStagingSlabs / 2;
  static constexpr int kSlabs = kRowBlockSlabs < kMostSlabs ? kRowBlockSlabs : kMostSlabs;
  static constexpr i32 kColumns = kSlabs * Slab::kColumns;
  static constexpr int kChunks = kRowBlockSlabs / kSlabs;
  static constexpr int kAccumulatorsOfChunk = kGate == kGateInterleaved ? kColumns : kColumns / 2;
  static_assert(kChunks * kColumns == kRowBlockColumns, "a row block must have whole chunks");
};

/// Writes a warp's part of a tile.
template <class In, class Slab, class Options, int kStagingSlabs, int kRowBlocks, int kAccumulators,
          int kThreadColumns>
struct FullChunks {
  static_assert(kRowBlocks <= 2, "at most two row blocks: the loop moves the second to the first");
  using Out = typename Slab::Out;
  using Chunk = FullChunk<Slab, Options::kGate, kAccumulators, kStagingSlabs>;
  static_assert(Chunk::kWholeRowBlock || (kStagingSlabs & (kStagingSlabs - 1)) == 0,
                "slab numbers wrap modulo a power of two");
  static constexpr int kValues = Slab::kValues;
  // With many accumulators, registers hold the bias of one fragment only.
  static constexpr bool kBiasByFragment = kAccumulators > 64 && Chunk::kWholeRowBlock;
  static constexpr i32 kColumns = Slab::kFragmentColumns;

  const GemmEpilogueArgs& args;
  const FullRun& run;
  const FragmentOut& out;
  FullLoaded<kRowBlocks, kThreadColumns>& loaded;
  u32 table;  // shared address of bias and d_factor of the lane's first two columns
  u32 lane;
  float floor;  // with kRunTimeRelu: 0 if the launch has relu, otherwise minus infinity
  u32& largest;
  // The bias along D's lines of a chunk or a fragment: the values of two columns for every four
  // accumulators.
  float bias[kBiasByFragment ? kValues / 2 : kAccumulators / 2];

  // Reads the bias of the chunk whose entries in the table begin at `chunk_table`.
  __device__ __forceinline__ void read_bias(u32 chunk_table) {
    if constexpr (Options::kBias && !kBiasByFragment) {
#pragma unroll
      for (int i = 0; i < Chunk::kAccumulatorsOfChunk; i += 4) {
        read_two(chunk_table, i);
        if (Options::kGate == kGateHalves) read_two(chunk_table, kAccumulators / 2 + i);
      }
    }
  }
  __device__ __forceinline__ void read_two(u32 chunk_table, int place) {
    float two[2];
    table_read_two(chunk_table + static_cast<u32>(place) * 8, two);
    bias[place / 2] = two[0], bias[place / 2 + 1] = two[1];
  }
  // Reads the bias of the fragment whose accumulators begin at `place` in the chunk.
  __device__ __forceinline__ void read_fragment_bias(u32 chunk_table, int place) {
    if constexpr (Options::kBias && kBiasByFragment) {
#pragma unroll
      for (int i = 0; i < kValues; i += 4) read_two(chunk_table + static_cast<u32>(place) * 8, i);
    }
  }

  // With kBias: v = alpha * d + (beta * C + bias). Without it: v = d, because write_tile() has
  // already multiplied d by alpha. The values are those of the accumulators from `place` on, in the
  // chunk whose accumulators begin at d[base].
  __device__ __forceinline__ void linear(const float (&d)[kAccumulators], int base, int place,
                                         int across_index, const float (&c)[kValues],
                                         float (&v)[kValues]) const {
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] = d[base + place + i];
    if constexpr (Options::kBias) {
      float across[2] = {-0.0f, -0.0f};
      if constexpr (Options::kExtras) {
        across[0] = table_bias_value<In>(args, loaded.bias_across[across_index][0]);
        across[1] = table_bias_value<In>(args, loaded.bias_across[across_index][1]);
      }
      fragment_linear<Options::kExtras, Options::kC>(
          v, run,
          [&](int j, int e) { return bias[((kBiasByFragment ? 0 : place) + 4 * j) / 2 + e]; },
          across, [&](int i) { return c[i]; });
    }
  }

  __device__ __forceinline__ void activate_values(float (&v)[kValues]) const {
    if constexpr (Options::kRunTimeRelu) {
#pragma unroll
      for (float& value : v) value = act::larger(value, floor);
    } else if constexpr (!Options::kReluInPack) {
      fragment_activate<Options::kActivation>(v);
    }
  }

  // Computes a fragment of D without a gate or with a gate of halves.
  __device__ __forceinline__ void compute_fragment(const float (&d)[kAccumulators], int base,
                                                   int place, int across_index,
                                                   const float (&c)[kValues],
                                                   float (&v)[kValues]) const {
    linear(d, base, place, across_index, c, v);
    activate_values(v);
    if constexpr (Options::kGate == kGateHalves) {
      float value_elements[kValues];
      linear(d, base, kAccumulators / 2 + place, across_index, c, value_elements);
#pragma unroll
      for (int i = 0; i < kValues; ++i) v[i] *= value_elements[i];
    }
  }

  // Computes and stages fragment `i` of a chunk with an interleaved gate: column 4 j + lane % 4 of
  // D comes from the lane's columns 8 j + 2 (lane % 4) and 8 j + 2 (lane % 4) + 1.
  __device__ __forceinline__ void stage_interleaved_gate(const float (&d)[kAccumulators], int base,
                                                         int i, u32 slab) const {
    const float none[kValues] = {};
    const u32 first = store_address<Slab>(slab, lane / 4, 0) + lane % 4 * 2;
#pragma unroll
    for (int second = 0; second < 2; ++second) {
      float w[kValues], v[kValues / 2];
      linear(d, base, (2 * i + second) * kValues, 0, none, w);
#pragma unroll
      for (int j = 0; j < kValues / 2; ++j)
        v[j] = activate(Options::kActivation, w[2 * j]) * w[2 * j + 1];
#pragma unroll
      for (int j = 0; j < kValues / 4; ++j) {
        const u32 both = Out::pack(v[2 * j], v[2 * j + 1]);
        const auto at =
            static_cast<u32>(i % Slab::kFragments * kColumns + second * kValues + 4 * j);
        const u32 to = store_piece_address(first, at / 8) + at % 8 * 2;
        ptx::shared_store<2>(to, static_cast<unsigned short>(both));
        ptx::shared_store<2>(to + 8 * Slab::kLine, static_cast<unsigned short>(both >> 16));
      }
    }
  }

  // Applies the extras that come after the activation. `factors` is the fragment's place in the
  // table.
  __device__ __forceinline__ void d_factor_and_amax(float (&v)[kValues], u32 factors,
                                                    int across_index, i32 line, i32 at) const {
#pragma unroll
    for (int j = 0; j < kValues / 4; ++j) {
      float two[2];
      table_read_two(factors + static_cast<u32>(j) * 32, two);
#pragma unroll
      for (int i = 4 * j; i < 4 * j + 4; ++i)
        v[i] *= two[i & 1] * act::from_bits(loaded.d_factor_across[across_index][(i & 2) / 2]);
    }
    if (args.amax == 0) return;
    if (line + static_cast<i32>(kGemmStoreLines) <= run.lines && at + kColumns <= run.extent) {
#pragma unroll
      for (const float& value : v) largest = max(largest, act::bits(value) & 0x7fffffffu);
    } else {
      fragment_largest(v, run, lane, line, run.extent - at, largest);
    }
  }

  // Computes fragment `i` of the chunk at d[base] and stages it in slab `slab`.
  __device__ __forceinline__ void stage_fragment(const float (&d)[kAccumulators], int base, int i,
                                                 int across_index, u32 slab, u32 chunk_table,
                                                 i32 line, i32 at) {
    constexpr int kPendingChunks = kStagingSlabs / Chunk::kSlabs - 1;
    const auto half = static_cast<u32>(i % Slab::kFragments);
    if constexpr (Options::kGate == kGateInterleaved) {
      if (i == 0) store_wait_for_slabs<kPendingChunks>(lane);
      stage_interleaved_gate(d, base, i, slab);
    } else {
      const u32 first = store_first_address<Slab>(lane, slab);
      float v[kValues], c[kValues] = {};
      read_fragment_bias(chunk_table, i * kValues);
      if (Options::kC) store_unstage<Slab>(c, first, half);
      compute_fragment(d, base, i * kValues, across_index, c, v);
      if constexpr (Options::kExtras)
        d_factor_and_amax(v, chunk_table + (2 * kAccumulators + static_cast<u32>(i) * kColumns) * 4,
                          across_index, line, at + i * kColumns);
      if (!Options::kC && i == 0) store_wait_for_slabs<kPendingChunks>(lane);
      store_stage<Slab, Options::kReluInPack>(v, first, half);
    }
  }

  // Whether stage_pipelined() is used: for activations that take an exponential and a reciprocal,
  // both with a long latency. A warp that has its scheduler to itself must keep several in flight.
  static constexpr bool kPipelined =
      (Options::kActivation == kActGeluTanh || Options::kActivation == kActSilu) &&
      Options::kGate == kGateNone && !Options::kC && !Options::kExtras;

  // full_loop() multiplies alpha and the bias by this factor, and stage_pipelined() divides its
  // result by it again: see gelu_tanh_power_of_scaled().
  static constexpr float kFactor =
      kPipelined && Options::kActivation == kActGeluTanh ? act::kGeluTanhFactor : 1.0f;

  // Whether move_biased() computes alpha * d + bias before a row block is written, so that
  // stage_pipelined() reads finished sums. For the second row block this costs no more than the
  // move to the first one's place, which is needed anyway. The first row block is computed in
  // place.
  static constexpr bool kMovesBiased = kPipelined && kRowBlocks == 2 && Chunk::kChunks == 1;

  __device__ __forceinline__ void move_biased(float (&d)[kRowBlocks][kAccumulators],
                                              int from) const {
#pragma unroll
    for (int i = 0; i < kAccumulators; i += 4) {
      float two[2];
      if constexpr (kBiasByFragment)
        table_read_two(table + static_cast<u32>(i) * 8, two);
      else
        two[0] = bias[i / 2], two[1] = bias[i / 2 + 1];
#pragma unroll
      for (int j = i; j < i + 4; ++j) d[0][j] = act::fused(run.alpha, d[from][j], two[j % 2]);
    }
  }

  // Activates and stages a chunk as a software pipeline over pairs with four operations: exponent,
  // power, reciprocal and product. In each iteration, every operation works on the pair that is
  // kBehind pairs before the pair of the previous operation.
  __device__ __forceinline__ void stage_pipelined(float (&d)[kRowBlocks][kAccumulators],
                                                  u32 slabs_written, u32 chunk_table) {
    constexpr int kFragments = Chunk::kSlabs * Slab::kFragments, kPairs = kValues / 2;
    constexpr int kChunkPairs = kFragments * kPairs, kBehind = 2;
    static_assert(Options::kBias && !Options::kShortActivation,
                  "stage_pipelined applies alpha itself and reads its chunk from d[0]");
    float x[2 * kChunkPairs], y[2 * kChunkPairs], column[2][kValues / 2];
    // The bias of a fragment is read half a fragment ahead.
    constexpr bool kLoadsBias = !kMovesBiased && kBiasByFragment;
    const auto read_ahead = [&](int fragment) {
#pragma unroll
      for (int i = 0; kLoadsBias && i < kValues; i += 4) {
        float two[2];
        table_read_two(chunk_table + static_cast<u32>(fragment * kValues + i) * 8, two);
        column[fragment % 2][i / 2] = two[0], column[fragment % 2][i / 2 + 1] = two[1];
      }
    };
    // Here, because in the loop below the wait would need more registers than there are.
    store_wait_for_slabs<kStagingSlabs / Chunk::kSlabs - 1>(lane);
    read_ahead(0);
#pragma unroll
    for (int step = 0; step < kChunkPairs + 3 * kBehind; ++step) {
      if (step % kPairs == kPairs / 2 && step / kPairs + 1 < kFragments)
        read_ahead(step / kPairs + 1);
      const int power = step - kBehind, inverse = power - kBehind, last = inverse - kBehind;
#pragma unroll
      for (int i = 2 * step; i < 2 * step + 2 && step < kChunkPairs; ++i) {
        const int place = i / 4 * 2 + i % 2;
        float v = d[0][i];
        if constexpr (kLoadsBias)
          v = act::fused(run.alpha, v, column[i / kValues % 2][place % (kValues / 2)]);
        else if constexpr (!kMovesBiased)
          v = act::fused(run.alpha, v, bias[place]);
        x[i] = act::finite_below(v);
        y[i] = Options::kActivation == kActSilu ? act::silu_power(x[i])
                                                : act::gelu_tanh_power_of_scaled(x[i]);
      }
#pragma unroll
      for (int i = 2 * power; i < 2 * power + 2 && power >= 0 && power < kChunkPairs; ++i)
        y[i] = act::fused(act::exp2_approx(y[i]), kFactor, kFactor);
#pragma unroll
      for (int i = 2 * inverse; i < 2 * inverse + 2 && inverse >= 0 && inverse < kChunkPairs; ++i)
        y[i] = act::reciprocal_approx(y[i]);
#pragma unroll
      for (int i = 2 * last; i < 2 * last + 2 && last >= 0; ++i) x[i] *= y[i];
      if (last >= 0 && last % kPairs == kPairs - 1) {
        const int fragment = last / kPairs;
        float v[kValues];
#pragma unroll
        for (int i = 0; i < kValues; ++i) v[i] = x[fragment * kValues + i];
        const u32 slab = slab_address(slabs_written, static_cast<u32>(fragment / Slab::kFragments));
        store_stage<Slab>(v, store_first_address<Slab>(lane, slab),
                          static_cast<u32>(fragment % Slab::kFragments));
      }
    }
  }

  __device__ __forceinline__ u32 slab_address(u32 slabs_written, u32 s) const {
    return out.staging +
           (Chunk::kWholeRowBlock ? s : (slabs_written + s) % kStagingSlabs) * Slab::kBytes;
  }

  // Stores the chunk's slabs. `slabs_written` counts the slabs that the warp has written before.
  __device__ __forceinline__ void store_chunk(u32 slabs_written, i32 line, i32 at) const {
    const bool partial =
        args.device_m != 0 &&
        (line + static_cast<i32>(kGemmStoreLines) > run.lines || at + Chunk::kColumns > run.extent);
    ptx::fence_async_shared();
    ptx::sync_warp();
    if (partial) [[unlikely]] {
#pragma unroll 1
      for (u32 s = 0; s < Chunk::kSlabs; ++s)
        store_clipped<Slab>(args, run, lane, slab_address(slabs_written, s), line,
                            at + static_cast<i32>(s) * Slab::kColumns);
    }
    if (lane == 0) {
#pragma unroll
      for (u32 s = 0; s < Chunk::kSlabs; ++s)
        if (!partial)
          ptx::store_tile(out.map, slab_address(slabs_written, s),
                          at + static_cast<i32>(s) * Slab::kColumns, line, out.z);
      ptx::store_commit();
    }
  }

  // Loads C of a chunk for which full_load_c_ahead() had no staging slabs.
  __device__ __forceinline__ void load_c_late(u32 slabs_written, i32 line, i32 at) const {
    store_wait_for_slabs<0>(lane);
#pragma unroll 1
    for (u32 s = 0; s < Chunk::kSlabs; ++s)
      load_c_slab<Slab>(args, run, lane, slab_address(slabs_written, s), line,
                        at + static_cast<i32>(s) * Slab::kColumns);
    ptx::async_copy_commit();
    ptx::async_copy_wait<0>();
    ptx::sync_warp();
  }

  // Writes chunk number `chunk_in_tile`. Its accumulators begin at d[from][base], with kPipelined
  // always at d[0][0]. The bias and d_factor across its lines are at index `across_index` of
  // loaded.bias_across and loaded.d_factor_across.
  __device__ __forceinline__ void write_chunk(float (&d)[kRowBlocks][kAccumulators], int from,
                                              int base, int across_index, int chunk_in_tile,
                                              u32& slabs_written, u32 chunk_table, i32 line,
                                              i32 at) {
    if (Options::kC && chunk_in_tile * Chunk::kSlabs >= kStagingSlabs)
      load_c_late(slabs_written, line, at);
    if constexpr (kPipelined) stage_pipelined(d, slabs_written, chunk_table);
#pragma unroll
    for (u32 s = 0; !kPipelined && s < Chunk::kSlabs; ++s)
#pragma unroll
      for (int j = 0; j < Slab::kFragments; ++j)
        stage_fragment(d[from], base, static_cast<int>(s) * Slab::kFragments + j, across_index,
                       slab_address(slabs_written, s), chunk_table, line, at);
    store_chunk(slabs_written, line, at);
    slabs_written += Chunk::kSlabs;
  }

  __device__ __forceinline__ u32 table_of_chunk(int chunk) const {
    return table + static_cast<u32>(chunk * Chunk::kAccumulatorsOfChunk) * 8;
  }

  // Writes a tile with all chunks unrolled.
  __device__ __forceinline__ void write_unrolled(float (&d)[kRowBlocks][kAccumulators],
                                                 u32& slabs_written) {
#pragma unroll
    for (int row_block = 0; row_block < kRowBlocks; ++row_block) {
      const i32 line = out.line + row_block * 64;
      if (line >= run.lines) break;
#pragma unroll
      for (int i = 0; i < Chunk::kChunks; ++i) {
        if (Chunk::kChunks > 1) read_bias(table_of_chunk(i));
        write_chunk(d, row_block, i * Chunk::kAccumulatorsOfChunk, row_block,
                    row_block * Chunk::kChunks + i, slabs_written, table_of_chunk(i), line,
                    out.at + i * Chunk::kColumns);
      }
    }
  }

  // Writes a tile in a loop over chunks.
  __device__ __forceinline__ void write_in_loop(float (&d)[kRowBlocks][kAccumulators],
                                                u32& slabs_written) {
    if constexpr (kMovesBiased) move_biased(d, 0);
#pragma unroll 1
    for (int row_block = 0; row_block < kRowBlocks; ++row_block) {
      const i32 line = out.line + row_block * 64;
      if (line >= run.lines) break;
#pragma unroll 1
      for (int i = 0; i < Chunk::kChunks; ++i) {
        if (Chunk::kChunks > 1) read_bias(table_of_chunk(i));
        write_chunk(d, 0, 0, 0, row_block * Chunk::kChunks + i, slabs_written, table_of_chunk(i),
                    line, out.at + i * Chunk::kColumns);
#pragma unroll
        for (int j = 0; Chunk::kChunks > 1 && j + Chunk::kAccumulatorsOfChunk < kAccumulators; ++j)
          d[0][j] = d[0][j + Chunk::kAccumulatorsOfChunk];
      }
      if constexpr (kRowBlocks > 1) {
        if (row_block + 1 == kRowBlocks) break;
        if constexpr (kMovesBiased) move_biased(d, 1);
#pragma unroll
        for (int i = 0; !kMovesBiased && i < kAccumulators; ++i) d[0][i] = d[1][i];
#pragma unroll
        for (int i = 0; Options::kExtras && i < 2; ++i) {
          loaded.bias_across[0][i] = loaded.bias_across[1][i];
          loaded.d_factor_across[0][i] = loaded.d_factor_across[1][i];
        }
      }
    }
  }

  __device__ __forceinline__ void write_tile(float (&d)[kRowBlocks][kAccumulators],
                                             u32& slabs_written) {
    if constexpr (!Options::kBias) {
      if (run.alpha != 1.0f) {
#pragma unroll
        for (auto& row_block : d)
#pragma unroll
          for (float& value : row_block) value *= run.alpha;
      }
    }
    if (Chunk::kChunks == 1) read_bias(table);
    if constexpr (Options::kShortActivation)
      write_unrolled(d, slabs_written);
    else
      write_in_loop(d, slabs_written);
  }
};

/// Starts to load C of as much of a tile as the staging memory holds.
template <class Slab, int kStagingSlabs, int kRowBlocks, int kAccumulators>
__device__ __forceinline__ void full_load_c_ahead(const GemmEpilogueArgs& args, const FullRun& run,
                                                  u32 lane, u32 staging, i32 line, i32 at,
                                                  u32 slabs_written) {
  constexpr int kRowBlockSlabs = 2 * kAccumulators / Slab::kColumns;
  constexpr int kTileSlabs = kRowBlocks * kRowBlockSlabs;
  store_wait_for_slabs<0>(lane);
#pragma unroll 1
  for (int i = 0; i < (kTileSlabs < kStagingSlabs ? kTileSlabs : kStagingSlabs); ++i)
    load_c_slab<Slab>(
        args, run, lane,
        staging + (slabs_written + static_cast<u32>(i)) % kStagingSlabs * Slab::kBytes,
        line + i / kRowBlockSlabs * 64, at + i % kRowBlockSlabs * Slab::kColumns);
  ptx::async_copy_commit();
}

/// Whether FullChunks supports the run's options, for a D with a tensor map.
template <class Out, i32 kTileN>
__device__ __forceinline__ bool full_is_chunked(const GemmEpilogueArgs& args, const FullRun& run) {
  if (args.flags & (kFullNoEpilogue | kFullSimpleEpilogue)) return true;
  if (run.beta != 0.0f) return false;
  if (args.gate == kGateNone) return args.activation > kActRelu;
  return kTileN % 128 == 0 && args.activation == kActSilu && !full_has_extras(args) &&
         (args.gate == kGateHalves || Out::kBytes == 2);
}

}  // namespace tw
