// SPDX-License-Identifier: Apache-2.0
#pragma once
// The tensor maps of a product's operands.

#include "base/dtype.hpp"
#include "kernels/gemm/arguments/gemm.h"
#include "runtime/device.hpp"

namespace tw {

/// Bytes of a box of A or B along its contiguous dimension: a swizzle span.
inline constexpr u32 kLineBytes = 128;

/// Matrices that a map counts in its third dimension, and elements from one to the next.
struct MapMatrices {
  int64_t count = 1, stride = 0;
};

/// A map with address 0: `others` lines of `contiguous` elements, `leading` elements apart, in
/// boxes as a slab has them; of two dimensions, or of three, the last of which counts matrices.
Status encode_gemm_map(Device& device, DType type, int64_t contiguous, int64_t others,
                       int64_t leading, const GemmSlab& box, int32_t rank, MapMatrices matrices,
                       KernelMap* out);

}  // namespace tw
