// SPDX-License-Identifier: Apache-2.0
#pragma once
// Converts coordinates to indices and back.
//
// As in CuTe, a coordinate is one linear number, one number per mode, one per leaf, or any nested
// mixture. Linear numbers count colexicographically (leftmost fastest). Each number must be less
// than the extent that it indexes, with one exception: an IntTuple that is a single integer may be
// larger than the size, and the last leaf then counts on without wrapping.

#include <cstdint>

#include "base/status.hpp"
#include "layout/layout.hpp"

namespace tw {

/// Converts a coordinate to one number per leaf, in `flat`. `count` is 1 (linear), the rank, or the
/// number of leaves.
Status flatten_coord(const Layout& layout, const int64_t* coord, int count, int64_t* flat);
/// The same for a nested coordinate. kFree is not allowed.
Status flatten_coord(const Layout& layout, const IntTuple& coord, int64_t* flat);

Status crd2idx(const Layout& layout, const int64_t* coord, int count, int64_t* index);
Status crd2idx(const Layout& layout, const IntTuple& coord, int64_t* index);

/// For layouts with basis strides: writes one number per leaf of the codomain to `out`, and their
/// count, at most kMaxLeaves, to `written`. Other layouts give one number.
Status crd2crd(const Layout& layout, const int64_t* coord, int count, int64_t* out, int* written);
Status crd2crd(const Layout& layout, const IntTuple& coord, IntTuple* out);

/// Converts a linear coordinate below size(shape) to one with the shape's profile.
Status idx2crd(const IntTuple& shape, int64_t linear, IntTuple* out);

/// The value of a subtree at any linear coordinate, without swizzle and offset. Negative
/// coordinates use floor division. False if the value exceeds 64 bits.
[[nodiscard]] bool linear_value(const Layout& layout, Node node, int64_t linear, int64_t* out);
[[nodiscard]] bool linear_value(const Layout& layout, Node node, int64_t linear, Stride* out);

/// The smallest linear coordinate with this index. Fails with ERROR_NOT_FOUND if there is none, and
/// with ERROR_UNSUPPORTED if the search would take more than Search::kMaxSteps steps.
Status find(const Layout& layout, int64_t index, int64_t* linear);
/// The same with the caller's budget of steps, which is reduced by the steps taken.
Status find(const Layout& layout, int64_t index, int64_t* budget, int64_t* linear);

}  // namespace tw
