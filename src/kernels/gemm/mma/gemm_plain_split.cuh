// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha A B + beta C ("plain_split" in names) for a B of few columns (tokens; A has the
// weights). A and B are contiguous along k, but have an address or pitch that the TMA cannot use. A
// goes from global memory straight to the registers of mma.sync, B through shared memory. The CTAs
// of a cluster divide k of each tile (split-K).
//
// The order of k in a dot product is free as long as A and B use the same order. Here a thread's
// operands of two mma.sync are eight consecutive elements along k: a piece, which is one aligned
// 16-byte load from its row of A. Rows eight apart have the same alignment within 16 bytes,
// whatever the pitch. A warp takes 16 such rows, so that all its lanes share one offset between A
// and B.

#include "kernels/common/realign.h"
#include "kernels/gemm/arguments/gemm.h"
#include "kernels/ptx/async_copy.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/types.cuh"

namespace tw {

inline constexpr i32 kPlainSplitRows = 128;
inline constexpr i32 kPlainSplitColumns = 32;
inline constexpr i32 kPlainSplitStep = 32;  // k of a step: one piece for each thread and row
inline constexpr u32 kPlainSplitThreads = 256;
inline constexpr u32 kPlainSplitWords = 10240;  // shared memory: panel of B, then accumulators
inline constexpr u32 kPlainSplitPitch = kPlainSplitRows + 1;  // of a column of accumulators
// Steps of an accumulation chain, which has a k of 1024 as kPlainChain.
inline constexpr i32 kPlainSplitChain = 1024 / kPlainSplitStep;

// A panel of B in shared memory: for each of 8 * kGroups columns, copies of the aligned 16-byte
// pieces that up to kSteps steps need. Two columns with equal alignment within 16 bytes are placed
// in different halves of the banks.
template <int kGroups>
struct PlainSplitPanel {
  // Steps that a thread multiplies while it loads the same number ahead; limited by registers.
  static constexpr i32 kAhead = kGroups == 4 ? 2 : kGroups == 3 ? 3 : 4;
  static constexpr u32 kPitch = kPlainSplitWords / (8 * kGroups) / 32 * 32;
  static constexpr i32 kFittingSteps = (kPitch - 24) / 16 / kAhead * kAhead;
  static constexpr i32 kSteps = kFittingSteps < kPlainSplitChain ? kFittingSteps : kPlainSplitChain;
  static __device__ __forceinline__ u32 column(u32 c, i64 pitch) {
    return c * kPitch + (pitch % 2 != 0 ? c % 2 : c / 4 % 2) * 16;
  }
};

struct PlainSplitSpan {
  i32 begin, end;  // steps
};

// The elements of a piece that belong to the row: `first` to `end` - 1 of eight. cut() zeroes the
// others.
struct PlainSplitInside {
  i32 first, end;

  __device__ __forceinline__ PlainSplitInside(i32 k0, i32 k)
      : first(k0 < 0 ? -k0 : 0), end(k - k0 < 8 ? k - k0 : 8) {}
  __device__ __forceinline__ void cut(u32 (&word)[4]) const {
#pragma unroll
    for (i32 w = 0; w < 4; ++w) {
      if (2 * w < first || 2 * w >= end) word[w] &= 0xffff0000u;
      if (2 * w + 1 < first || 2 * w + 1 >= end) word[w] &= 0xffffu;
    }
  }
};

// A thread's two rows of A.
struct PlainSplitLines {
  u64 base[2];   // address of the thread's piece of step 0, rounded down to a multiple of 16
  i32 begin[2];  // first piece whose load is inside of A, relative to the thread's first piece
  u32 count[2];  // number of such pieces
  i32 lead;      // elements from the aligned address to the row's first; the same in a warp

