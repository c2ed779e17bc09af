// SPDX-License-Identifier: Apache-2.0
#pragma once
// A table in shared memory with bias and d_factor along D's lines, as floats, for the warps that
// write a tile together. One thread per column loads both while the tile's last products run, and
// stores them to the table afterwards. A lane reads two columns at once; shuffles would cost a
// branch each. "full" in names marks code of the epilogue kernels.

#include "kernels/gemm/epilogue/full_fragment.cuh"
#include "kernels/ptx/shared.cuh"

namespace tw {

/// Bias and d_factor that a thread has loaded: those of its columns, and those across the lines for
/// a lane's two lines of each row block. They are not converted yet, since a conversion would wait
/// for the load.
template <int kRowBlocks, int kThreadColumns>
struct FullLoaded {
  static constexpr int kColumns = kThreadColumns;
  u32 bias[kThreadColumns], d_factor[kThreadColumns];
  u32 bias_across[kRowBlocks][2], d_factor_across[kRowBlocks][2];
};

/// -0 in the bias's type.
__device__ __forceinline__ u32 table_no_bias(const GemmEpilogueArgs& args) {
  return args.bias_type != kBiasAsInput ? 0x80000000u : 0x8000u;
}

// The following two functions load without branches. If `exists` is false, `raw` keeps its value.
__device__ __forceinline__ void table_load_bias(const GemmEpilogueArgs& args, i32 at, bool exists,
                                                u32& raw) {
  const u64 address =
      args.bias + (static_cast<u64>(at) << (args.bias_type != kBiasAsInput ? 2 : 1));
  ptx::load_if_u32(raw, address, exists && args.bias_type != kBiasAsInput);
  ptx::load_if_u16(raw, address, exists && args.bias_type == kBiasAsInput);
}
__device__ __forceinline__ void table_load_d_factor(const GemmEpilogueArgs& args, i32 at,
                                                    bool exists, u32& raw) {
  ptx::load_if_u32(raw, args.d_factor + static_cast<u64>(at) * 4, exists);
}

/// Prefetches a tile's bias into the L2.
template <i32 kTileN, i32 kThreads>
__device__ __forceinline__ void table_prefetch_bias(const GemmEpilogueArgs& args, i32 n0,
                                                    i32 thread) {
  if (args.bias_by != kFullPerElement || thread % 16 != 0) return;
#pragma unroll
  for (i32 column = thread; column - thread < kTileN; column += kThreads) {
    const i32 at = full_line(args, n0, column, kTileN);
    if (column < kTileN && at < args.base.n)
      ptx::prefetch_line(args.bias +
                         (static_cast<u64>(at) << (args.bias_type != kBiasAsInput ? 2 : 1)));
  }
}

/// Converts a loaded bias.
template <class In>
__device__ __forceinline__ float table_bias_value(const GemmEpilogueArgs& args, u32 raw) {
  return args.bias_type != kBiasAsInput ? act::from_bits(raw)
                                        : In::to_float(static_cast<typename In::Storage>(raw));
}

/// Loads bias and d_factor for a tile that begins at column n0 of v and, with kExtras, for the
/// warp's lines from `line` on. Each of the kThreads threads has every kThreads-th column.
template <i32 kTileN, i32 kThreads, bool kExtras, int kRowBlocks, int kThreadColumns>
__device__ __forceinline__ void table_load(const GemmEpilogueArgs& args, const FullRun& run,
                                           i32 line, i32 n0, i32 thread,
                                           FullLoaded<kRowBlocks, kThreadColumns>& loaded) {
#pragma unroll
  for (int i = 0; i < kThreadColumns; ++i) {
    const i32 column = thread + i * kThreads;
    const i32 at = full_line(args, n0, column, kTileN);
    // Each of a gate's two operands has as many columns as D.
    const i32 extent = args.gate == kGateInterleaved                      ? 2 * run.extent
                       : args.gate == kGateHalves && 2 * column >= kTileN ? args.half + run.extent
                                                                          : run.extent;
    const bool exists = column < kTileN && at < extent;
    loaded.bias[i] = table_no_bias(args);
    table_load_bias(args, at, exists && args.bias_by == kFullPerElement, loaded.bias[i]);
    if constexpr (kExtras) {
      loaded.d_factor[i] = act::bits(full_d_factor(args));
      table_load_d_factor(args, at, exists && args.d_factor_by == kFullPerElement,
                          loaded.d_factor[i]);
    }
  }
  if constexpr (kExtras) {
    const auto lane = static_cast<i32>(ptx::lane_id());
#pragma unroll
    for (i32 i = 0; i < 2 * kRowBlocks; ++i) {
      const i32 own = line + i / 2 * 64 + i % 2 * 8 + lane / 4;
      u32& bias = loaded.bias_across[i / 2][i % 2];
      u32& d_factor = loaded.d_factor_across[i / 2][i % 2];
      bias = table_no_bias(args);
      d_factor = act::bits(1.0f);
      table_load_bias(args, own, own < run.lines && args.bias_by == kFullPerLine, bias);
      table_load_d_factor(args, own, own < run.lines && args.d_factor_by == kFullPerLine, d_factor);
    }
  }
}

/// Stores a thread's columns in the table, with the bias multiplied by `factor`.
template <class In, i32 kTileN, i32 kThreads, bool kExtras, class Loaded>
__device__ __forceinline__ void table_store(const GemmEpilogueArgs& args, u32 table, i32 thread,
                                            const Loaded& loaded, float factor) {
#pragma unroll
  for (int i = 0; i < Loaded::kColumns; ++i) {
    const i32 column = thread + i * kThreads;
    if (column >= kTileN) return;
    const u32 to = table + static_cast<u32>(column) * 4;
    ptx::shared_store<4>(to, act::bits(table_bias_value<In>(args, loaded.bias[i]) * factor));
    if (kExtras) ptx::shared_store<4>(to + kTileN * 4, loaded.d_factor[i]);
  }
}

/// Reads the entries of two neighboring columns.
__device__ __forceinline__ void table_read_two(u32 address, float (&two)[2]) {
  const u64 both = ptx::shared_load<8>(address);
  two[0] = act::from_bits(static_cast<u32>(both));
  two[1] = act::from_bits(static_cast<u32>(both >> 32));
}

}  // namespace tw
