// SPDX-License-Identifier: Apache-2.0
#pragma once
// The epilogues of the stream-K kernels. They stage accumulators in shared memory, slab by slab,
// and write D by plain stores. A TMA store would wait behind the loads of the next tile, which the
// producer has already issued, and its slab could not be used again before the store has read it.
// The stream-K kernels for narrow types without swap-AB are an exception: they have shared memory
// for all of a warpgroup's rows of a 16-bit D, and can write such a D by TMA stores
// (narrow/narrow_write.cuh).

#include "kernels/gemm/epilogue/epilogue_stage.cuh"
#include "kernels/gemm/epilogue/full_epilogue.cuh"
#include "kernels/gemm/wgmma/stream_work.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

// Waits for the threads of this consumer warpgroup.
__device__ __forceinline__ void stream_sync_group(u32 group) {
  ptx::named_barrier(5 + group, 128);
}

// A slab of a 32-bit D in shared memory: 16 lines of 64 elements. The place of an element in its
// line is XORed with bits of the line's number, so that the lines that a warp accesses at once are
// in different banks.
template <class Config>
struct StreamOutSlab32 {
  static constexpr i32 kLines = 16;
  // A thread's accumulators belong to two rows of the tile. The shared addresses of both rows in
  // the first line that the thread stores to.
  u32 store_to[2];
  u32 load_from;  // shared address of the first piece of 16 bytes that the thread reads

  __device__ __forceinline__ explicit StreamOutSlab32(u32 staging) {
    const u32 lane = ptx::lane_id(), thread = threadIdx.x % 128;
    const u32 line = staging + lane % 4 * 2 * 256, row = thread / 32 * 16 + lane / 4;
#pragma unroll
    for (u32 i = 0; i < 2; ++i) store_to[i] = line + ((row + i * 8) ^ lane % 4 * 8) * 4;
    load_from = staging + thread / 16 * 256 + (thread % 16 * 16 ^ thread / 32 * 32);
  }
  __device__ __forceinline__ void put(const float (&d)[Config::kAccumulators], i32 slab,
                                      u32 buffer) const {
#pragma unroll
    for (u32 i = 0; i < kLines / 2; ++i)
      ptx::store_shared(store_to[i / 2 % 2] + buffer + (i / 4 * 8 + i % 2) * 256,
                        d[slab * (kLines / 2) + static_cast<i32>(i)]);
  }
  // The thread's piece of the first (half 0) or second half of the slab's lines.
  __device__ __forceinline__ uint4 get(u32 half, u32 buffer) const {
    return ptx::shared_load<16>(load_from + buffer + half * (kLines / 2 * 256));
  }
};

// A slab of a 16-bit D in shared memory: 32 lines of 64 elements.
template <class Config>
struct StreamOutSlab16 {
  static constexpr i32 kLines = 32;
  static_assert(Config::kSlab.contiguous == 64 && Config::kSlab.lines == kLines);
  u32 staging, load_from;

  __device__ __forceinline__ explicit StreamOutSlab16(u32 shared)
      : staging(shared),
        load_from(epilogue_place<Config>(shared, threadIdx.x % 128 / 8, threadIdx.x % 8)) {}
  __device__ __forceinline__ void put(const float (&d)[Config::kAccumulators], i32 slab,
                                      u32 buffer) const {
    epilogue_stage_transposed<Config>(d, staging + buffer, 0, slab);
  }
  __device__ __forceinline__ uint4 get(u32 half, u32 buffer) const {
    return ptx::shared_load<16>(load_from + buffer + half * (kLines / 2 * 128));
  }
};
// Selects the kind of slab by the size of D's elements.
template <class Config, u32 kBytes = Config::Out::kBytes>
struct StreamOutSlab {
  using Type = StreamOutSlab16<Config>;
};
template <class Config>
struct StreamOutSlab<Config, 4> {
  using Type = StreamOutSlab32<Config>;
};

