// SPDX-License-Identifier: Apache-2.0
#ifndef TILEWRIGHT_DEVICE_CACHE_CUH
#define TILEWRIGHT_DEVICE_CACHE_CUH
/// @file cache.cuh
/// L2 cache policies for the functions whose names end in _hint. Without nvcc this file has only
/// the constants.

namespace tilewright {

/// @addtogroup kernel_header
/// @{

/// The default policy of loads and stores, for all their bytes.
inline constexpr unsigned long long kEvictNormal = 0x16f0000000000000ull;
/// The L2 cache evicts these bytes before all others.
inline constexpr unsigned long long kEvictFirst = 0x12f0000000000000ull;
/// The L2 cache evicts these bytes after all others.
inline constexpr unsigned long long kEvictLast = 0x14f0000000000000ull;

#ifdef __CUDACC__

/// A policy that evicts the given fraction of the accesses first and treats the rest normally.
/// @param fraction above 0, at most 1; with 1 the result is kEvictFirst
/// @ptx `createpolicy.fractional.L2::evict_first.b64`
/// @needs PTX ISA 7.4, sm_90
/// @calledby Each thread that passes the policy to another function.
/// @ordering None needed: the policy is a number.
__device__ __forceinline__ unsigned long long evict_first_policy(float fraction) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, %1;" : "=l"(policy) : "f"(fraction));
  return policy;
}

/// A policy that evicts the given fraction of the accesses last and treats the rest normally.
/// @param fraction above 0, at most 1; with 1 the result is kEvictLast
/// @ptx `createpolicy.fractional.L2::evict_last.b64`
/// @needs PTX ISA 7.4, sm_90
/// @calledby Each thread that passes the policy to another function.
/// @ordering None needed: the policy is a number.
__device__ __forceinline__ unsigned long long evict_last_policy(float fraction) {
  unsigned long long policy;
  asm("createpolicy.fractional.L2::evict_last.b64 %0, %1;" : "=l"(policy) : "f"(fraction));
  return policy;
}

#endif  // __CUDACC__

/// @}

}  // namespace tilewright

#endif  // TILEWRIGHT_DEVICE_CACHE_CUH
