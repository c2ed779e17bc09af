// SPDX-License-Identifier: Apache-2.0
#pragma once
// Types and reductions for the argument headers of all families, which nvcc and the host compiler
// both compile. Argument structs have fixed-size members; assertions check their layout on both
// sides.

#include <tilewright/device/tensor_map.cuh>

#ifdef __CUDACC__
#define TW_KERNEL_HD __host__ __device__
#else
#define TW_KERNEL_HD
#endif

namespace tw {

using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;
static_assert(sizeof(u32) == 4 && sizeof(u64) == 8, "kernel arguments have fixed sizes");

/// How a value is reduced into an element of the destination; the same values as tw_reduction.
enum : u32 {
  kReduceNone = 0,
  kReduceAdd = 1,
  kReduceMin = 2,
  kReduceMax = 3,
  kReduceAnd = 4,
  kReduceOr = 5,
  kReduceXor = 6,
  kReduceInc = 7,
  kReduceDec = 8
};

/// A tensor map as a parameter. Unlike CUtensorMap's, its alignment is the same in all toolkits.
using KernelMap = tilewright::TensorMapParam;
static_assert(sizeof(KernelMap) == 128 && alignof(KernelMap) == 128, "the TMA reads 128 bytes");

}  // namespace tw