// Converts the accumulators and stores them to D, beginning at line n0 and element m0. D begins at
// address `d_at` and has `lines` lines of `extent` elements; nothing is stored outside. Only
// kernels with swap-AB call this function. In these a column of a tile is a line of D, and
// d_stride_m is the distance between two lines (gemm.h). A thread stores 16 bytes at the same
// position in several lines, so that it only has to advance an address.
template <class Config>
__device__ __forceinline__ void stream_write_sums(const float (&d)[Config::kAccumulators],
                                                  const GemmStreamArgs& args, u64 d_at, i32 lines,
                                                  i32 extent, u32 staging, u32 group, i32 m0,
                                                  i32 n0) {
  using Slab = typename StreamOutSlab<Config>::Type;
  constexpr auto kBytes = static_cast<i32>(Config::Out::kBytes);
  constexpr i32 kPieces = 64 * kBytes / 16, kHalf = Slab::kLines / 2;
  static_assert(128 / kPieces == kHalf, "the threads store half a slab at a time");
  static_assert(Config::kTileN % Slab::kLines == 0, "a tile must have whole slabs");
  static_assert(Slab::kLines * 64 * kBytes <= Config::kShared.slab_bytes, "a slab must fit");
  const Slab staged(staging);
  const auto thread = static_cast<i32>(threadIdx.x % 128);
  const i32 x = m0 + thread % kPieces * (16 / kBytes);
  const i32 end = min(n0 + args.width, lines);
  const i64 stride = args.full.base.d_stride_m * kBytes;
  i32 line = n0 + thread / kPieces;
  u64 at = d_at + static_cast<u64>(line * stride + i64{x} * kBytes);
#pragma unroll
  for (i32 slab = 0; slab < Config::kTileN / Slab::kLines; ++slab) {
    if (n0 + slab * Slab::kLines >= end) break;
    const u32 buffer = static_cast<u32>(slab % 2) * Config::kShared.slab_bytes;
    staged.put(d, slab, buffer);
    // After this barrier the slab is complete. All threads have read the previous one, so the next
    // slab may overwrite it.
    stream_sync_group(group);
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
      ptx::store_unit_if(x < extent && line < end, at, staged.get(half, buffer));
      line += kHalf;
      at += static_cast<u64>(stride * kHalf);
    }
  }
  stream_sync_group(group);  // the next tile begins with slab 0 again
}

// Writes the columns n0 to end - 1 of D without swap-AB, where a row of the tile is a line of D.
// Each warp stages and stores its own 16 rows, and so waits for no other warp. D's lines have
// whole pieces of 16 bytes.
template <class Config>
__device__ __forceinline__ void stream_write_rows(const float (&d)[Config::kAccumulators],
                                                  const GemmArgs& base, u32 staging, i32 m0, i32 n0,
                                                  i32 end) {
  constexpr auto kBytes = static_cast<i32>(Config::Out::kBytes);
  constexpr auto kColumns = static_cast<i32>(Config::kSlab.contiguous);
  static_assert(kColumns * kBytes == 128 && Config::kTileN % kColumns == 0, "slabs of whole lines");
  const u32 lane = ptx::lane_id(), line = threadIdx.x / 32 % 4 * 16 + lane / 8;
  const i32 row = m0 + static_cast<i32>(line);
  i32 x = n0 + static_cast<i32>(lane % 8) * (16 / kBytes);
  const i64 stride = base.d_stride_m * kBytes;
  u64 at = base.d + static_cast<u64>(row * stride + i64{x} * kBytes);
#pragma unroll
  for (i32 slab = 0; slab < Config::kTileN / kColumns; ++slab) {
    if (n0 + slab * kColumns >= end) break;
    const u32 buffer = staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes;
    epilogue_stage<Config>(d, buffer, slab);
    // After this the warp's lines are complete, and all lanes have read those of the previous slab.
    ptx::sync_warp();
#pragma unroll
    for (u32 i = 0; i < 4; ++i)
      ptx::store_unit_if(
          row + static_cast<i32>(i * 4) < base.m && x < end,
          at + static_cast<u64>(static_cast<i64>(i * 4) * stride),
          ptx::shared_load<16>(epilogue_place<Config>(buffer, line + i * 4, lane % 8)));
    x += kColumns;
    at += 128;
  }
  ptx::sync_warp();  // the next tile begins with slab 0 again
}

