// SPDX-License-Identifier: Apache-2.0
#pragma once
// Types for the argument headers of all families, which nvcc and the host compiler both compile.
// Argument structs have fixed-size members; assertions check their layout on both sides.

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

/// A tensor map as a parameter. Unlike CUtensorMap's, its alignment is the same in all toolkits.
using KernelMap = tilewright::TensorMapParam;
static_assert(sizeof(KernelMap) == 128 && alignof(KernelMap) == 128, "the TMA reads 128 bytes");

}  // namespace tw