  __device__ __forceinline__ PlainSplitLines(const GemmArgs& args, i32 m0, PlainSplitSpan span) {
    const auto lane = static_cast<i32>(ptx::lane_id());
    const i32 row = m0 + static_cast<i32>(threadIdx.x / 32) + lane / 4 * 8;
    const u64 high = args.a + static_cast<u64>((args.m - 1) * args.a_stride_m + args.k) * 2;
#pragma unroll
    for (i32 i = 0; i < 2; ++i) {
      const u64 start = args.a + static_cast<u64>((row + i * 64) * args.a_stride_m) * 2;
      const u64 aligned = start & ~15ull;
      lead = static_cast<i32>(start & 15) / 2;
      i32 pieces = (args.k + lead + 7) / 8;
      if (row + i * 64 == args.m - 1) pieces = static_cast<i32>((high - aligned) / 16);
      if (pieces > span.end * 4) pieces = span.end * 4;
      base[i] = aligned + static_cast<u64>(lane % 4 * 16);
      begin[i] = (aligned < args.a ? 1 : 0) - lane % 4;
      const i32 end = (row + i * 64 < args.m ? pieces : 0) - lane % 4;
      count[i] = end > begin[i] ? static_cast<u32>(end - begin[i]) : 0;
    }
  }

  // Loads the thread's pieces of kAhead steps from `step` on, with zeros outside of A.
  template <i32 kAhead>
  __device__ __forceinline__ void load(uint4 (&v)[kAhead][2], i32 step) const {
    const u64 at = static_cast<u64>(step) * 64;
#pragma unroll
    for (i32 s = 0; s < kAhead; ++s)
#pragma unroll
      for (i32 i = 0; i < 2; ++i) {
        v[s][i] = make_uint4(0, 0, 0, 0);
        const i32 piece = (step + s) * 4;
        ptx::load_if_cached(v[s][i], base[i] + at + s * 64,
                            static_cast<u32>(piece - begin[i]) < count[i]);
      }
  }
};

// Loads elements k0 to k0 + 7 of a line to shared memory one by one, with zeros outside of the
// line.
__device__ __forceinline__ void plain_split_elements(u32* to, u64 line, i32 k0, i32 k) {
  u32 element[8] = {};
#pragma unroll
  for (i32 e = 0; e < 8; ++e)
    ptx::load_if_u16(element[e], line + static_cast<u64>(static_cast<i64>(k0 + e) * 2),
                     k0 + e >= 0 && k0 + e < k);
#pragma unroll
  for (i32 w = 0; w < 4; ++w) to[w] = element[2 * w] | element[2 * w + 1] << 16;
}

// Loads the pieces of A whose aligned loads would reach outside of A: the last piece, and the first
// one if A is not aligned.
__device__ __forceinline__ void plain_split_corners(const GemmArgs& args, u32 (*corner)[4]) {
  if (threadIdx.x >= 2) return;
  const u64 start =
      args.a + (threadIdx.x == 0 ? 0 : static_cast<u64>((args.m - 1) * args.a_stride_m) * 2);
  const i32 lead = static_cast<i32>(start & 15) / 2;
  const i32 last = (args.k + lead - 1) / 8 * 8;
  const u64 tail = (start & ~15ull) + static_cast<u64>(last) * 2;
  if (threadIdx.x == 0 && lead != 0)
    plain_split_elements(corner[0], start, -lead, args.k);
  else if (threadIdx.x == 1 && tail >= args.a)
    ptx::async_copy<16>(ptx::shared_address(corner[1]), tail,
                        static_cast<u32>(args.k + lead - last) * 2);
}

// Starts copies of B's columns to shared memory: steps `first` to `end` - 1, one piece before them
// and one after, because A's and B's alignments differ.
template <int kGroups>
__device__ __forceinline__ void plain_split_stage(const GemmArgs& args, u32* panel, i32 n0,
                                                  i32 first, i32 end) {
  using Panel = PlainSplitPanel<kGroups>;
  const u32 thread = ptx::reread_thread_id();
  const i32 columns = args.n - n0 < 8 * kGroups ? args.n - n0 : 8 * kGroups;
  const i32 pieces = (end - first) * 4 + 2;
  const auto line = [&](i32 column) {
    return args.b + static_cast<u64>((n0 + column) * args.b_stride_n) * 2;
  };
#pragma unroll 1
  for (auto column = static_cast<i32>(thread / 32); column < columns;
       column += static_cast<i32>(kPlainSplitThreads / 32)) {
    const u64 aligned = line(column) & ~15ull;
    const i32 lead = static_cast<i32>(line(column) & 15) / 2;
    const u32 to =
        ptx::shared_address(panel + Panel::column(static_cast<u32>(column), args.b_stride_n));
#pragma unroll 2
    for (auto i = static_cast<i32>(thread % 32); i < pieces; i += 32) {
      const i32 piece = first * 4 - 1 + i;
      i32 elements = args.k + lead - piece * 8;
      elements = elements < 0 || piece < 0 ? 0 : elements < 8 ? elements : 8;
      if (piece == 0 && lead != 0) continue;
      ptx::async_copy<16>(to + static_cast<u32>(i) * 16,
                          aligned + (elements > 0 ? static_cast<u64>(piece) * 16 : 0),
                          static_cast<u32>(elements) * 2);
    }
  }
  // The first aligned piece begins before the column, so its elements are loaded one by one.
  const auto mine = static_cast<i32>(thread);
  if (first != 0 || mine >= columns) return;
  const i32 lead = static_cast<i32>(line(mine) & 15) / 2;
  if (lead != 0)
    plain_split_elements(panel + Panel::column(static_cast<u32>(mine), args.b_stride_n) + 4,
                         line(mine), -lead, args.k);
}

// One step: two mma.sync for each group of eight columns. `words` points to the thread's first word
// in the first group's column; `odd` is 16 if its elements begin in the middle of a word, else 0.
template <class In, int kGroups>
__device__ __forceinline__ void plain_split_multiply(float (&d)[kGroups][4], const uint4 (&a)[2],
                                                     const u32* words, u32 odd) {
  const u32 low[4] = {a[0].x, a[1].x, a[0].y, a[1].y};
  const u32 high[4] = {a[0].z, a[1].z, a[0].w, a[1].w};
  u32 raw[kGroups][5];
#pragma unroll
  for (i32 g = 0; g < kGroups; ++g)
#pragma unroll
    for (i32 w = 0; w < 5; ++w)
      raw[g][w] = words[g * 8 * static_cast<i32>(PlainSplitPanel<kGroups>::kPitch) + w];
#pragma unroll
  for (i32 g = 0; g < kGroups; ++g) {
    const u32 b[2] = {funnel_right(raw[g][0], raw[g][1], odd),
                      funnel_right(raw[g][1], raw[g][2], odd)};
    In::mma(d[g], low, b);
  }
#pragma unroll
  for (i32 g = 0; g < kGroups; ++g) {
    const u32 b[2] = {funnel_right(raw[g][2], raw[g][3], odd),
                      funnel_right(raw[g][3], raw[g][4], odd)};
    In::mma(d[g], high, b);
  }
}

// Writes the CTA's accumulators to shared memory, column-major like D.
template <int kGroups>
__device__ __forceinline__ void plain_split_put(const float (&d)[kGroups][4], u32 shared) {
  const u32 lane = ptx::lane_id();
  const u32 row = threadIdx.x / 32 + lane / 4 * 8, column = lane % 4 * 2;
  const u32 to = shared + (column * kPlainSplitPitch + row) * 4;
#pragma unroll
  for (u32 g = 0; g < kGroups; ++g)
#pragma unroll
    for (u32 e = 0; e < 4; ++e)
      ptx::store_shared(to + ((g * 8 + e % 2) * kPlainSplitPitch + e / 2 * 64) * 4, d[g][e]);
}

// Adds up the CTAs' accumulators of this CTA's share of D's columns and writes D. They are added in
// the order of ranks, so that equal inputs give equal bits.
template <class Out>
__device__ __forceinline__ void plain_split_write(const GemmArgs& args, u32 shared, i32 m0,
                                                  i32 n0) {
  constexpr u32 kMost = 8;  // parts
  const u32 part = ptx::cluster_rank(), parts = ptx::cluster_size();
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d);
  const auto* c = reinterpret_cast<const typename Out::Storage*>(args.c);
  const i32 columns = args.n - n0 < kPlainSplitColumns ? args.n - n0 : kPlainSplitColumns;
  const u32 row = threadIdx.x % kPlainSplitRows;
  if (m0 + static_cast<i32>(row) >= args.m) return;
  constexpr u32 kAtOnce = kPlainSplitThreads / kPlainSplitRows;
  const i64 at = m0 + static_cast<i32>(row);
#pragma unroll 1
  for (u32 column = part * kAtOnce + threadIdx.x / kPlainSplitRows;
       column < static_cast<u32>(columns); column += parts * kAtOnce) {
    const u32 from = shared + (column * kPlainSplitPitch + row) * 4;
    const i64 line = n0 + static_cast<i32>(column);
    float v[kMost];
#pragma unroll
    for (u32 i = 0; i < kMost; ++i)
      v[i] = i < parts ? ptx::load_cluster(ptx::cluster_address(from, i)) : 0.0f;
    float sum = v[0];
#pragma unroll
    for (u32 i = 1; i < kMost; ++i) sum += v[i];
    float value = args.alpha * sum;
    if (args.beta != 0.0f) value += args.beta * Out::to_float(c[line * args.c_stride_m + at]);
    out[line * args.d_stride_m + at] = Out::from_float(value);
  }
}