// Writes alpha * A B to D. The CTA's slice of the tile begins at column n0 and ends before `end`.
template <class Config>
__device__ __forceinline__ void stream_write_basic(float (&d)[Config::kAccumulators],
                                                   const GemmStreamArgs& args, u32 staging,
                                                   u32 group, i32 m0, i32 n0, i32 end) {
  const GemmArgs& base = args.full.base;
  if (base.alpha != 1.0f) {
#pragma unroll
    for (float& value : d) value *= base.alpha;
  }
  const i32 last = min(base.n, end);
  if constexpr (Config::kSwapAB)
    stream_write_sums<Config>(d, args, base.d, last, base.m, staging, group, m0, n0);
  else
    stream_write_rows<Config>(d, base, staging, m0, n0, last);
}

// A slab of accumulators in shared memory, before the epilogue: kGemmStreamSlabLines lines of 64
// accumulators. With swap-AB a line has the warpgroup's 64 rows of one column of the tile.
// Otherwise it has 64 columns of one row, and the slab has the 16 rows of one warp. The pitch puts
// the lines that a warp accesses at once in different banks.
template <class Config>
struct StreamSumSlab {
  static constexpr u32 kLineAccumulators = 64;
  static constexpr u32 kPitch = kLineAccumulators + 4;
  static constexpr i32 kLines = kGemmStreamSlabLines;
  u32 base;

  template <i32 kSlab>
  __device__ __forceinline__ void put(const float (&d)[Config::kAccumulators]) const {
    if constexpr (!Config::kSwapAB)
      put_rows<kSlab>(d);
    else if constexpr (kSlab < Config::kTileN / kLines)
      put_slab<kSlab>(d);
  }
  // Without swap-AB, all accumulators of a slab are in one warp.
  template <i32 kSlab>
  __device__ __forceinline__ void put_rows(const float (&d)[Config::kAccumulators]) const {
    static_assert(kLines == 16, "a warp has 16 rows");
    constexpr i32 kFirst = kSlab / 4 * (static_cast<i32>(kLineAccumulators) / 2);
    if (threadIdx.x / 32 % 4 != kSlab % 4) return;
    const u32 lane = ptx::lane_id();
    const u32 to = base + (lane / 4 * kPitch + lane % 4 * 2) * 4;
#pragma unroll
    for (u32 i = 0; i < kLineAccumulators / 2; ++i)
      if (kFirst + static_cast<i32>(i) < Config::kAccumulators)
        ptx::store_shared(to + ((i & 2) * 4 * kPitch + i / 4 * 8 + (i & 1)) * 4,
                          d[kFirst + static_cast<i32>(i)]);
  }
  template <i32 kSlab>
  __device__ __forceinline__ void put_slab(const float (&d)[Config::kAccumulators]) const {
    const u32 lane = ptx::lane_id();
    const u32 row = threadIdx.x / 32 % 4 * 16 + lane / 4, column = lane % 4 * 2;
    const u32 to = base + (column * kPitch + row) * 4;
#pragma unroll
    for (u32 i = 0; i < kLines / 2; ++i)
      ptx::store_shared(to + ((i / 4 * 8 + (i & 1)) * kPitch + (i & 2) * 4) * 4,
                        d[kSlab * (kLines / 2) + static_cast<i32>(i)]);
  }
  // This is a switch because registers cannot be indexed at run time. Callers do not unroll their
  // loops over slabs, since the body is most of the kernel's code.
  __device__ __forceinline__ void put(const float (&d)[Config::kAccumulators], i32 slab) const {
#define TW_SLAB(n) \
  case n:          \
    return put<n>(d);
    // clang-format off
    switch (slab) {
      TW_SLAB(0) TW_SLAB(1) TW_SLAB(2) TW_SLAB(3) TW_SLAB(4) TW_SLAB(5) TW_SLAB(6) TW_SLAB(7)
      TW_SLAB(8) TW_SLAB(9) TW_SLAB(10) TW_SLAB(11) TW_SLAB(12) TW_SLAB(13) TW_SLAB(14) TW_SLAB(15)
    }
    // clang-format on
#undef TW_SLAB
  }
  // Reads eight neighboring accumulators of a line, from number `place` on.
  __device__ __forceinline__ void get(u32 line, u32 place, float (&v)[8]) const {
    const u32 from = base + (line * kPitch + place) * 4;
    float low[4], high[4];
    ptx::load_shared_v4(from, low);
    ptx::load_shared_v4(from + 16, high);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[i] = low[i], v[i + 4] = high[i];
  }
  // Reads the accumulators of eight neighboring elements of D from a line. `place` is the first
  // element's position in the line, counted in elements of D. With a gate, an element of D has two
  // accumulators: the one of its gate element, and the one of its value element, which is read if
  // `second`.
  __device__ __forceinline__ void take(unsigned char gate, u32 line, u32 place, bool second,
                                       float (&v)[8]) const {
    if (gate != kGateInterleaved) return get(line, place + (second ? kLineAccumulators / 2 : 0), v);
    float low[8], high[8];
    get(line, place * 2, low);
    get(line, place * 2 + 8, high);
    full_every_other(low, high, second, v);
  }
};

