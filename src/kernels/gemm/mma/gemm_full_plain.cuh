// SPDX-License-Identifier: Apache-2.0
#pragma once
// mma.sync kernels ("plain" in names) with every epilogue and batches ("full"), for any strides and
// addresses. They have the main loop of gemm_plain.cuh, then move a tile's accumulators to shared
// memory for the epilogue. With a gate of halves, a tile has columns (or rows) of both halves.

#include "kernels/gemm/epilogue/full_epilogue.cuh"
#include "kernels/gemm/mma/plain_loop.cuh"

namespace tw {

// Like plain_fetch(), but line i of the tile is line operand_line(i) of the operand.
template <class Storage, class First>
__device__ __forceinline__ void full_fetch(Storage* shared, const Storage* global, i64 line_stride,
                                           i64 k_stride, First operand_line, i32 lines, i32 k0,
                                           i32 k_end) {
  const bool along_k = k_stride == 1;
#pragma unroll 4
  for (i32 i = 0; i < kPlainTile * kPlainK / static_cast<i32>(kPlainThreads); ++i) {
    const i32 item = i * static_cast<i32>(kPlainThreads) + static_cast<i32>(threadIdx.x);
    const i32 line = along_k ? item / kPlainK : item % kPlainTile;
    const i32 k = along_k ? item % kPlainK : item / kPlainTile;
    const i32 from = operand_line(line);
    Storage value = 0;
    if (from < lines && k0 + k < k_end) value = global[from * line_stride + (k0 + k) * k_stride];
    shared[line * kPlainPitch + k] = value;
  }
}

// Applies the epilogue to a tile's accumulators and writes its part of D. (m0, n0) is the tile's
// first row and column in v.
template <class In, class Out>
__device__ __forceinline__ void full_plain_write(const GemmEpilogueArgs& args, const FullRun& run,
                                                 const float* sums, i32 m0, i32 n0, u32& largest) {
  const bool gated = args.gate != kGateNone;
  const bool across = gated && args.gate_across;
  const bool along = gated && !across;
  const i32 groups = kPlainTile / (along ? 16 : 8);
  const i32 lines = kPlainTile / (across ? 2 : 1);
  // Within the tile the halves of a gate are half a tile apart.
  const FullGate tile_gate = {args.gate, args.gate_across, kPlainTile / 2};
#pragma unroll 1
  for (i32 item = static_cast<i32>(threadIdx.x); item < lines * groups;
       item += static_cast<i32>(kPlainThreads)) {
    const i32 row = item / groups, column = item % groups * 8;
    const i32 line = (across ? m0 / 2 : m0) + row;
    const i32 at = (along ? n0 / 2 : n0) + column;
    if (line >= run.lines || at >= run.extent) continue;
    full_write<In, Out>(args, run, line, at, run.extent - at, largest,
                        [&](bool second, float(&v)[8]) {
                          const FullPlace place = full_place(tile_gate, row, column, second);
                          const float* from = sums + place.line * kFullPlainPitch + place.at;
#pragma unroll
                          for (i32 i = 0; i < 8; ++i) v[i] = from[i * place.step];
                        });
  }
}

template <class In, class Out>
__device__ void gemm_full_plain(const GemmEpilogueArgs& args) {
  using Storage = typename In::Storage;
  __shared__ __align__(16) Storage a[kPlainTile * kPlainPitch];
  __shared__ __align__(16) Storage b[kPlainTile * kPlainPitch];
  __shared__ __align__(16) float sums[kPlainTile * kFullPlainPitch];
  ptx::grid_dependency_wait_and_launch();
  const GemmArgs& base = args.base;
  const GemmEffectiveSizes sizes = gemm_effective_sizes(args, kPlainTile, kPlainTile);
  const bool gated = args.gate != kGateNone;
  const bool across = gated && args.gate_across, along = gated && !across;
  const i32 lines = across ? args.half : sizes.m;
  FullRun run = full_run(args, lines, along ? args.half : sizes.n);
  u32 largest = 0;
  const i32 units = sizes.units_m * sizes.units_n;
  for (i32 unit = static_cast<i32>(blockIdx.x); unit < units * args.batch;
       unit += static_cast<i32>(gridDim.x)) {
    const i32 z = unit / units;
    const GemmMatrix matrix = gemm_matrix(args, z, In::kBytes, Out::kBytes);
    if (matrix.d == 0) continue;
    i32 m0, n0;
    gemm_unit(sizes, unit - z * units, &m0, &n0);
    m0 *= kPlainTile;
    n0 *= kPlainTile;
    full_matrix<In, Out>(args, z, lines, &run);
    const auto row = [&](i32 i) { return across ? full_line(args, m0, i, kPlainTile) : m0 + i; };
    const auto column = [&](i32 i) { return along ? full_line(args, n0, i, kPlainTile) : n0 + i; };
    float d[2][4][4] = {};
    float chain[2][4][4] = {};
    for (i32 k = 0; k < sizes.k; k += kPlainK) {
      full_fetch(a, reinterpret_cast<const Storage*>(matrix.a), base.a_stride_m, base.a_stride_k,
                 row, base.m, k, sizes.k);
      full_fetch(b, reinterpret_cast<const Storage*>(matrix.b), base.b_stride_n, base.b_stride_k,
                 column, base.n, k, sizes.k);
      ptx::sync_block();
      plain_multiply<In>(chain, a, b);
      ptx::sync_block();
      if ((k + kPlainK) % kPlainChain == 0 || k + kPlainK >= sizes.k) plain_add(d, chain);
    }
    full_plain_stage(d, sums);
    ptx::sync_block();
    full_plain_write<In, Out>(args, run, sums, m0, n0, largest);
    ptx::sync_block();
  }
  full_amax<Out>(args, largest);
}

}  // namespace tw