template <int kGroups>
__device__ __forceinline__ void plain_split_add(float (&d)[kGroups][4],
                                                const float (&chain)[kGroups][4]) {
#pragma unroll
  for (i32 g = 0; g < kGroups; ++g)
#pragma unroll
    for (i32 e = 0; e < 4; ++e) d[g][e] += chain[g][e];
}

// Corrects the pieces at the ends of rows: zeroes elements outside of the row, and takes A's first
// and last piece from `corner`.
__device__ __forceinline__ void plain_split_cut(const GemmArgs& args, const u32 (*corner)[4],
                                                uint4 (&a)[2], i32 m0, i32 step, i32 lead) {
  const auto lane = static_cast<i32>(ptx::lane_id());
  const i32 k0 = (step * 4 + lane % 4) * 8 - lead;
  const PlainSplitInside inside(k0, args.k);
#pragma unroll
  for (i32 i = 0; i < 2; ++i) {
    const i32 row = m0 + static_cast<i32>(threadIdx.x / 32) + lane / 4 * 8 + i * 64;
    u32 word[4] = {a[i].x, a[i].y, a[i].z, a[i].w};
    const bool head = row == 0 && k0 < 0, tail = row == args.m - 1 && k0 + 8 >= args.k;
    if ((head || tail) && inside.first < inside.end) {
#pragma unroll
      for (i32 w = 0; w < 4; ++w) word[w] = corner[head ? 0 : 1][w];
    }
    inside.cut(word);
    a[i] = make_uint4(word[0], word[1], word[2], word[3]);
  }
}