// Where a thread writes D: eight neighboring elements in each of several lines. Their position is
// the same in all these lines. If the bias has one value for each element of a line
// (kFullPerElement), their bias is therefore the same too, and stream_write_common() reads it only
// once. With a gate it reads the bias of the gate elements once, and that of the value elements
// again for each line.
template <class Config>
struct StreamElements {
  using Slab = StreamSumSlab<Config>;
  const GemmStreamArgs& args;
  const FullRun& run;
  u32 place;                  // first element within a slab's line, in elements of D
  i32 first_line, line_step;  // the thread's first line of a slab, and the step to its next one
  i32 at, count;  // first element within D's line, and the number of elements from there to its end
  i32 n0, end;    // the tile has lines n0 to end - 1 of D

  __device__ __forceinline__ StreamElements(const GemmStreamArgs& arguments, const FullRun& of_run,
                                            i32 m0, i32 line0)
      : args(arguments), run(of_run), n0(line0) {
    const bool gated = args.full.gate != kGateNone;
    // a power of two
    const u32 groups = gated ? Slab::kLineAccumulators / 16 : Slab::kLineAccumulators / 8;
    const u32 thread = threadIdx.x % 128;
    place = thread % groups * 8;
    first_line = static_cast<i32>(thread / groups);
    line_step = static_cast<i32>(128 / groups);
    at = (gated ? m0 / 2 : m0) + static_cast<i32>(place);
    count = run.extent - at;
    end = min(n0 + args.width, run.lines);
  }

  // Stages the accumulators slab by slab and calls use(slab, slab_line, line) for each line that
  // the thread writes: line `slab_line` of the slab is line `line` of D.
  template <class Use>
  __device__ __forceinline__ void each_line(const float (&d)[Config::kAccumulators], u32 staging,
                                            u32 group, Use use) const {
#pragma unroll 1
    for (i32 slab = 0; n0 + slab * Slab::kLines < end; ++slab) {
      const Slab staged{staging + static_cast<u32>(slab % 2) * Config::kShared.slab_bytes};
      staged.put(d, slab);
      // After this barrier the slab is complete. All threads have read the previous one, so the
      // next slab may overwrite it.
      stream_sync_group(group);
#pragma unroll 1
      for (i32 slab_line = first_line; slab_line < Slab::kLines; slab_line += line_step) {
        const i32 line = n0 + slab * Slab::kLines + slab_line;
        if (line >= end || count <= 0) break;
        use(staged, static_cast<u32>(slab_line), line);
      }
    }
    stream_sync_group(group);  // the next tile begins with slab 0 again
  }
  // The line that each_line() visits after `line`.
  __device__ __forceinline__ i32 next(i32 line) const {
    return line + min(line_step, Slab::kLines);
  }
};

