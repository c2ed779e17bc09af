// SPDX-License-Identifier: Apache-2.0
#pragma once
// What every family's argument header may use: compiled by nvcc for the device, by the host
// compiler for ops and host bodies. Plain integers and the map's 128 bytes; offsets are asserted on
// both sides.

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

/// A tensor map in a parameter. CUtensorMap's alignment depends on the toolkit; this one does not.
using KernelMap = tilewright::TensorMapParam;
static_assert(sizeof(KernelMap) == 128 && alignof(KernelMap) == 128, "the TMA reads 128 bytes");

}  // namespace tw