// Multiplies the CTA's steps and stores the accumulators to shared memory.
template <class In, int kGroups>
__device__ __forceinline__ void plain_split_sum(const GemmArgs& args, u32* panel, u32 (*corner)[4],
                                                i32 m0, i32 n0, PlainSplitSpan span) {
  using Panel = PlainSplitPanel<kGroups>;
  constexpr i32 kAhead = Panel::kAhead;
  const PlainSplitLines lines(args, m0, span);
  const u32 lane = ptx::lane_id();
  // Offset, in elements, of a piece of A in the panel of this thread's columns.
  const u64 column =
      args.b + static_cast<u64>((n0 + static_cast<i32>(lane / 4)) * args.b_stride_n) * 2;
  const u32 behind = 8 + static_cast<u32>(column & 15) / 2 - static_cast<u32>(lines.lead);
  const u32 odd = behind % 2 * 16;
  const u32* words = panel + Panel::column(lane / 4, args.b_stride_n) + lane % 4 * 4 + behind / 2;
  const i32 whole = (args.k + lines.lead) / 32;  // the first step that reaches beyond k
  float d[kGroups][4] = {};
  float chain[kGroups][4] = {};
  uint4 a[kAhead][2], next[kAhead][2];
  i32 from = span.begin;
#pragma unroll 1
  for (i32 step = span.begin; step < span.end; step += kAhead) {
    const bool panel_begins = (step - span.begin) % Panel::kSteps == 0;
    if (panel_begins) {
      from = step;
      plain_split_add(d, chain);
      ptx::sync_block();
      const i32 end = step + Panel::kSteps;
      plain_split_stage<kGroups>(args, panel, n0, step, end < span.end ? end : span.end);
      if (step == span.begin) {
        // All threads wait for the panel, so its copies are issued before these loads.
        if ((m0 == 0 && step == 0) ||
            (m0 + kPlainSplitRows >= args.m && span.end * kPlainSplitStep >= args.k))
          plain_split_corners(args, corner);
        lines.load(a, step);
      }
      ptx::async_copy_commit();
    }
    lines.load(next, step + kAhead);
    if (panel_begins) {
      ptx::async_copy_wait<0>();
      ptx::sync_block();
#pragma unroll
      for (i32 g = 0; g < kGroups; ++g)
#pragma unroll
        for (i32 e = 0; e < 4; ++e) chain[g][e] = 0.0f;
    }
#pragma unroll
    for (i32 s = 0; s < kAhead; ++s) {
      if (step + s >= span.end) break;
      if (step + s == 0 || step + s >= whole)
        plain_split_cut(args, corner, a[s], m0, step + s, lines.lead);
      plain_split_multiply<In, kGroups>(chain, a[s], words + (step + s - from) * 16, odd);
    }
#pragma unroll
    for (i32 s = 0; s < kAhead; ++s)
#pragma unroll
      for (i32 i = 0; i < 2; ++i) a[s][i] = next[s][i];
  }
  plain_split_add(d, chain);
  ptx::grid_dependency_launch();
  ptx::sync_block();
  plain_split_put<kGroups>(d, ptx::shared_address(panel));
}