// Whether this is a common case: D's lines have a multiple of eight elements, and D has an address
// and a stride that are multiples of 16 bytes, as has C if it is read. The bias does not vary by
// line, there is no amax, and an interleaved gate has no C.
template <class Config>
__device__ __forceinline__ bool stream_is_common(const GemmEpilogueArgs& args, const FullRun& run) {
  constexpr u32 kBytes = Config::Out::kBytes;
  u64 alignments =
      run.d | static_cast<u64>(args.base.d_stride_m) * kBytes | static_cast<u64>(run.extent) * 2;
  if (run.beta != 0.0f) alignments |= run.c | static_cast<u64>(args.base.c_stride_m) * kBytes;
  return alignments % 16 == 0 && args.amax == 0 && args.bias_by != kFullPerLine &&
         (run.beta == 0.0f || args.gate != kGateInterleaved);
}

// Writes D in the common cases with nothing but alpha, bias and relu, which are applied in
// registers. A thread's accumulators belong to two rows of the tile, so it needs only two elements
// of the bias.
template <class Config>
__device__ __forceinline__ void stream_write_short(float (&d)[Config::kAccumulators],
                                                   const GemmStreamArgs& args, const FullRun& run,
                                                   u32 staging, u32 group, i32 m0, i32 n0) {
  const GemmEpilogueArgs& full = args.full;
  const bool relu = full.activation == kActRelu;
  const i32 row0 = m0 + static_cast<i32>(threadIdx.x / 32 % 4 * 16 + ptx::lane_id() / 4);
#pragma unroll
  for (i32 half = 0; half < 2; ++half) {
    const i32 row = row0 + half * 8;
    float bias = -0.0f;  // adding it changes no value
    if (full.bias_by == kFullPerElement && row < run.extent)
      bias = full_element<typename Config::In>(full.bias, full.bias_type != kBiasAsInput, row);
#pragma unroll
    for (i32 i = half * 2; i < Config::kAccumulators; i += i % 2 == 0 ? 1 : 3) {
      d[i] = act::fused(run.alpha, d[i], bias);
      if (relu) d[i] = activate(kActRelu, d[i]);
    }
  }
  stream_write_sums<Config>(d, args, run.d, run.lines, run.extent, staging, group, m0, n0);
}

// The bias, the part of C and the factor of D for the eight elements of a line that a thread writes
// (StreamElements). With a gate, bias and C are those of the gate elements. The bias and a factor
// that varies along the line are the same for all lines of the tile.
template <class Config>
struct StreamAddends {
  using Out = typename Config::Out;
  const StreamElements<Config>& own;
  float bias[8], d_factor[8];
  FullPieces<Out> c;

  __device__ __forceinline__ explicit StreamAddends(const StreamElements<Config>& elements)
      : own(elements), c{} {
    FullVectors vectors;
    full_along<typename Config::In>(own.args.full, own.run, own.at, max(own.count, 0), vectors);
#pragma unroll
    for (int i = 0; i < 8; ++i) bias[i] = vectors.bias[i], d_factor[i] = vectors.d_factor[i];
  }
  // Reads C for a line, if the thread writes that line.
  __device__ __forceinline__ void read(i32 line, bool second, FullPieces<Out>& to) const {
    if (own.run.beta == 0.0f || line >= own.end || own.count <= 0) return;
    const GemmEpilogueArgs& full = own.args.full;
    to.load(full_c<Out>(full, own.run, full_place(full, line, own.at, second)));
  }
  // Turns accumulators into elements of the matrix P (gemm_full.h).
  __device__ __forceinline__ void add(float (&v)[8], const float (&some_bias)[8],
                                      const FullPieces<Out>& some_c) const {
    float addend[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) addend[i] = some_bias[i];
    if (own.run.beta != 0.0f) {
      float elements[8];
      some_c.convert(elements);
#pragma unroll
      for (int i = 0; i < 8; ++i) addend[i] = act::fused(own.run.beta, elements[i], addend[i]);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = act::fused(own.run.alpha, v[i], addend[i]);
  }
  __device__ __forceinline__ void scale(i32 line, float (&v)[8]) const {
    const GemmEpilogueArgs& full = own.args.full;
    if (full.d_factor_by == kFullNone) return;
    const bool per_line = full.d_factor_by == kFullPerLine;
    const float of_line = per_line ? reinterpret_cast<const float*>(full.d_factor)[line] : 1.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] *= per_line ? of_line : d_factor[i];
  }
};

