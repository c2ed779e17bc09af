// SPDX-License-Identifier: Apache-2.0
#pragma once
// The staging copy of operands that no tensor map can describe (arguments/gemm_realign.h). Small
// operands are bound by launch latency, so one launch copies both. Unlike a copy plan, the kernel
// may write past the end of a line, so it stores whole 16-byte pieces. A thread handles one piece
// at a time and needs few registers. While the last CTAs of the copy run, the SM can therefore
// start a CTA of the product that has one consumer warpgroup and needs little enough shared memory.

#include "kernels/common/realign.cuh"
#include "kernels/gemm/arguments/gemm_realign.h"
#include "kernels/ptx/basic.cuh"

namespace tw {

// Loads a piece element by element, with zeros beyond the operand's end.
__device__ __forceinline__ uint4 staging_load_at_end(const GemmStagingOperand& operand, u64 from) {
  u32 word[4] = {};
#pragma unroll
  for (u32 i = 0; i < 8; ++i) {
    u32 half = 0;
    ptx::load_if_u16(half, from + 2 * i, from + 2 * i < operand.end);
    word[i / 2] |= half << (i % 2 * 16);
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

__device__ __forceinline__ void staging_copy_operand(const GemmStagingOperand& operand, u32 block,
                                                     u32 blocks) {
  const u32 step = blocks * kStagingThreads;
#pragma unroll 1
  for (u32 at = block * kStagingThreads + threadIdx.x; at < operand.pieces; at += step) {
    const u32 line = divide(at, operand.line_pieces);
    const u64 along = static_cast<u64>(at - line * operand.line_pieces.divisor) * 16;
    const u64 from = operand.src + static_cast<u64>(line * operand.src_pitch) + along;
    const u64 to = operand.dst + static_cast<u64>(line * operand.dst_pitch) + along;
    if (aligned_loads_inside(from, operand.src, operand.end)) {
      const Words4 v = realign(load_aligned_after_wait(from), from);
      ptx::store_unit<16>(to, make_uint4(v.w[0], v.w[1], v.w[2], v.w[3]));
    } else {
      ptx::store_unit<16>(to, staging_load_at_end(operand, from));
    }
  }
}

__device__ __forceinline__ void gemm_realign(const GemmStagingArgs& args) {
  // An earlier product may still read the workspace.
  ptx::grid_dependency_wait_and_launch();
  const bool second = blockIdx.x >= args.blocks;
  staging_copy_operand(args.operands[second ? 1 : 0],
                       second ? blockIdx.x - args.blocks : blockIdx.x,
                       second ? gridDim.x - args.blocks : args.blocks);
}

}  // namespace tw