// Waits until all CTAs have stored their accumulators.
__device__ __forceinline__ void plain_split_sync(u32 parts) {
  if (parts == 1) {
    ptx::sync_block();
    return;
  }
  ptx::cluster_arrive();
  ptx::cluster_wait();
}

template <class In, class Out>
__device__ void gemm_plain_split(const GemmArgs& args) {
  __shared__ __align__(16) u32 words[kPlainSplitWords];
  static_assert(kPlainSplitColumns * kPlainSplitPitch <= kPlainSplitWords,
                "the accumulators must fit into B's memory");
  __shared__ __align__(16) u32 corner[2][4];
  ptx::grid_dependency_wait();
  const u32 part = ptx::cluster_rank(), parts = ptx::cluster_size();
  // Tiles that share rows of A have consecutive units.
  const u32 unit = blockIdx.x / parts, across = unit / static_cast<u32>(args.units_n);
  const i32 m0 = static_cast<i32>(across) * kPlainSplitRows;
  const i32 n0 =
      static_cast<i32>(unit - across * static_cast<u32>(args.units_n)) * kPlainSplitColumns;
  // Steps start at the aligned address, up to 7 elements before the row's first.
  const u32 steps =
      args.k == 0 ? 0 : static_cast<u32>(args.k + 7 + kPlainSplitStep - 1) / kPlainSplitStep;
  const PlainSplitSpan span = {static_cast<i32>(steps * part / parts),
                               static_cast<i32>(steps * (part + 1) / parts)};
  const i32 groups = (args.n - n0 + 7) / 8;
  if (groups <= 1)
    plain_split_sum<In, 1>(args, words, corner, m0, n0, span);
  else if (groups == 2)
    plain_split_sum<In, 2>(args, words, corner, m0, n0, span);
  else if (groups == 3)
    plain_split_sum<In, 3>(args, words, corner, m0, n0, span);
  else
    plain_split_sum<In, 4>(args, words, corner, m0, n0, span);
  plain_split_sync(parts);
  plain_split_write<Out>(args, ptx::shared_address(words), m0, n0);
  if (parts > 1) {  // other CTAs may still read this one's accumulators
    ptx::cluster_arrive_relaxed();
    ptx::cluster_wait();
  }
}

}  // namespace tw