// Multiplies gate elements by the value elements of their line.
template <class Config>
__device__ __forceinline__ void stream_multiply_values(const StreamAddends<Config>& addends,
                                                       const StreamSumSlab<Config>& staged,
                                                       u32 slab_line, i32 line, float (&v)[8]) {
  const StreamElements<Config>& own = addends.own;
  const GemmEpilogueArgs& full = own.args.full;
  float values[8], bias[8];
  FullPieces<typename Config::Out> c{};
  addends.read(line, true, c);
#pragma unroll
  for (float& value : bias) value = -0.0f;
  if (full.bias_by == kFullPerElement)
    full_bias<typename Config::In>(full, full_place(full, 0, own.at, true), 8, bias);
  staged.take(full.gate, slab_line, own.place, true, values);
  addends.add(values, bias, c);
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] *= values[i];
}

// Writes D in all other common cases (stream_is_common()). C of the next line is read before it is
// needed.
template <class Config>
__device__ __forceinline__ void stream_write_common(const float (&d)[Config::kAccumulators],
                                                    const StreamElements<Config>& own, u32 staging,
                                                    u32 group) {
  using Out = typename Config::Out;
  const GemmEpilogueArgs& full = own.args.full;
  StreamAddends<Config> addends(own);
  addends.read(own.n0 + own.first_line, false, addends.c);
  own.each_line(d, staging, group,
                [&](const StreamSumSlab<Config>& staged, u32 slab_line, i32 line) {
                  float v[8];
                  staged.take(full.gate, slab_line, own.place, false, v);
                  addends.add(v, addends.bias, addends.c);
                  addends.read(own.next(line), false, addends.c);
                  if (full.activation == kActRelu) full_activate<kActRelu>(v);
                  if (full.activation == kActGelu) full_activate<kActGelu>(v);
                  if (full.activation == kActGeluTanh) full_activate<kActGeluTanh>(v);
                  if (full.activation == kActSilu) full_activate<kActSilu>(v);
                  if (full.gate != kGateNone)
                    stream_multiply_values<Config>(addends, staged, slab_line, line, v);
                  addends.scale(line, v);
                  const i64 element = line * full.base.d_stride_m + own.at;
                  full_store<Out>(
                      own.run.d + static_cast<u64>(element * static_cast<i64>(Out::kBytes)), 8, v);
                });
}

// Writes D with any epilogue. `largest` is the thread's largest |D|, as bits of a float, for amax.
template <class Config>
__device__ __forceinline__ void stream_write_full(float (&d)[Config::kAccumulators],
                                                  const GemmStreamArgs& args, const FullRun& run,
                                                  u32 staging, u32 group, i32 m0, i32 n0,
                                                  u32& largest) {
  using In = typename Config::In;
  using Out = typename Config::Out;
  const StreamElements<Config> own(args, run, m0, n0);
  const GemmEpilogueArgs& full = args.full;
  if (stream_is_common<Config>(full, run)) {
    const bool is_short = run.beta == 0.0f && full.gate == kGateNone &&
                          full.d_factor_by == kFullNone && full.activation <= kActRelu;
    if (is_short) return stream_write_short<Config>(d, args, run, staging, group, m0, n0);
    return stream_write_common<Config>(d, own, staging, group);
  }
  own.each_line(d, staging, group,
                [&](const StreamSumSlab<Config>& staged, u32 slab_line, i32 line) {
                  full_write<In, Out>(full, run, line, own.at, own.count, largest,
                                      [&](bool second, float(&v)[8]) {
                                        staged.take(full.gate, slab_line, own.place, second, v);
                                      });
                });
}

}  // namespace tw
