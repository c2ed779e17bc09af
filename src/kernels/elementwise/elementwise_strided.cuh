// SPDX-License-Identifier: Apache-2.0
#pragma once
// Elementwise operations with any rank, strides and alignment. Each thread computes one element at
// a time, in the order of the destination, so that adjacent threads write adjacent elements. Each
// thread loads four elements before its first store.

#include "kernels/elementwise/element.h"
#include "kernels/ptx/global_own.cuh"

namespace tw {

template <bool kSmall>
__device__ __forceinline__ void elementwise_strided_by(const ElementwiseArgs& args) {
  constexpr u32 kFlight = kElementwiseStridedFlight;
  const u64 step = static_cast<u64>(gridDim.x) * kElementwiseThreads;
  const u64 mine = static_cast<u64>(blockIdx.x) * kElementwiseThreads + threadIdx.x;
  for (u64 unit = mine; unit < args.items; unit += kFlight * step) {
    u64 a[kFlight] = {};
    u64 b[kFlight] = {};
    u64 before[kFlight] = {};
    u64 to[kFlight] = {};
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k) {
      if (unit + k * step >= args.items) break;
      u64 address[kElementwiseOperands];
      elementwise_place<kSmall>(args, unit + k * step, address);
      a[k] = ptx::load_own_element(address[kOperandA], args.bytes[kOperandA], args.src_policy);
      if (args.sources == 2)
        b[k] = ptx::load_own_element(address[kOperandB], args.bytes[kOperandB], args.src_policy);
      to[k] = address[kOperandDst];
      if (args.reduction != kReduceNone)
        before[k] = ptx::load_own_element(to[k], args.bytes[kOperandDst], args.dst_policy);
    }
#pragma unroll
    for (u32 k = 0; k < kFlight; ++k) {
      if (unit + k * step >= args.items) break;
      ptx::store_element(to[k], args.bytes[kOperandDst], any_element(args, a[k], b[k], before[k]),
                         args.dst_policy);
    }
  }
}

__device__ __forceinline__ void elementwise_strided(const ElementwiseArgs& args) {
  if (args.items < kDividerLimit)
    elementwise_strided_by<true>(args);
  else
    elementwise_strided_by<false>(args);
}

}  // namespace tw
