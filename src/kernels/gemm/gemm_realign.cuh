// SPDX-License-Identifier: Apache-2.0
#pragma once
// The staging copy of operands that no tensor map can describe (arguments/gemm_realign.h). Small
// operands are bound by launch latency, so one launch copies both. Unlike a copy plan, it may write
// past the end of a line, so it stores whole 16-byte pieces. A thread handles one piece at a time
// and needs few registers: a CTA of the product that has one consumer warpgroup and enough shared
// memory finds room on the SM while the last CTAs of the copy run.

#include "kernels/common/realign.cuh"
#include "kernels/gemm/arguments/gemm_realign.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

// Loads a piece element by element, with zeros beyond the operand's end.
__device__ __forceinline__ uint4 realign_at_end(const GemmRealignOperand& of, u64 from) {
  u32 word[4] = {};
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    u32 half = 0;
    ptx::load_if_u16(half, from + 2 * i, from + 2 * i < of.end);
    word[i / 2] |= half << (i % 2 * 16);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

__device__ __forceinline__ void realign_operand(const GemmRealignOperand& of, u32 block,
                                                u32 blocks) {
  const u32 step = blocks * kRealignThreads;
#pragma unroll 1
  for (u32 at = block * kRealignThreads + threadIdx.x; at < of.pieces; at += step) {
    const u32 line = divide(at, of.of_line);
    const u64 along = static_cast<u64>(at - line * of.of_line.divisor) * 16;
    const u64 from = of.src + static_cast<u64>(line * of.src_pitch) + along;
    const u64 to = of.dst + static_cast<u64>(line * of.dst_pitch) + along;
    if (aligned_loads_inside(from, of.src, of.end)) {
      const Words4 v = realign(load_aligned_after_wait(from), from);
      ptx::store_unit<16>(to, make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]));
    } else {
      ptx::store_unit<16>(to, realign_at_end(of, from));
    }
  }
}

__device__ __forceinline__ void gemm_realign(const GemmRealignArgs& args) {
  // An earlier product may still read the workspace.
  ptx::grid_dependency_wait_and_launch();
  const bool second = blockIdx.x >= args.blocks;
  realign_operand(args.operands[second ? 1 : 0], second ? blockIdx.x - args.blocks : blockIdx.x,
                  second ? gridDim.x - args.blocks : args.blocks);
}

}  // namespace tw
