// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a permutation is cut into tiles whose two sides are both runs of contiguous bytes. Pure host
// code.

#include <cstdint>

#include "kernels/copy/permute.h"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// Whether the shape gains from going through shared memory: neither side is contiguous along the
/// other's innermost dimension, and runs of `kMinPermuteRun` bytes exist on both. Fills all but the
/// addresses and what depends on them.
bool fill_permute(const CopyShape& shape, CopyPermuteArgs* args);

inline constexpr int64_t kMinPermuteRun = 64;

/// The widths of loads and stores for a run at these addresses (of the first row).
void fit_permute(uint64_t src, uint64_t dst, CopyPermuteArgs* args);

/// The unit that tiles count in: an element, or as much of a row as every stride is a multiple of.
uint32_t permute_unit(const CopyShape& shape);

}  // namespace tw
