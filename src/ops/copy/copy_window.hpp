// SPDX-License-Identifier: Apache-2.0
#pragma once
// Copies of a source window that hangs over its tensor: a copy of what lies inside, and boxes of
// the destination around it that are filled. Pure host code.

#include <cstdint>
#include <vector>

#include "kernels/copy/copy.h"
#include "ops/copy/copy_shape.hpp"

namespace tw {

/// The window's numbers are right, and the fill is one that the type has.
Status check_window(const CopyDesc& desc);
/// Whether a dimension has a bound, so that the two functions below have something to do.
bool has_window(const CopyDesc& desc);

/// What lies inside, as a shape whose offsets and ranges count from the caller's addresses of the
/// tensor and the destination; and up to two boxes a dimension of the destination that together are
/// the rest, unless that is nullptr.
Status split_window(const CopyDesc& desc, CopyShape* inside, std::vector<CopyShape>* outside);

/// Whether a box that is filled shares no byte with what is read, in a run at these addresses.
Status check_fill_disjoint(const CopyShape& inside, const CopyShape& box, uint64_t src,
                           uint64_t dst);

/// A box's kernel arguments for a destination at this address.
CopyFillArgs fill_args(const CopyDesc& desc, const CopyShape& box, uint64_t dst);

}  // namespace tw
