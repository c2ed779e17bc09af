// SPDX-License-Identifier: Apache-2.0
#pragma once
// From coordinates to indices and back.
//
// A coordinate of a layout is one linear number, one for each mode, one for each leaf, or any
// nested mixture: CuTe's. Linear numbers count colexicographically (leftmost fastest). Numbers lie
// in the extent of what they index, but for one: a nested coordinate that is a single number may
// lie past the end, where the last leaf, which is never wrapped, counts on.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// The form that arrays have: count is 1 (linear), the rank, or the number of leaves. Writes one
/// number a leaf to `flat`.
Status flatten_coord(const Layout& layout, const int64_t* coord, int count, int64_t* flat);
/// The nested form; `_` is not allowed.
Status flatten_coord(const Layout& layout, const IntTuple& coord, int64_t* flat);

Status crd2idx(const Layout& layout, const int64_t* coord, int count, int64_t* index);
Status crd2idx(const Layout& layout, const IntTuple& coord, int64_t* index);

/// For layouts that give tuples: one number for each leaf of the codomain; `count` becomes how
/// many, at most kMaxLeaves.
Status crd2crd(const Layout& layout, const int64_t* coord, int count, int64_t* out, int* written);
Status crd2crd(const Layout& layout, const IntTuple& coord, IntTuple* out);

/// Linear coordinate below size(shape) to the coordinate with the shape's profile.
Status idx2crd(const IntTuple& shape, int64_t linear, IntTuple* out);

/// The value at a linear coordinate, swizzle and offset left out; any coordinate, floor division.
/// False where it exceeds 64 bits.
[[nodiscard]] bool linear_value(const Layout& layout, Node node, int64_t linear, int64_t* out);
[[nodiscard]] bool linear_value(const Layout& layout, Node node, int64_t linear, Stride* out);

/// Smallest linear coordinate that has this index. ERROR_NOT_FOUND where none has,
/// ERROR_UNSUPPORTED where Search::kMaxSteps were needed to look for it.
Status find(const Layout& layout, int64_t index, int64_t* linear);
/// The same with a budget of the caller's, which becomes what is left of it: 0 where the search was
/// given up.
Status find(const Layout& layout, int64_t index, int64_t* budget, int64_t* linear);

}  // namespace tw
