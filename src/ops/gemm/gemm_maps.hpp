// SPDX-License-Identifier: Apache-2.0
#pragma once
// Tensor maps of the operands of a product.

#include "base/dtype.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "runtime/device.hpp"

namespace tw {

/// Bytes of a box of A or B along its contiguous dimension: the 128-byte swizzle's span.
inline constexpr u32 kSwizzleBytes = 128;

/// A map's third dimension: the number of matrices, and the elements between their beginnings.
struct MapMatrices {
  int64_t count = 1, stride = 0;
};

/// Encodes a map with address 0 of `lines` lines of `contiguous` elements, which begin every
/// `leading` elements. `box` gives the extents of a box and whether it is swizzled. `rank` is 2, or
/// 3 with `matrices` as the third dimension.
Status encode_gemm_map(Device& device, DType type, int64_t contiguous, int64_t lines,
                       int64_t leading, const GemmSlab& box, int32_t rank, MapMatrices matrices,
                       KernelMap* out);

}  // namespace tw
