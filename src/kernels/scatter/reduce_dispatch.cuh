// SPDX-License-Identifier: Apache-2.0
#pragma once
// Selects the bulk reduction instruction for an operation and an element type. Both are uniform
// over the launch, so the branches do not diverge.

#include "kernels/ptx/basic.cuh"
#include "kernels/rows/rows.h"

namespace tw {

/// Combines an operation and an element type into one number for a switch.
TW_KERNEL_HD constexpr u32 reduction_of(u32 op, u32 element) {
  return op * 16 + element;
}

/// Performs a bulk reduction. The switch lists all combinations that the hardware has.
__device__ __forceinline__ void reduce_bulk(u32 op, u32 element, u64 global, u32 shared,
                                            u32 bytes) {
  void* const to = ptx::global_pointer(global);
  switch (reduction_of(op, element)) {
    case reduction_of(kReduceAdd, kElementF32):
      return ptx::reduce_bulk<ptx::ReduceOp::add, ptx::ReduceType::f32>(to, shared, bytes);
    case reduction_of(kReduceAdd, kElementF64):
      return ptx::reduce_bulk<ptx::ReduceOp::add, ptx::ReduceType::f64>(to, shared, bytes);
    case reduction_of(kReduceAdd, kElementF16):
      return ptx::reduce_bulk<ptx::ReduceOp::add, ptx::ReduceType::f16>(to, shared, bytes);
    case reduction_of(kReduceAdd, kElementBF16):
      return ptx::reduce_bulk<ptx::ReduceOp::add, ptx::ReduceType::bf16>(to, shared, bytes);
    case reduction_of(kReduceAdd, kElementU32):
    case reduction_of(kReduceAdd, kElementI32):  // signed and unsigned sums have the same bits
      return ptx::reduce_bulk<ptx::ReduceOp::add, ptx::ReduceType::u32>(to, shared, bytes);
    case reduction_of(kReduceAdd, kElementU64):
    case reduction_of(kReduceAdd, kElementI64):
      return ptx::reduce_bulk<ptx::ReduceOp::add, ptx::ReduceType::u64>(to, shared, bytes);
#define TW_MIN_MAX(element, name)                                                          \
  case reduction_of(kReduceMin, element):                                                  \
    return ptx::reduce_bulk<ptx::ReduceOp::min, ptx::ReduceType::name>(to, shared, bytes); \
  case reduction_of(kReduceMax, element):                                                  \
    return ptx::reduce_bulk<ptx::ReduceOp::max, ptx::ReduceType::name>(to, shared, bytes);
      TW_MIN_MAX(kElementF16, f16)
      TW_MIN_MAX(kElementBF16, bf16)
      TW_MIN_MAX(kElementU32, u32)
      TW_MIN_MAX(kElementI32, s32)
      TW_MIN_MAX(kElementU64, u64)
      TW_MIN_MAX(kElementI64, s64)
#undef TW_MIN_MAX
    default:
      return;
  }
}

}  // namespace tw
