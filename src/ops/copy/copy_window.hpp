// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies from a source window that extends beyond its tensor: a copy of the inside part, and fills
// of the remaining regions of the destination. Pure host code.

#include <cstdint>
#include <vector>

#include "kernels/copy/copy.h"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// Fails unless the window's numbers are valid and the element type supports the fill.
Status check_window(const CopyDesc& desc);
/// Returns whether a dimension is bounded. If none is, the functions below have nothing to do.
bool has_window(const CopyDesc& desc);

/// Splits the window. `inside` is the part inside the tensor, with offsets and ranges relative to
/// the caller's addresses of the tensor and the destination. `fills`, unless nullptr, receives the
/// other regions of the destination, at most two per dimension.
Status split_window(const CopyDesc& desc, CopyShape* inside, std::vector<CopyShape>* fills);

/// Fails if a filled region shares a byte with what is read, in a run at these addresses.
Status check_fill_disjoint(const CopyShape& inside, const CopyShape& region, uint64_t src,
                           uint64_t dst);

/// Returns the kernel arguments that fill a region of a destination at address `dst`.
CopyFillArgs fill_args(const CopyDesc& desc, const CopyShape& region, uint64_t dst);

}  // namespace tw
