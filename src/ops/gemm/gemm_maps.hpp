// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "runtime/device.hpp"

namespace tw {

/// Bytes of a box of A or B along its contiguous dimension: the 128-byte swizzle's span.
inline constexpr u32 kLineBytes = 128;

/// A map's third dimension: the number of matrices, and the elements between them.
struct MapMatrices {
  int64_t count = 1, stride = 0;
};

/// Encodes a map with address 0: `others` lines of `contiguous` elements, `leading` elements apart,
/// in boxes and with the swizzle of a slab. `rank` is 2, or 3 with `matrices` as third dimension.
Status encode_gemm_map(Device& device, DType type, int64_t contiguous, int64_t others,
                       int64_t leading, const GemmSlab& box, int32_t rank, MapMatrices matrices,
                       KernelMap* out);

}  // namespace tw
