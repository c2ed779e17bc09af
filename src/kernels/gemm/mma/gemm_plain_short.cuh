// SPDX-License-Identifier: Apache-2.0
#pragma once
// D = alpha A B + beta C for a k of at most 64 ("plain_short" in names). A and B are contiguous
// along k, at any address and pitch. Such products of few rows are bound by latency. The kernel
// therefore has one round of loads, a loop without tensor cores and one round of stores. Its code
// is short, because code that runs once is bound by instruction fetches. A CTA computes 32 x 32 of
// D, a thread four rows of one column.

#include "kernels/gemm/arguments/gemm.h"
#include "kernels/ptx/basic.cuh"
#include "kernels/ptx/global.cuh"
#include "kernels/ptx/types.cuh"

namespace tw {

inline constexpr i32 kPlainShortTile = 32;
inline constexpr i32 kPlainShortK = 64;
inline constexpr i32 kPlainShortThreads = 256;
inline constexpr i32 kPlainShortRows = 4;  // per warp
// Most elements of an operand's tile that a thread loads.
inline constexpr i32 kPlainShortRounds = kPlainShortTile * kPlainShortK / kPlainShortThreads;
// Pitches in shared memory, padded against bank conflicts: B is stored along k, A across k.
inline constexpr i32 kPlainShortPitch = kPlainShortK + 2;
inline constexpr i32 kPlainShortAcross = kPlainShortTile + 4;

// Which elements of an operand's tile a thread loads. Elements are numbered line by line; a line
// has k of them. Round r of thread t loads element t + r * kPlainShortThreads.
struct PlainShortElements {
  i32 k, inverse;

  // `inverse` exceeds 2^20 / k by less than 3. Quotients by k are exact, since number * k * 3 is
  // below 2^11 * 2^6 * 3 < 2^20.
  __device__ __forceinline__ explicit PlainShortElements(i32 depth)
      : k(depth),
        inverse(static_cast<i32>(1048576.0f * ptx::reciprocal(static_cast<float>(depth))) + 2) {}
  // Number of the element that the thread loads in a round.
  __device__ __forceinline__ i32 number(i32 round) const {
    return static_cast<i32>(threadIdx.x) + round * kPlainShortThreads;
  }
  __device__ __forceinline__ i32 line(i32 number) const {
    return static_cast<i32>(static_cast<u32>(number) * static_cast<u32>(inverse) >> 20);
  }
  // Whether the round is beyond the tile.
  __device__ __forceinline__ bool is_past_end(i32 round) const {
    return round * kPlainShortThreads >= kPlainShortTile * k;
  }
};

// The lines of an operand (rows of A or columns of B) that a tile covers, of which `count` exist.
struct PlainShortLines {
  u64 first;
  i64 pitch;
  i32 count;

  __device__ __forceinline__ PlainShortLines(u64 base, i64 line_pitch, i32 line, i32 lines)
      : first(base + static_cast<u64>(line * line_pitch) * 2),
        pitch(line_pitch),
        count(lines - line < kPlainShortTile ? lines - line : kPlainShortTile) {}
  __device__ __forceinline__ void load(u32& value, i32 line, i32 at) const {
    value = 0;
    ptx::load_if_u16(value, first + static_cast<u64>(line * pitch + at) * 2, line < count);
  }
};

template <class In>
__device__ __forceinline__ void plain_short_fetch(const PlainShortElements& elements,
                                                  const PlainShortLines& of_a,
                                                  const PlainShortLines& of_b, float* a,
                                                  typename In::Storage* b) {
  u32 got_a[kPlainShortRounds], got_b[kPlainShortRounds];
#pragma unroll
  for (i32 round = 0; round < kPlainShortRounds; ++round) {
    if (elements.is_past_end(round)) break;
    const i32 line = elements.line(elements.number(round)),
              at = elements.number(round) - line * elements.k;
    of_b.load(got_b[round], line, at);
    of_a.load(got_a[round], line, at);
  }
#pragma unroll
  for (i32 round = 0; round < kPlainShortRounds; ++round) {
    if (elements.is_past_end(round)) break;
    const i32 line = elements.line(elements.number(round)),
              at = elements.number(round) - line * elements.k;
    if (line >= kPlainShortTile) break;
    using Storage = typename In::Storage;
    b[line * kPlainShortPitch + at] = static_cast<Storage>(got_b[round]);
    a[at * kPlainShortAcross + line] = In::to_float(static_cast<Storage>(got_a[round]));
  }
}

template <class Out>
__device__ __forceinline__ void plain_short_write(const GemmArgs& args,
                                                  const float (&d)[kPlainShortRows], i32 row,
                                                  i32 column) {
  auto* out = reinterpret_cast<typename Out::Storage*>(args.d) + row * args.d_stride_m + column;
  const auto* c =
      reinterpret_cast<const typename Out::Storage*>(args.c) + row * args.c_stride_m + column;
#pragma unroll
  for (i32 i = 0; i < kPlainShortRows; ++i) {
    if (row + i >= args.m || column >= args.n) break;
    float value = args.alpha * d[i];
    if (args.beta != 0.0f) value += args.beta * Out::to_float(c[i * args.c_stride_m]);
    out[i * args.d_stride_m] = Out::from_float(value);
  }
}

template <class In, class Out>
__device__ void gemm_plain_short(const GemmArgs& args) {
  __shared__ __align__(16) float a[kPlainShortK * kPlainShortAcross];
  __shared__ typename In::Storage b[kPlainShortTile * kPlainShortPitch];
  const auto lane = static_cast<i32>(threadIdx.x % 32);
  const i32 row0 = static_cast<i32>(threadIdx.x / 32) * kPlainShortRows;
  const PlainShortElements elements(args.k);
  ptx::grid_dependency_wait_and_launch();
#pragma unroll 1
  for (auto unit = static_cast<i32>(blockIdx.x); unit < args.units_m * args.units_n;
       unit += static_cast<i32>(gridDim.x)) {
    // Few rows are one tile along m. The division, which is then skipped, takes longer than all
    // other index arithmetic.
    const i32 across = args.units_m == 1 ? unit : unit / args.units_m;
    const i32 m0 = (unit - across * args.units_m) * kPlainShortTile, n0 = across * kPlainShortTile;
    plain_short_fetch<In>(elements, {args.a, args.a_stride_m, m0, args.m},
                          {args.b, args.b_stride_n, n0, args.n}, a, b);
    ptx::sync_block();
    if (m0 + row0 < args.m) {
      float d[kPlainShortRows] = {};
#pragma unroll 4
      for (i32 k = 0; k < args.k; ++k) {
        const float weight = In::to_float(b[lane * kPlainShortPitch + k]);
        const float4 v = *reinterpret_cast<const float4*>(&a[k * kPlainShortAcross + row0]);
        d[0] += v.x * weight;
        d[1] += v.y * weight;
        d[2] += v.z * weight;
        d[3] += v.w * weight;
      }
      plain_short_write<Out>(args, d, m0 + row0, n0 + lane);
    }
    ptx::sync_block();
  }
}

}  // namespace tw
