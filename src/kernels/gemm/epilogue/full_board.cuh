// SPDX-License-Identifier: Apache-2.0
#pragma once
// A table ("board") in shared memory with bias and scale along D's lines, as floats, for the warps
// that write a tile together. One thread per column loads them while the tile's last products run,
// and stores them afterwards. A lane reads two columns at once; shuffles would cost a branch each.

#include "kernels/gemm/epilogue/full_fragment.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// Bias and scale that a thread has loaded, unconverted, since a conversion would wait for the
/// load: those of its columns, and those across the lines for a lane's two lines of each piece.
template <int kPieces, int kOfThread>
struct FullLoaded {
  static constexpr int kColumns = kOfThread;
  u32 bias[kOfThread], scale[kOfThread];
  u32 bias_across[kPieces][2], scale_across[kPieces][2];
};

/// -0 in the bias's type.
__device__ __forceinline__ u32 board_no_bias(const GemmEpilogueArgs& args) {
  return args.bias_f32 ? 0x80000000u : 0x8000u;
}

// Loads without branches; `raw` keeps its value unless `there`.
__device__ __forceinline__ void board_ask_bias(const GemmEpilogueArgs& args, i32 at, bool there,
                                               u32& raw) {
  const u64 address = args.bias + (static_cast<u64>(at) << (args.bias_f32 ? 2 : 1));
  ptx::load_if_u32(raw, address, there && args.bias_f32);
  ptx::load_if_u16(raw, address, there && !args.bias_f32);
}
__device__ __forceinline__ void board_ask_scale(const GemmEpilogueArgs& args, i32 at, bool there,
                                                u32& raw) {
  ptx::load_if_u32(raw, args.scale + static_cast<u64>(at) * 4, there);
}

/// Prefetches a tile's bias into the L2.
template <i32 kTileN, i32 kThreads>
__device__ __forceinline__ void board_prefetch(const GemmEpilogueArgs& args, i32 n0, i32 thread) {
  if (args.bias_by != kFullPerElement || thread % 16 != 0) return;
#pragma unroll
  for (i32 column = thread; column - thread < kTileN; column += kThreads) {
    const i32 at = full_line(args, n0, column, kTileN);
    if (column < kTileN && at < args.base.n)
      ptx::prefetch_line(args.bias + (static_cast<u64>(at) << (args.bias_f32 ? 2 : 1)));
  }
}

template <class In>
__device__ __forceinline__ float board_bias(const GemmEpilogueArgs& args, u32 raw) {
  return args.bias_f32 ? act::from_bits(raw) : In::to_float(static_cast<typename In::Storage>(raw));
}

/// Loads bias and scale for a tile that begins at column n0 of v and, with kMore, for the warp's
/// lines from `line` on. Each of the kThreads threads has every kThreads-th column.
template <i32 kTileN, i32 kThreads, bool kMore, int kPieces, int kOfThread>
__device__ __forceinline__ void board_load(const GemmEpilogueArgs& args, const FullRun& run,
                                           i32 line, i32 n0, i32 thread,
                                           FullLoaded<kPieces, kOfThread>& asked) {
#pragma unroll
  for (int i = 0; i < kOfThread; ++i) {
    const i32 column = thread + i * kThreads;
    const i32 at = full_line(args, n0, column, kTileN);
    // A gate needs as many of its columns as D has.
    const i32 extent = args.gate == kGateNeighbours                       ? 2 * run.extent
                       : args.gate == kGateHalves && 2 * column >= kTileN ? args.half + run.extent
                                                                          : run.extent;
    const bool there = column < kTileN && at < extent;
    asked.bias[i] = board_no_bias(args);
    board_ask_bias(args, at, there && args.bias_by == kFullPerElement, asked.bias[i]);
    if constexpr (kMore) {
      asked.scale[i] = act::bits(full_scale(args));
      board_ask_scale(args, at, there && args.scale_by == kFullPerElement, asked.scale[i]);
    }
  }
  if constexpr (kMore) {
    const auto lane = static_cast<i32>(ptx::lane_id());
#pragma unroll
    for (i32 i = 0; i < 2 * kPieces; ++i) {
      const i32 own = line + i / 2 * 64 + i % 2 * 8 + lane / 4;
      u32& bias = asked.bias_across[i / 2][i % 2];
      u32& scale = asked.scale_across[i / 2][i % 2];
      bias = board_no_bias(args);
      scale = act::bits(1.0f);
      board_ask_bias(args, own, own < run.lines && args.bias_by == kFullPerLine, bias);
      board_ask_scale(args, own, own < run.lines && args.scale_by == kFullPerLine, scale);
    }
  }
}

/// Stores a thread's columns in the table, with the bias multiplied by `factor`.
template <class In, i32 kTileN, i32 kThreads, bool kMore, class Asked>
__device__ __forceinline__ void board_store(const GemmEpilogueArgs& args, u32 board, i32 thread,
                                            const Asked& asked, float factor) {
#pragma unroll
  for (int i = 0; i < Asked::kColumns; ++i) {
    const i32 column = thread + i * kThreads;
    if (column >= kTileN) return;
    const u32 to = board + static_cast<u32>(column) * 4;
    ptx::shared_store<4>(to, act::bits(board_bias<In>(args, asked.bias[i]) * factor));
    if (kMore) ptx::shared_store<4>(to + kTileN * 4, asked.scale[i]);
  }
}

/// Reads two neighbors.
__device__ __forceinline__ void board_take(u32 address, float (&two)[2]) {
  const u64 both = ptx::shared_load<8>(address);
  two[0] = act::from_bits(static_cast<u32>(both));
  two[1] = act::from_bits(static_cast<u32>(both >> 32));
}

}  // namespace tw
