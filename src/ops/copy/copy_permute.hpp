// SPDX-License-Identifier: Apache-2.0
#pragma once
// Cuts a permutation into tiles that consist of contiguous lines both in the source and in the
// destination (kernels/copy/permute.h). Pure host code.

#include <cstdint>

#include "kernels/copy/permute.h"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// Fills all arguments but the addresses and the access widths. Returns false if the shape gains
/// nothing from shared memory: that requires lines of at least kMinPermuteLineBytes in the source
/// and in the destination, of which one is longer than a row of the shape.
bool fill_permute(const CopyShape& shape, CopyPermuteArgs* args);

inline constexpr int64_t kMinPermuteLineBytes = 64;

/// Sets the widths of loads and stores for an execution whose first row is at these addresses.
void fit_permute(uint64_t src, uint64_t dst, CopyPermuteArgs* args);

/// Returns the unit of tiles in bytes: the largest part of a row that divides all strides, at most
/// 16.
uint32_t permute_unit(const CopyShape& shape);

}  // namespace tw
