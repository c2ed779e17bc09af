// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha A B + beta C for any strides and addresses, with element loads, mma.sync and element
// stores. This kernel serves operands that the TMA cannot address (an odd pitch) and chips without
// wgmma. A CTA computes one 64 x 64 tile at a time; each of its four warps computes 32 x 32 of it.

#include "kernels/gemm/mma/plain_loop.cuh"

namespace tw {

// Loads 64 lines (rows of A or columns of B) of 32 elements along k, with zeros outside of the
// operand. Consecutive threads load along the dimension whose stride is 1.
template <class Storage>
__device__ __forceinline__ void plain_fetch(Storage* shared, const Storage* global, i64 line_stride,
                                            i64 k_stride, i32 line0, i32 lines, i32 k0, i32 k_end) {
  const bool along_k = k_stride == 1;
#pragma unroll
  for (i32 i = 0; i < kPlainTile * kPlainK / static_cast<i32>(kPlainThreads); ++i) {
    const i32 item = i * static_cast<i32>(kPlainThreads) + static_cast<i32>(threadIdx.x);
    const i32 line = along_k ? item / kPlainK : item % kPlainTile;
    const i32 k = along_k ? item % kPlainK : item / kPlainTile;
    Storage value = 0;
    if (line0 + line < lines && k0 + k < k_end)
      value = global[(line0 + line) * line_stride + (k0 + k) * k_stride];
    shared[line * kPlainPitch + k] = value;
  }
}

template <class Out>
__device__ __forceinline__ void plain_write(const float (&d)[2][4][4], const GemmArgs& args, i32 m0,
                                            i32 n0) {
  const auto lane = static_cast<i32>(ptx::lane_id());
  const auto warp = static_cast<i32>(threadIdx.x / 32);
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d);
  const auto* c = reinterpret_cast<const typename Out::Storage*>(args.c);
#pragma unroll
  for (i32 i = 0; i < 2; ++i)
#pragma unroll
    for (i32 j = 0; j < 4; ++j)
#pragma unroll
      for (i32 e = 0; e < 4; ++e) {
        const i32 row = m0 + warp / 2 * 32 + i * 16 + lane / 4 + e / 2 * 8;
        const i32 column = n0 + warp % 2 * 32 + j * 8 + lane % 4 * 2 + e % 2;
        if (row >= args.m || column >= args.n) continue;
        float value = args.alpha * d[i][j][e];
        if (args.beta != 0.0f)
          value += args.beta * Out::to_float(c[row * args.c_stride_m + column]);
        out[row * args.d_stride_m + column] = Out::from_float(value);
      }
}

template <class In, class Out>
__device__ void gemm_plain(const GemmArgs& args) {
  using Storage = typename In::Storage;
  __shared__ __align__(16) Storage a[kPlainTile * kPlainPitch];
  __shared__ __align__(16) Storage b[kPlainTile * kPlainPitch];
  ptx::grid_dependency_wait_and_launch();
  const i32 units = args.units_m * args.units_n;
  for (i32 unit = static_cast<i32>(blockIdx.x); unit < units; unit += static_cast<i32>(gridDim.x)) {
    i32 m0, n0;
    gemm_unit(args, unit, &m0, &n0);
    m0 *= kPlainTile;
    n0 *= kPlainTile;
    float d[2][4][4] = {};
    float chain[2][4][4] = {};
    for (i32 k = 0; k < args.k; k += kPlainK) {
      plain_fetch(a, reinterpret_cast<const Storage*>(args.a), args.a_stride_m, args.a_stride_k, m0,
                  args.m, k, args.k);
      plain_fetch(b, reinterpret_cast<const Storage*>(args.b), args.b_stride_n, args.b_stride_k, n0,
                  args.n, k, args.k);
      ptx::sync_block();
      plain_multiply<In>(chain, a, b);
      ptx::sync_block();
      if ((k + kPlainK) % kPlainChain == 0 || k + kPlainK >= args.k) plain_add(d, chain);
    }
    plain_write<Out>(d, args, m0, n0);
  }
}

}  // namespace tw
