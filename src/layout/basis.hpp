// SPDX-License-Identifier: Apache-2.0
#pragma once
// Basis elements: the position in a tuple of coordinates to which a stride such as 2@1 points.
//
// `v@k0@k1` adds v to element k0 of element k1 of the coordinate; as in CuTe the last @ is the
// outermost. A Basis packs such a path outermost first, six bits per element with the value
// index + 1, so that comparing two of them compares positions from left to right. 0 is the empty
// path: a plain integer.

#include <cstdint>

namespace tw {

using Basis = uint64_t;

inline constexpr int kMaxBasisDepth = 10;
inline constexpr int kMaxBasisIndex = 62;

constexpr int basis_shift(int position) {
  return 58 - 6 * position;
}

/// The index at a position of the path, counted from the outermost; -1 past the end.
constexpr int basis_at(Basis path, int position) {
  return position >= kMaxBasisDepth ? -1 : static_cast<int>(path >> basis_shift(position) & 63) - 1;
}

constexpr int basis_depth(Basis path) {
  int depth = 0;
  while (basis_at(path, depth) >= 0) ++depth;
  return depth;
}

/// Appends an inner element to a path of `depth` elements. The caller has checked both limits.
constexpr Basis basis_inner(Basis path, int depth, int index) {
  return path | static_cast<Basis>(index + 1) << basis_shift(depth);
}

/// Whether `path` equals `prefix` or lies inside it.
constexpr bool basis_within(Basis path, Basis prefix, int prefix_depth) {
  return prefix_depth == 0 || (path ^ prefix) >> basis_shift(prefix_depth - 1) == 0;
}

}  // namespace tw
